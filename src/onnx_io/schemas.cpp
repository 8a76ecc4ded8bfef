// SPDX-License-Identifier: MIT
// One row per operator: which domains it lives in and how its output type follows. Attributes are not checked here; the
// executor's own rows do that.
#include "onnx_io/schemas.h"

#include <algorithm>
#include <mutex>

#include "base/strings.h"
#include "ir/quantizing_ops.h"
#include "onnx_io/export_model.h"
#include "onnx_io/import_graph.h"
#include "onnx_io/library.h"
#include "onnx_io/library_schemas.h"
#include "onnx_io/model_proto.h"

namespace quarkq::onnx_io {

namespace {

constexpr int kOptional = 1 << 8;  ///< added to a number of inputs: all but the first two may be absent

/// Where the output's element type comes from.
enum class TypeFrom { kInput0, kScale, kZeroPoint };

struct SchemaRow {
  const char* domain;
  const char* op;
  int inputs;
  TypeFrom type;
};

constexpr SchemaRow kSchemaRows[] = {
    {ir::kMicrosoftDomain, "QuantizeLinear", 3 | kOptional, TypeFrom::kZeroPoint},
    {ir::kMicrosoftDomain, "DequantizeLinear", 3 | kOptional, TypeFrom::kScale},
    {ir::kQuarkDomain, "ExtendedQuantizeLinear", 3 | kOptional, TypeFrom::kZeroPoint},
    {ir::kQuarkDomain, "ExtendedDequantizeLinear", 3 | kOptional, TypeFrom::kScale},
    {ir::kQuarkDomain, "ExtendedInstanceNormalization", 3, TypeFrom::kInput0},
    {ir::kQuarkDomain, "BFPQuantizeDequantize", 1, TypeFrom::kInput0},
    {ir::kQuarkDomain, "MXQuantizeDequantize", 1, TypeFrom::kInput0},
    {ir::kVitisDomain, "VitisQuantizeLinear", 3 | kOptional, TypeFrom::kZeroPoint},
    {ir::kVitisDomain, "VitisDequantizeLinear", 3 | kOptional, TypeFrom::kScale},
    {ir::kVitisDomain, "VitisInstanceNormalization", 3, TypeFrom::kInput0},
    {ir::kVitisDomain, "BFPFixNeuron", 1, TypeFrom::kInput0},
    {ir::kVitisDomain, "MXFixNeuron", 1, TypeFrom::kInput0},
};

void infer_type(onnx::InferenceContext& context, TypeFrom from) {
  const bool has_zero_point = context.getNumInputs() > 2 && context.getInputType(2) != nullptr;
  if (from == TypeFrom::kInput0) {
    onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  } else if (from == TypeFrom::kScale) {
    onnx::propagateElemTypeFromInputToOutput(context, 1, 0);
  } else if (has_zero_point) {
    onnx::propagateElemTypeFromInputToOutput(context, 2, 0);
  } else {
    onnx::updateOutputElemType(context, 0, onnx::TensorProto::UINT8);  // like ai.onnx QuantizeLinear
  }
  if (onnx::hasInputShape(context, 0)) onnx::propagateShapeFromInputToOutput(context, 0, 0);
}

void register_row(const SchemaRow& row) {
  onnx::OpSchema schema(row.op, __FILE__, __LINE__);
  schema.SetDomain(row.domain).SinceVersion(1).AllowUncheckedAttributes();
  const int count = row.inputs & ~kOptional;
  for (int i = 0; i < count; ++i) {
    const bool optional = (row.inputs & kOptional) != 0 && i >= 2;
    const std::string number = std::to_string(i);
    schema.Input(i, "input" + number, "", "T" + number, optional ? onnx::OpSchema::Optional : onnx::OpSchema::Single);
    schema.TypeConstraint("T" + number, onnx::OpSchema::all_tensor_types_ir10(), "");
  }
  schema.Output(0, "output", "", "Y");
  schema.TypeConstraint("Y", onnx::OpSchema::all_tensor_types_ir10(), "");
  const TypeFrom type = row.type;
  schema.TypeAndShapeInferenceFunction([type](onnx::InferenceContext& context) { infer_type(context, type); });
  onnx::RegisterSchema(std::move(schema));
}

}  // namespace

void register_custom_schemas() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance();
    for (const char* domain : {ir::kMicrosoftDomain, ir::kQuarkDomain, ir::kVitisDomain}) {
      if (!domains.Map().contains(domain)) domains.AddDomainToVersion(domain, 1, 1);
    }
    for (const SchemaRow& row : kSchemaRows) register_row(row);
  });
}

std::optional<Arity> arity_of(const std::string& op, const std::string& domain, int64_t opset) {
  register_custom_schemas();
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), domain);
  if (schema == nullptr) return std::nullopt;
  return Arity{schema->min_input(), schema->max_input(), schema->min_output(), schema->max_output()};
}

namespace {

/// "tensor(float16)": what schemas call it.
std::string schema_name(ElementType type) { return cat("tensor(", lower_case(name(type)), ")"); }

}  // namespace

