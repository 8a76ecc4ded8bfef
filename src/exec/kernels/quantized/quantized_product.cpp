// SPDX-License-Identifier: MIT
#include "exec/kernels/quantized/quantized_product.h"

#include "exec/kernels/elementwise/cast_elements.h"

namespace quarkq::exec {
namespace {

Status check_count(const Prepare& p, const QuantInput& input, int64_t columns, std::string_view what) {
  if (input.count == 1 || input.count == columns) return Status();
  return p.corrupt(what, " (input ", input.index, ") has ", input.count, " elements, allowed: 1",
                   columns == 1 ? std::string() : cat(" or ", columns));
}

template <typename Q>
void widen_strided(const ByteMatrix& m, const std::vector<int32_t>& zero_points, int16_t* to) {
  const auto* data = reinterpret_cast<const Q*>(m.data);
  for_rows(m.rows, m.depth, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int32_t zero = zero_points[zero_points.size() == 1 ? 0 : static_cast<size_t>(row)];
      const Q* from = data + row * m.row_stride;
      for (int64_t k = 0; k < m.depth; ++k)
        to[row * m.depth + k] = static_cast<int16_t>(from[k * m.depth_stride] - zero);
    }
  });
}

}  // namespace

std::vector<float> QuantInput::floats(const Run& run) const {
  std::vector<float> values(static_cast<size_t>(count));
  const auto cast = make_element_cast(type, ElementType::kFloat);
  cast_range(*cast, run.inputs[index], reinterpret_cast<std::byte*>(values.data()), 0, count);
  return values;
}

std::vector<int32_t> QuantInput::integers(const Run& run) const {
  if (count == 0) return {0};
  std::vector<int32_t> values(static_cast<size_t>(count));
  const auto cast = make_element_cast(type, ElementType::kInt32);
  cast_range(*cast, run.inputs[index], reinterpret_cast<std::byte*>(values.data()), 0, count);
  return values;
}

Result<QuantInput> read_scale(const Prepare& p, size_t i, int64_t columns) {
  QQ_RETURN_IF_ERROR(p.require_input(i, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}));
  const QuantInput input{i, p.in(i).type, product(p.in(i).dims)};
  QQ_RETURN_IF_ERROR(check_count(p, input, columns, "scale"));
  return input;
}

Result<QuantInput> read_zero_point(const Prepare& p, size_t i, ElementType type, int64_t columns) {
  if (!p.has(i)) return QuantInput{i, type, 0};
  QQ_RETURN_IF_ERROR(p.require_input(i, {type}));
  const QuantInput input{i, type, product(p.in(i).dims)};
  QQ_RETURN_IF_ERROR(check_count(p, input, columns, "zero point"));
  return input;
}

Status require_byte(const Prepare& p, size_t i) {
  return p.require_input(i, {ElementType::kInt8, ElementType::kUInt8});
}

void widen_matrix(const ByteMatrix& m, const std::vector<int32_t>& zero_points, int16_t* to) {
  const bool is_signed = m.type == ElementType::kInt8;
  if (m.depth_stride != 1 || m.row_stride != m.depth || zero_points.size() != 1) {
    return is_signed ? widen_strided<int8_t>(m, zero_points, to) : widen_strided<uint8_t>(m, zero_points, to);
  }
  for_elements(m.rows * m.depth, [&](int64_t begin, int64_t end) {
    const std::byte* from = m.data + begin;
    if (is_signed)
      QQ_DISPATCH(exec, widen_i8)(reinterpret_cast<const int8_t*>(from), to + begin, end - begin, zero_points[0]);
    else
      QQ_DISPATCH(exec, widen_u8)(reinterpret_cast<const uint8_t*>(from), to + begin, end - begin, zero_points[0]);
  });
}

void ProductResult::store(int32_t* sums, int64_t row, int64_t columns) const {
  for (int64_t c = 0; c < columns && bias != nullptr; ++c) {
    const auto added = static_cast<uint32_t>(bias[row * bias_row + c * bias_column]);
    sums[c] = static_cast<int32_t>(static_cast<uint32_t>(sums[c]) + added);
  }
  const Requantization requantization{scale, zero_point};
  std::byte* to = data + row * stride * (bits(type) / 8);
  switch (type) {
    case ElementType::kInt8:
      return QQ_DISPATCH(exec, requantize_to_i8)(sums, reinterpret_cast<int8_t*>(to), columns, requantization);
    case ElementType::kUInt8:
      return QQ_DISPATCH(exec, requantize_to_u8)(sums, reinterpret_cast<uint8_t*>(to), columns, requantization);
    case ElementType::kFloat:
      for (int64_t c = 0; c < columns; ++c) reinterpret_cast<float*>(to)[c] = static_cast<float>(sums[c]) * scale[c];
      return;
    default: std::copy_n(sums, columns, reinterpret_cast<int32_t*>(to));
  }
}

void run_product(const ProductOperands& o, const ProductResult& result) {
  const int64_t tiles = (o.rows + kProductRows - 1) / kProductRows;
  const int64_t tile_cost = std::max<int64_t>(o.depth, 1) * std::max<int64_t>(o.columns, 1);
  for_rows(tiles, tile_cost, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> sums(static_cast<size_t>(kProductRows * o.columns));
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t first = tile * kProductRows, rows = std::min(kProductRows, o.rows - first);
      QQ_DISPATCH(exec, integer_products)
      (o.left + first * o.depth, o.right, {rows, o.depth, o.columns}, sums.data());
      for (int64_t r = 0; r < rows; ++r) result.store(sums.data() + r * o.columns, first + r, o.columns);
    }
  });
}

std::vector<float> product_scales(float left, const std::vector<float>& right, float result, int64_t columns) {
  std::vector<float> scales(static_cast<size_t>(columns));
  for (size_t c = 0; c < scales.size(); ++c) scales[c] = left * right[right.size() == 1 ? 0 : c] / result;
  return scales;
}

}  // namespace quarkq::exec
