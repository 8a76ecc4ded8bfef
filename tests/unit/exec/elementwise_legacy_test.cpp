// SPDX-License-Identifier: MIT
// Broadcasting as opsets below 7 have it, and strings in Equal.
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

OpCall old(std::string op, std::vector<ir::Attribute> attributes = {}) {
  return {std::move(op), "", 6, std::move(attributes)};
}
const ir::Attribute kBroadcast = attribute("broadcast", int64_t{1});
ir::Attribute legacy_axis(int64_t value) { return attribute("axis", value); }

TEST(ElementwiseLegacyTest, AxisSaysWhereTheSecondShapeBegins) {
  const ir::Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_op(old("Add"), {x, x}, {2, 3}, {2, 4, 6, 8, 10, 12});
  expect_op(old("Add", {kBroadcast}), {x, floats({3}, {10, 20, 30})}, {2, 3}, {11, 22, 33, 14, 25, 36});
  expect_op(old("Sub", {kBroadcast, legacy_axis(0)}), {x, floats({2}, {1, 4})}, {2, 3}, {0, 1, 2, 0, 1, 2});
  expect_op(old("Mul", {kBroadcast, legacy_axis(-2)}), {x, floats({2}, {1, 2})}, {2, 3}, {1, 2, 3, 8, 10, 12});
  expect_op(old("Div", {kBroadcast}), {x, floats({1}, {2})}, {2, 3}, {0.5, 1, 1.5, 2, 2.5, 3});
  expect_op(old("Pow", {kBroadcast, legacy_axis(0)}), {x, floats({2}, {1, 2})}, {2, 3}, {1, 2, 3, 16, 25, 36});
  expect_op(old("Greater", {kBroadcast}), {x, floats({3}, {0, 5, 5})}, {2, 3}, {1, 0, 0, 1, 0, 1});
  const ir::Tensor image = floats({1, 2, 1, 2}, {-1, 2, -3, 4});
  expect_op(old("Add", {kBroadcast, legacy_axis(1)}), {image, floats({2}, {10, 20})}, {1, 2, 1, 2}, {9, 12, 17, 24});
  expect_op(old("PRelu"), {image, floats({2}, {10, 20})}, {1, 2, 1, 2}, {-10, 2, -60, 4});
  expect_op(old("PRelu"), {image, floats({1}, {10})}, {1, 2, 1, 2}, {-10, 2, -30, 4});
}

TEST(ElementwiseLegacyTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6}), three = floats({3}, {1, 2, 3});
  expect_error(old("Add"), {x, three}, "without broadcast");
  expect_error(old("Add", {kBroadcast, legacy_axis(0)}), {x, three}, "broadcast");
  expect_error(old("Add", {kBroadcast, legacy_axis(2)}), {x, three}, "does not fit rank");
  expect_error(old("Add", {kBroadcast, legacy_axis(-3)}), {x, three}, "does not fit rank");
  expect_error(old("Add", {kBroadcast}), {three, x}, "does not fit rank");
  expect_error(old("PRelu"), {x, floats({2}, {1, 2})}, "broadcast");
}

TEST(ElementwiseLegacyTest, EqualComparesStrings) {
  const ir::Tensor a = ir::Tensor::of_strings({2, 2}, {"a", "b", "", "a"}), b = ir::Tensor::of_strings({2}, {"a", "b"});
  const auto found = run_op({"Equal", "", 19}, {a, b});
  ASSERT_TRUE(found.ok()) << found.status().message();
  expect_near(found.value()[0], {1, 1, 0, 0}, 0);
  expect_error({"Less", "", 13}, {a, b}, "STRING");
}

}  // namespace
}  // namespace quarkq::test
