// SPDX-License-Identifier: MIT
// Transpose, Slice and Concat of elements below 8 bits do what they do with bytes.
#include <gtest/gtest.h>

#include "support/small_types.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

constexpr ElementType kTypes[] = {ElementType::kInt4,      ElementType::kUInt4,      ElementType::kInt2,
                                  ElementType::kUInt2,     ElementType::kFloat4E2M1, ElementType::kFloat6E2M3,
                                  ElementType::kFloat6E3M2};

/// Values that every type has: 0 and 1 in a pattern without a short period.
std::vector<float> bit_pattern(int64_t count, int64_t start = 0) {
  std::vector<float> values;
  for (int64_t i = start; i < start + count; ++i) values.push_back(static_cast<float>((i * i + i / 3) % 2));
  return values;
}

ir::Attribute perm(std::vector<int64_t> order) { return test::attribute("perm", std::move(order)); }

struct PackedCall {
  test::OpCall call;
  std::vector<ir::Shape> data;
  std::vector<std::vector<int64_t>> lists = {};
};

/// The call with data of `type`, as plain numbers with the shape in front.
std::vector<double> moved(const PackedCall& row, ElementType type) {
  std::vector<Tensor> inputs;
  for (const ir::Shape& dims : row.data)
    inputs.push_back(
        test::encoded(type, dims, bit_pattern(ir::checked_count(dims), static_cast<int64_t>(inputs.size()))));
  for (const auto& list : row.lists) inputs.push_back(Tensor::from<int64_t>({static_cast<int64_t>(list.size())}, list));
  const auto results = test::run_op(row.call, inputs);
  EXPECT_TRUE(results.ok()) << results.status().message();
  if (!results.ok()) return {};
  EXPECT_EQ(results.value()[0].type(), type);
  std::vector<double> found(results.value()[0].dims().begin(), results.value()[0].dims().end());
  for (const double value : test::decoded(results.value()[0])) found.push_back(value);
  return found;
}

TEST(PackedMovesTest, EqualMovesOfBytes) {
  const std::vector<PackedCall> rows = {
      {{"Transpose", "", 21, {perm({1, 0})}}, {{3, 5}}},
      {{"Transpose", "", 21, {perm({2, 0, 1})}}, {{3, 5, 7}}},
      {{"Transpose", "", 21, {perm({0, 3, 1, 2})}}, {{1, 2, 3, 5}}},  // of bytes: the same memory, channels-last
      {{"Transpose", "", 21, {perm({1, 0, 2})}}, {{1, 3, 3}}},        // moves nothing
      {{"Slice"}, {{5, 7}}, {{1, 5}, {4, 0}, {0, 1}, {1, -2}}},
      {{"Slice"}, {{5, 7}}, {{3}, {3}, {1}}},  // empty
      {{"Concat", "", 21, {test::number("axis", 1)}}, {{3, 3}, {3, 2}}},
      {{"Concat", "", 21, {test::number("axis", 0)}}, {{3}, {2}, {4}}},
  };
  for (const PackedCall& row : rows) {
    const std::vector<double> bytes = moved(row, ElementType::kFloat8E5M2);
    for (const ElementType type : kTypes) EXPECT_EQ(moved(row, type), bytes) << row.call.op << " of " << name(type);
  }
}

}  // namespace
}  // namespace quarkq::exec
