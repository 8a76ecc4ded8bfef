// SPDX-License-Identifier: MIT
// GoogleTest checks around run_op(): expected values in both memory layouts, expected errors.
#pragma once

#include <gtest/gtest.h>
#include <cstdint>

#include <cmath>

#include "support/run_op.h"

namespace quarkq::test {

/// |found - expected| <= tolerance * max(1, |expected|); NaN equals NaN, infinities themselves.
inline void expect_near(const ir::Tensor& found, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> got = values(found);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]))) continue;
    ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i]))) << "element " << i;
  }
}

/// Runs the call in both layouts, with inputs known and unknown to prepare, and compares output 0.
inline void expect_op(OpCall call, const std::vector<ir::Tensor>& inputs, const ir::Shape& dims,
                      const std::vector<double>& expected, double tolerance = 1e-6) {
  for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
    for (const bool unknown : {false, true}) {
      SCOPED_TRACE(cat(call.op, layout == exec::Layout::kPlain ? " plain" : " channels-last"));
      call.layout = layout;
      call.unknown_inputs = unknown;
      const auto result = run_op(call, inputs);
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result.value()[0].dims(), dims);
      expect_near(result.value()[0], expected, tolerance);
    }
  }
}

/// The call fails in both layouts, with a message that contains `part`.
inline void expect_error(OpCall call, const std::vector<ir::Tensor>& inputs, const std::string& part) {
  for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
    call.layout = layout;
    const auto result = run_op(call, inputs);
    ASSERT_FALSE(result.ok()) << call.op << " should say: " << part;
    EXPECT_NE(result.status().message().find(part), std::string::npos) << result.status().message();
  }
}

/// Calls f(index) for every index below `dims`, in row-major order.
template <typename F>
void for_each_index(const ir::Shape& dims, const F& f) {
  ir::Shape index(dims.size());
  for (int64_t i = 0, count = ir::checked_count(dims); i < count; ++i) {
    f(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

/// Element of a float tensor; each index is taken modulo the dimension, missing leading dimensions count as one.
inline double at(const ir::Tensor& tensor, ir::Shape index) {
  index.erase(index.begin(), index.end() - tensor.rank());
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset = offset * tensor.dims()[d] + index[d] % tensor.dims()[d];
  if (tensor.type() == ElementType::kFloat)
    return tensor.data<float>()[static_cast<size_t>(offset)];  // not all of them
  return values(tensor.reshaped({tensor.size()}))[static_cast<size_t>(offset)];
}

}  // namespace quarkq::test
