// SPDX-License-Identifier: MIT
#include "qdq/write/dynamic_operators.h"

#include "ir/qdq_nodes.h"
#include "ir/stored_floats.h"
#include "plan/data_types.h"

namespace quarkq::qdq {
namespace {

std::string quant_name(const ir::Node& node) { return node.name.empty() ? "" : node.name + "_quant"; }

bool is_float32(const DynamicWriter& writer, ir::ValueId value) {
  return value.valid() && writer.graph().value(value).type.element == ElementType::kFloat;
}

const ir::Tensor* stored_float32(const DynamicWriter& writer, ir::ValueId value) {
  if (!value.valid()) return nullptr;
  const ir::Tensor* tensor = ir::stored_floats(writer.graph(), value);
  return tensor != nullptr && tensor->type() == ElementType::kFloat ? tensor : nullptr;
}

StoredFormat weight_format(const config::Settings& settings) {
  StoredFormat format;
  format.type = plan::element_type(settings.formats.weight_type);
  format.symmetric = settings.formats.weight_symmetric;
  format.reduce_range = settings.formats.reduce_range;
  return format;
}

/// `spec` takes the place and the outputs of `node`, which is removed. The last node of a replacement.
void take_over(DynamicWriter& writer, ir::NodeId id, ir::NodeSpec spec, const std::vector<ir::ValueId>& outputs) {
  spec.origins = writer.graph().node(id).origins;
  const ir::NodeId made = writer.add_node(std::move(spec));
  writer.remove_node(id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].valid()) writer.edit().set_output(made, i, outputs[i]);
  }
}

std::vector<ir::Attribute> attributes_without(const ir::Node& node, std::string_view name) {
  std::vector<ir::Attribute> attributes;
  for (const ir::Attribute& attribute : node.attributes) {
    if (attribute.name != name) attributes.push_back(attribute);
  }
  return attributes;
}

/// `op` sums products of integers; then a Cast, and the Mul by both scales, which is still to be added.
ir::NodeSpec write_product(DynamicWriter& writer, const ir::Node& node, const char* op, const Quantized& a,
                           const Quantized& b) {
  const std::string name = quant_name(node);
  const std::string output = writer.name_of(node.output(0)) + "_output_quantized";
  const std::string prefix = name.empty() ? output : name;
  const ir::ValueType type = writer.graph().value(node.output(0)).type;
  const ir::ValueId sums = writer.add_value(output, ElementType::kInt32, type);
  ir::NodeSpec product{op, "", name, {a.codes, b.codes, a.zero_point, b.zero_point}, {sums}};
  product.attributes = node.attributes;
  product.origins = node.origins;
  writer.add_node(std::move(product));
  const ir::ValueId floats = writer.add_value(output + "_cast_output", ElementType::kFloat, type);
  ir::NodeSpec cast{"Cast", "", output + "_cast", {sums}, {floats}};
  cast.attributes.push_back({"to", static_cast<int64_t>(ElementType::kFloat), {}, {}});
  writer.add_node(std::move(cast));
  const ir::ValueId scale = writer.edit().add_value(prefix + "_scales_mul:0");
  writer.add_node({"Mul", "", prefix + "_scales_mul", {a.scale, b.scale}, {scale}});
  return {"Mul", "", prefix + "_output_scale_mul", {floats, scale}, {}};
}

Result<bool> matmul(DynamicWriter& writer, ir::NodeId id, const config::Settings& settings) {
  const ir::Node node = writer.graph().node(id);
  if (!is_float32(writer, node.input(0)) || !is_float32(writer, node.input(1))) return false;
  QQ_TRY(const Quantized a, writer.quantize(node.input(0), settings.formats.reduce_range));
  Quantized b;
  if (const ir::Tensor* weight = stored_float32(writer, node.input(1)); weight != nullptr) {
    StoredFormat format = weight_format(settings);
    if (settings.formats.per_channel && weight->rank() > 0) format.axis = weight->rank() - 1;
    QQ_TRY(b, writer.store(node.input(1), format));
  } else {
    QQ_TRY(b, writer.quantize(node.input(1), settings.formats.reduce_range));
  }
  take_over(writer, id, write_product(writer, node, "MatMulInteger", a, b), node.outputs);
  return true;
}