bool takes_type(const std::string& op, int64_t opset, Place place, ElementType type) {
  register_custom_schemas();
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), "");
  if (schema == nullptr) return false;
  const auto& parameters = place.is_input ? schema->inputs() : schema->outputs();
  if (parameters.empty()) return false;
  const bool is_variadic = parameters.back().GetOption() == onnx::OpSchema::Variadic;
  if (place.index >= parameters.size() && !is_variadic) return false;
  const auto& types = parameters[std::min(place.index, parameters.size() - 1)].GetTypes();
  const std::string wanted = schema_name(type);
  return std::ranges::any_of(types, [&](const std::string* one) { return *one == wanted; });
}

bool has_stash_type(const std::string& op, int64_t opset, size_t index) {
  register_custom_schemas();
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), "");
  if (schema == nullptr || !schema->attributes().contains("stash_type") || index >= schema->outputs().size())
    return false;
  const std::string& type = schema->outputs()[index].GetTypeStr();
  return std::ranges::none_of(schema->inputs(), [&](const auto& input) { return input.GetTypeStr() == type; });
}

std::vector<ir::Attribute> default_attributes(const std::string& op, const std::string& domain, int64_t opset) {
  register_custom_schemas();
  std::vector<ir::Attribute> defaults;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(opset), domain);
  if (schema == nullptr) return defaults;
  ExternalFiles no_files("");
  const AttributeContext context{no_files, [](onnx::GraphProto&) -> Result<ir::GraphPtr> { return ir::GraphPtr(); }};
  for (const auto& [name, attribute] : schema->attributes()) {
    if (attribute.default_value.type() == onnx::AttributeProto::UNDEFINED) continue;
    onnx::AttributeProto copy = attribute.default_value;
    copy.set_name(name);
    Result<ir::Attribute> taken = take_attribute(copy, context);
    if (taken.ok()) defaults.push_back(std::move(taken).value());
  }
  return defaults;
}

// A model of the one node is made and the library's inliner applied to it, which fills in attributes and leaves out
// absent inputs.

namespace {

void put_tensor_type(const ir::Tensor& tensor, bool with_shape, onnx::TypeProto& type) {
  auto& proto = *type.mutable_tensor_type();
  proto.set_elem_type(static_cast<int32_t>(tensor.type()));
  if (!with_shape) return;
  proto.mutable_shape();
  for (const int64_t dim : tensor.dims()) proto.mutable_shape()->add_dim()->set_dim_value(dim);
}

void put_operand_type(const ir::Operand& operand, onnx::TypeProto& type) {
  if (operand.is_tensor()) {
    put_tensor_type(operand.tensor, true, type);
  } else if (operand.is_sequence()) {
    onnx::TypeProto& element = *type.mutable_sequence_type()->mutable_elem_type();
    const ir::Tensor first = operand.sequence.empty() ? ir::Tensor::scalar(0.0f) : operand.sequence.front();
    put_tensor_type(first, false, element);
  } else {
    put_tensor_type(ir::Tensor::scalar(0.0f), false, *type.mutable_optional_type()->mutable_elem_type());
  }
}

/// A model whose graph holds `node` alone. Its inputs are called i0, i1, ..., its outputs o0, o1, ...; captured values
/// keep their names.
/// `types` gets an entry per node input.
onnx::ModelProto model_of(const ir::Graph& graph, const ir::Node& node, const std::map<std::string, int64_t>& opsets,
                          const std::vector<const ir::Operand*>& operands, std::vector<onnx::TypeProto>& types) {
  onnx::ModelProto model;
  model.set_ir_version(kNewestIrVersion);
  for (const auto& [domain, version] : opsets) {
    auto& import = *model.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name("body");
  const ValueNames names(graph);
  onnx::NodeProto& call = *proto.add_node();
  put_node(node, names, Rests::kLeaveOut, call);
  call.clear_name();
  size_t operand = 0;
  const auto add_input = [&](const std::string& name) {
    onnx::ValueInfoProto& info = *proto.add_input();
    info.set_name(name);
    put_operand_type(*operands[operand++], *info.mutable_type());
  };
  types.resize(static_cast<size_t>(call.input_size()));
  for (int i = 0; i < call.input_size(); ++i) {
    if (call.input(i).empty()) continue;
    call.set_input(i, cat("i", i));
    add_input(call.input(i));
    types[static_cast<size_t>(i)] = proto.input(proto.input_size() - 1).type();
  }
  for (const ir::Capture& capture : node.captures) add_input(names.of(capture.outer));
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    call.set_output(i, cat("o", i));
    proto.add_output()->set_name(call.output(i));
  }
  return model;
}

}  // namespace

Result<std::shared_ptr<const ir::Model>> function_body(const ir::Graph& graph, ir::NodeId id,
                                                       const std::map<std::string, int64_t>& opsets,
                                                       const std::vector<const ir::Operand*>& inputs) {
  const ir::Node& node = graph.node(id);
  std::vector<onnx::TypeProto> types;
  onnx::ModelProto proto = model_of(graph, node, opsets, inputs, types);
  QQ_TRY(const bool found, library_inline_only_node(proto, types));
  if (!found) return std::shared_ptr<const ir::Model>();
  QQ_TRY(ir::Model body, import_own_model(proto));
  return std::make_shared<const ir::Model>(std::move(body));
}

}  // namespace quarkq::onnx_io
