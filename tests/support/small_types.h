// SPDX-License-Identifier: MIT
// Tensors of integers below 8 bits and small floats for tests: made from and read back as plain numbers.
#pragma once

#include <cstdint>

#include "numeric/small_floats.h"
#include "support/op_checks.h"

namespace quarkq::test {

/// `values`, which the type holds exactly, as an integer below 8 bits or a small float.
inline ir::Tensor encoded(ElementType type, ir::Shape dims, const std::vector<float>& values) {
  std::vector<uint8_t> codes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    codes[i] = numeric::is_small_float(type)
                   ? numeric::small_float_from_float(values[i], {type})
                   : static_cast<uint8_t>(static_cast<int>(values[i]) & ((1 << bits(type)) - 1));
  }
  ir::Tensor tensor = ir::Tensor::zeros(type, std::move(dims));
  auto* to = reinterpret_cast<uint8_t*>(tensor.mutable_raw());
  if (numeric::is_packed(type))
    numeric::pack_codes(codes.data(), to, static_cast<int64_t>(codes.size()), bits(type));
  else
    std::copy(codes.begin(), codes.end(), to);
  return tensor;
}

inline std::vector<double> decoded(const ir::Tensor& tensor) {
  const ElementType type = tensor.type();
  const auto n = static_cast<size_t>(tensor.size());
  const auto* stored = reinterpret_cast<const uint8_t*>(tensor.raw());
  std::vector<uint8_t> codes(stored, stored + (numeric::is_packed(type) ? 0 : n));
  if (numeric::is_packed(type)) {
    codes.resize(n);
    numeric::unpack_codes(stored, 0, tensor.size(), bits(type), codes.data());
  }
  const int width = bits(type);
  const bool is_signed = type == ElementType::kInt4 || type == ElementType::kInt2;
  std::vector<double> values;
  for (const uint8_t code : codes) {
    if (numeric::is_small_float(type))
      values.push_back(static_cast<double>(numeric::float_from_small_float(code, type)));
    else
      values.push_back(is_signed && code >> (width - 1) != 0 ? code - (1 << width) : code);
  }
  return values;
}

/// Runs the call in both layouts, on inputs none of which is below 8 bits and follows the layout; output 0 holds
/// `expected`, in ONNX order.
inline void expect_small(OpCall call, const std::vector<ir::Tensor>& inputs, ElementType type,
                         const std::vector<double>& expected) {
  for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
    call.layout = layout;
    const auto result = run_op(call, inputs);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result.value()[0].type(), type);
    const std::vector<double> found = decoded(result.value()[0]);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
          << "element " << i << " is " << found[i] << ", expected " << expected[i];
    }
  }
}

}  // namespace quarkq::test
