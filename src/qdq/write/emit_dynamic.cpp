// SPDX-License-Identifier: MIT
// Dynamic quantization (ref:writing#dynamic-quantization): weights become integers now, activations while the model
// runs. Nothing is calibrated.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "numeric/encode.h"
#include "pass/context.h"
#include "plan/constant_codes.h"
#include "plan/stage.h"
#include "qdq/passes.h"
#include "qdq/write/nbits_matrices.h"

namespace quarkq::qdq {
namespace {

// How single operators become operators on integers (ref:writing#dynamic-quantization).

// DynamicWriter: replaces float operators by integer operators whose scales are computed at run time
// (ref:writing#dynamic-quantization). A value may exist as float, as integers, or as both.

/// A value as integers.
struct Quantized {
  ir::ValueId codes, scale, zero_point;
};

/// How a stored value is quantized.
struct StoredFormat {
  ElementType type = ElementType::kUInt8;
  bool symmetric = false, reduce_range = false;
  std::optional<int64_t> axis = {};  ///< per channel along it
  bool turns = false;                ///< dimensions 1 and 2 of 3 change places, once encoded
};

class DynamicWriter {
 public:
  explicit DynamicWriter(ir::Graph& graph) : graph_(graph), edit_(graph) {}

  /// New nodes come right before `node` from now on.
  void stand_before(ir::NodeId node) { before_ = node; }
  const ir::Graph& graph() const { return graph_; }
  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }

  /// The integers of an activation or stored value of UINT8; a DynamicQuantizeLinear when there are none yet.
  Result<Quantized> quantize(ir::ValueId value, bool reduce_range);
  /// The integers of an initializer. REQUIRES: float32, not quantized with another format before.
  Result<Quantized> store(ir::ValueId value, const StoredFormat& format);
  const Quantized* find(ir::ValueId value) const;
  /// `value` exists as these integers only from now on: its producer is removed. Readers get it by make_float().
  void replace(ir::ValueId value, const Quantized& quantized) { quantized_[value] = quantized; }
  /// Gives a value without a producer one that computes it from its integers.
  void make_float(ir::ValueId value);

  ir::ValueId add_value(const std::string& name, ElementType type, const ir::ValueType& like);
  ir::ValueId add_initializer(const std::string& name, ir::Tensor data) {
    return edit_.add_initializer(name, std::move(data));
  }
  ir::NodeId add_node(ir::NodeSpec spec) { return edit_.add_node(std::move(spec), before_); }
  void remove_node(ir::NodeId node) { edit_.remove_node(node); }
  ir::GraphEdit& edit() { return edit_; }

 private:
  ir::Graph& graph_;
  ir::GraphEdit edit_;
  ir::NodeId before_;
  std::map<ir::ValueId, Quantized> quantized_;
};

/// Replaces the node. False: it stays as it is, on floats.
using DynamicRule = Result<bool> (*)(DynamicWriter& writer, ir::NodeId node, const config::Settings& settings);

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

/// Returns null if there is none.
DynamicRule dynamic_rule(const ir::Node& node) {
  for (const auto& row : kRules) {
    if (node.op == row.op && node.domain == row.domain) return row.rule;
  }
  return nullptr;
}

constexpr int64_t kFirstOpset = 11;  // First opset of DynamicQuantizeLinear.

/// A Gemm whose product has an operator on integers.
bool is_taken(const pass::QdqContext& context, const ir::Node& node) {
  const ir::Tensor* weight = ir::stored_floats(context.model.graph, node.input(1));
  return is_plain_gemm(context.model.graph, node) && weight->type() == ElementType::kFloat &&
         !context.selection.excluded.contains(node);
}

/// Dequantized values for readers that take floats.
void make_inputs_float(DynamicWriter& writer, ir::NodeId id) {
  const ir::Node node = writer.graph().node(id);
  for (const ir::ValueId input : node.inputs) {
    if (input.valid()) writer.make_float(input);
  }
  for (const ir::Capture& capture : node.captures) writer.make_float(capture.outer);
}

bool uses_domain(const ir::Graph& graph, const char* domain) {
  return std::any_of(graph.order().begin(), graph.order().end(),
                     [&](ir::NodeId id) { return graph.node(id).domain == domain; });
}

}  // namespace

Result<Changed> emit_dynamic(pass::QdqContext& context) {
  ir::Graph& graph = context.graph();
  if (context.model.opset() < kFirstOpset) {
    return invalid_argument("use_dynamic_quant: needs opset ", kFirstOpset, " or more, the model has ",
                            context.model.opset(), "; set ConvertOpsetVersion");
  }
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    if (is_taken(context, graph.node(id))) split_gemm(graph, id);
  }
  DynamicWriter writer(graph);
  bool changed = false;
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    writer.stand_before(id);
    const DynamicRule rule = dynamic_rule(graph.node(id));
    bool done = false;
    if (rule != nullptr && context.selection.selects(graph.node(id))) {
      QQ_TRY(done, rule(writer, id, context.settings));
    }
    if (!done) make_inputs_float(writer, id);
    changed |= done;
  }
  writer.stand_before({});
  for (const ir::ValueId output : graph.outputs()) writer.make_float(output);
  ir::GraphEdit(graph).remove_unused_initializers();
  if (uses_domain(graph, ir::kMicrosoftDomain)) context.model.set_opset(ir::kMicrosoftDomain, 1);
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::qdq