Result<bool> conv(DynamicWriter& writer, ir::NodeId id, const config::Settings& settings) {
  const ir::Node node = writer.graph().node(id);
  const ir::Tensor* weight = stored_float32(writer, node.input(1));
  if (!is_float32(writer, node.input(0)) || weight == nullptr || weight->rank() < 3) return false;
  ir::Shape bias_dims(static_cast<size_t>(weight->rank()), 1);
  QQ_TRY(const Quantized a, writer.quantize(node.input(0), settings.formats.reduce_range));
  QQ_TRY(const Quantized b, writer.store(node.input(1), weight_format(settings)));
  ir::NodeSpec product = write_product(writer, node, "ConvInteger", a, b);
  if (!node.input(2).valid()) {
    take_over(writer, id, std::move(product), node.outputs);
    return true;
  }
  const std::string output = writer.name_of(node.output(0));
  const ir::ValueType type = writer.graph().value(node.output(0)).type;
  product.outputs = {writer.add_value(output + "quant_scaled_output", ElementType::kFloat, type)};
  const ir::ValueId scaled = product.outputs[0];
  writer.add_node(std::move(product));
  bias_dims[1] = -1;
  const ir::ValueId dims = writer.add_initializer(
      output + "_bias_reshape_shape",
      ir::Tensor::from<int64_t>({static_cast<int64_t>(bias_dims.size())}, std::vector<int64_t>(bias_dims)));
  const ir::ValueId bias = writer.edit().add_value(output + "_bias_reshape_output");
  writer.add_node({"Reshape", "", "", {node.input(2), dims}, {bias}});
  take_over(writer, id, {"Add", "", output + "_bias_add", {scaled, bias}, {}}, node.outputs);
  return true;
}

/// The table is stored as integers, and what is gathered stays so until a reader wants floats.
Result<bool> gather(DynamicWriter& writer, ir::NodeId id, const config::Settings& settings) {
  const ir::Node node = writer.graph().node(id);
  if (stored_float32(writer, node.input(0)) == nullptr) return false;
  QQ_TRY(Quantized table, writer.quantize(node.input(0), settings.formats.reduce_range));
  const ir::ValueId result = node.output(0);
  const ElementType type = writer.graph().value(table.codes).constant->type();
  const ir::ValueId codes =
      writer.add_value(writer.name_of(result) + "_quantized", type, writer.graph().value(result).type);
  ir::NodeSpec spec{"Gather", "", quant_name(node), {table.codes, node.input(1)}, {}, node.attributes};
  take_over(writer, id, std::move(spec), {codes});
  table.codes = codes;
  writer.replace(result, table);
  return true;
}

/// Moves integers when its input exists as such.
Result<bool> transpose(DynamicWriter& writer, ir::NodeId id, const config::Settings&) {
  const ir::Node node = writer.graph().node(id);
  const Quantized* known = writer.find(node.input(0));
  if (known == nullptr) return false;
  Quantized moved = *known;
  const ElementType type = writer.graph().value(moved.codes).type.element;
  const ir::ValueId result = node.output(0);
  const ir::ValueId codes =
      writer.add_value(writer.name_of(result) + "_quantized", type, writer.graph().value(result).type);
  take_over(writer, id, {"Transpose", "", node.name, {moved.codes}, {}, node.attributes}, {codes});
  moved.codes = codes;
  writer.replace(result, moved);
  return true;
}

