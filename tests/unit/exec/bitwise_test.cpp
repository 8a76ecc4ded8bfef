// SPDX-License-Identifier: MIT
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

template <typename T>
ir::Tensor of(ir::Shape dims, std::vector<T> values) {
  return ir::Tensor::from<T>(std::move(dims), values);
}
OpCall shift(std::string direction) { return {"BitShift", "", 11, {attribute("direction", std::move(direction))}}; }

TEST(BitwiseTest, LogicOfEveryWidth) {
  const auto check = [](auto sample) {
    using T = decltype(sample);
    const ir::Tensor a = of<T>({2, 2}, {12, 7, T(-1), 0}), b = of<T>({2}, {10, 1});
    const double all = static_cast<double>(static_cast<T>(-1));
    expect_op({"BitwiseAnd", "", 18}, {a, b}, {2, 2}, {8, 1, 10, 0});
    expect_op({"BitwiseOr", "", 18}, {a, b}, {2, 2}, {14, 7, all, 1});
    expect_op({"BitwiseXor", "", 18}, {a, b}, {2, 2}, {6, 6, static_cast<double>(static_cast<T>(T(-1) ^ T(10))), 1});
    expect_op({"BitwiseNot", "", 18}, {a}, {2, 2},
              {static_cast<double>(static_cast<T>(~T(12))), static_cast<double>(static_cast<T>(~T(7))), 0, all});
  };
  check(int8_t{});
  check(uint8_t{});
  check(int16_t{});
  check(uint16_t{});
  check(int32_t{});
  check(uint32_t{});
  check(int64_t{});
}

TEST(BitwiseTest, ShiftsDropWhatLeaves) {
  expect_op(shift("LEFT"), {of<uint8_t>({4}, {16, 4, 255, 1}), of<uint8_t>({4}, {1, 2, 4, 8})}, {4}, {32, 16, 240, 0});
  expect_op(shift("RIGHT"), {of<uint16_t>({3}, {16, 4, 65535}), of<uint16_t>({3}, {1, 2, 200})}, {3}, {8, 1, 0});
  expect_op(shift("LEFT"), {of<uint64_t>({2}, {1, 1}), of<uint64_t>({2}, {40, 64})}, {2}, {1099511627776.0, 0});
}

TEST(BitwiseTest, SignedShiftsKeepTheSign) {
  const auto call = [](const char* direction) {
    return OpCall{"BitShift", "", 28, {attribute("direction", std::string(direction))}};
  };
  const ir::Tensor x = of<int8_t>({6}, {-128, -3, 64, -1, 5, -5});
  const ir::Tensor by = of<int8_t>({6}, {1, 1, 1, 8, 9, -1});
  expect_op(call("RIGHT"), {x, by}, {6}, {-64, -2, 32, -1, 0, -1});
  expect_op(call("LEFT"), {x, by}, {6}, {0, -6, -128, 0, 0, 0});
  expect_op(call("RIGHT"), {of<int64_t>({2}, {-9, -9}), of<int64_t>({2}, {1, 64})}, {2}, {-5, -1});
}

TEST(BitwiseTest, RejectsOtherTypes) {
  const ir::Tensor x = floats({1}, {1});
  expect_error({"BitwiseAnd", "", 18}, {x, x}, "integers");
  expect_error({"BitwiseNot", "", 18}, {x}, "integers");
  expect_error({"BitwiseAnd", "", 18}, {ints({1}), of<int8_t>({1}, {1})}, "one type");
  expect_error({"BitwiseAnd", "", 18}, {ints({1, 2}), ints({1, 2, 3})}, "broadcast");
  expect_error(shift("LEFT"), {ints({1}), ints({1})}, "input 0 is INT64");
  expect_error(shift("UP"), {of<uint8_t>({1}, {1}), of<uint8_t>({1}, {1})}, "direction is 'UP'");
}

}  // namespace
}  // namespace quarkq::test
