// SPDX-License-Identifier: MIT
#include "qdq/write/dynamic_writer.h"
#include "ir/stored_floats.h"

#include "numeric/encode.h"
#include "plan/constant_codes.h"

namespace quarkq::qdq {
namespace {

/// Dimensions 1 and 2 of [a, b, c] change places, as the rows of a recurrent weight become columns.
std::vector<int32_t> transposed(const std::vector<int32_t>& codes, const ir::Shape& dims) {
  std::vector<int32_t> turned(codes.size());
  const int64_t rows = dims[1], columns = dims[2];
  for (int64_t a = 0; a < dims[0]; ++a) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        turned[static_cast<size_t>((a * columns + column) * rows + row)] =
            codes[static_cast<size_t>((a * rows + row) * columns + column)];
      }
    }
  }
  return turned;
}

}  // namespace

const Quantized* DynamicWriter::find(ir::ValueId value) const {
  const auto found = quantized_.find(value);
  return found == quantized_.end() ? nullptr : &found->second;
}

ir::ValueId DynamicWriter::add_value(const std::string& name, ElementType type, const ir::ValueType& like) {
  ir::ValueType made = like;
  made.element = type;
  return edit_.add_value(name, std::move(made));
}

Result<Quantized> DynamicWriter::quantize(ir::ValueId value, bool reduce_range) {
  if (const Quantized* known = find(value)) return *known;
  if (graph_.value(value).is_initializer()) return store(value, {.reduce_range = reduce_range});
  const std::string name = name_of(value);
  const ir::ValueType type = graph_.value(value).type;
  Quantized made;
  made.codes = add_value(name + "_quantized", ElementType::kUInt8, type);
  made.scale = edit_.add_value(name + "_scale");
  made.zero_point = edit_.add_value(name + "_zero_point");
  add_node({"DynamicQuantizeLinear", "", name + "_QuantizeLinear", {value}, {made.codes, made.scale, made.zero_point}});
  quantized_[value] = made;
  return made;
}

Result<Quantized> DynamicWriter::store(ir::ValueId value, const StoredFormat& format) {
  if (const Quantized* known = find(value)) return *known;
  const std::string name = name_of(value);
  const ir::Tensor tensor = *graph_.value(value).constant;
  numeric::QuantSpec spec;
  spec.type = format.type;
  spec.symmetric = format.symmetric;
  spec.reduce_range = format.reduce_range;
  spec.per_channel = format.axis.has_value();
  spec.axis = format.axis.value_or(0);
  QQ_TRY(const ir::FloatView values, ir::FloatView::of(tensor));
  const numeric::ChannelSplit split = numeric::split_channels(tensor.dims(), spec);
  const numeric::IntegerRange limits = numeric::integer_range(spec.type, numeric::RangeKind::kFull);
  QQ_TRY(const std::vector<numeric::QuantParams> params,
         numeric::weight_params(values, split, spec, limits, false).context(cat("constant ", name)));
  std::vector<int32_t> codes = numeric::encode(values, split, params, limits), zeros;
  std::vector<float> scales;
  for (const numeric::QuantParams& one : params) {
    scales.push_back(one.scale);
    zeros.push_back(one.zero_point);
  }
  ir::Shape dims = tensor.dims();
  if (format.turns) {
    codes = transposed(codes, dims);
    std::swap(dims[1], dims[2]);
  }
  const ir::Shape channels = format.axis ? ir::Shape{static_cast<int64_t>(params.size())} : ir::Shape{};
  Quantized made;
  made.scale = add_initializer(name + "_scale", ir::Tensor::from<float>(channels, scales));
  made.zero_point = add_initializer(name + "_zero_point", plan::store_codes(zeros, spec.type, channels));
  made.codes = add_initializer(name + "_quantized", plan::store_codes(codes, spec.type, dims));
  quantized_[value] = made;
  return made;
}

void DynamicWriter::make_float(ir::ValueId value) {
  const ir::Value& found = graph_.value(value);
  if (found.producer.valid() || found.is_initializer() || found.is_input || found.is_captured) return;
  const Quantized* known = find(value);
  if (known == nullptr) return;
  add_node({"DequantizeLinear",
            "",
            found.name + "_DequantizeLinear",
            {known->codes, known->scale, known->zero_point},
            {value}});
}

}  // namespace quarkq::qdq