Result<bool> lstm(DynamicWriter& writer, ir::NodeId id, const config::Settings& settings) {
  const ir::Node node = writer.graph().node(id);
  const ir::Tensor *w = stored_float32(writer, node.input(1)), *r = stored_float32(writer, node.input(2));
  if (w == nullptr || r == nullptr || w->rank() != 3 || r->rank() != 3 || node.int_or("layout", 0) != 0) return false;
  const StoredFormat format{ElementType::kInt8, true, settings.formats.reduce_range, 0, true};
  QQ_TRY(const Quantized input_weight, writer.store(node.input(1), format));
  QQ_TRY(const Quantized recurrent_weight, writer.store(node.input(2), format));
  ir::NodeSpec spec{"DynamicQuantizeLSTM", ir::kMicrosoftDomain, quant_name(node), {}, {}};
  spec.inputs = {node.input(0), input_weight.codes, recurrent_weight.codes};
  for (size_t i = 3; i < 8; ++i) spec.inputs.push_back(node.input(i));
  for (const Quantized* weight : {&input_weight, &recurrent_weight}) {
    spec.inputs.push_back(weight->scale);
    spec.inputs.push_back(weight->zero_point);
  }
  spec.attributes = attributes_without(node, "layout");
  for (const ir::ValueId input : spec.inputs) {
    if (input.valid()) writer.make_float(input);
  }
  take_over(writer, id, std::move(spec), node.outputs);
  return true;
}

Result<bool> attention(DynamicWriter& writer, ir::NodeId id, const config::Settings& settings) {
  const ir::Node node = writer.graph().node(id);
  const ir::Tensor* weight = stored_float32(writer, node.input(1));
  if (!is_float32(writer, node.input(0)) || weight == nullptr) return false;
  StoredFormat format = weight_format(settings);
  if (settings.formats.per_channel && weight->rank() > 0) format.axis = weight->rank() - 1;
  QQ_TRY(const Quantized a, writer.quantize(node.input(0), settings.formats.reduce_range));
  QQ_TRY(const Quantized b, writer.store(node.input(1), format));
  for (const size_t i : {2, 3, 4}) {
    if (node.input(i).valid()) writer.make_float(node.input(i));
  }
  ir::NodeSpec spec{"QAttention", ir::kMicrosoftDomain, quant_name(node), {}, {}, node.attributes};
  spec.inputs = {a.codes, b.codes, node.input(2), a.scale, b.scale, node.input(3), a.zero_point, b.zero_point};
  if (node.input(4).valid()) spec.inputs.push_back(node.input(4));
  take_over(writer, id, std::move(spec), node.outputs);
  return true;
}

/// Three tables, gamma and beta as integers.
Result<bool> embed(DynamicWriter& writer, ir::NodeId id, const config::Settings& settings) {
  constexpr size_t kFirst = 2, kLast = 6, kMask = 7;
  const ir::Node node = writer.graph().node(id);
  std::vector<Quantized> stored;
  for (size_t i = kFirst; i <= kLast; ++i) {
    if (stored_float32(writer, node.input(i)) == nullptr) return false;
  }
  for (size_t i = kFirst; i <= kLast; ++i) {
    QQ_TRY(const Quantized one, writer.quantize(node.input(i), settings.formats.reduce_range));
    stored.push_back(one);
  }
  ir::NodeSpec spec{"QEmbedLayerNormalization", ir::kMicrosoftDomain, quant_name(node), {}, {}, node.attributes};
  spec.inputs = {node.input(0), node.input(1)};
  for (const Quantized& one : stored) spec.inputs.push_back(one.codes);
  spec.inputs.push_back(node.input(kMask));
  for (const Quantized& one : stored) spec.inputs.push_back(one.scale);
  for (const Quantized& one : stored) spec.inputs.push_back(one.zero_point);
  take_over(writer, id, std::move(spec), {node.output(0), node.output(1)});
  return true;
}

constexpr struct {
  const char* op;
  const char* domain;
  DynamicRule rule;
} kRules[] = {
    {"MatMul", "", matmul},
    {"Conv", "", conv},
    {"Gather", "", gather},
    {"Transpose", "", transpose},
    {"LSTM", "", lstm},
    {"Attention", ir::kMicrosoftDomain, attention},
    {"EmbedLayerNormalization", ir::kMicrosoftDomain, embed},
};

}  // namespace

DynamicRule dynamic_rule(const ir::Node& node) {
  for (const auto& row : kRules) {
    if (node.op == row.op && node.domain == row.domain) return row.rule;
  }
  return nullptr;
}

}  // namespace quarkq::qdq
