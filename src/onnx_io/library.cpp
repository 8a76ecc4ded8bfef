// SPDX-License-Identifier: MIT
#include "onnx_io/library.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string_view>

#include "onnx_io/export_model.h"
#include "onnx_io/library_schemas.h"
#include "onnx_io/proto.h"
#include "onnx_io/schemas.h"

namespace quarkq::onnx_io {

namespace {

/// The library's messages run over several lines; ours are one.
std::string one_line(const char* text) {
  std::string line;
  for (const char* c = text; *c != '\0'; ++c) {
    const bool blank = *c == '\n' || *c == '\r' || *c == ' ' || *c == '\t';
    if (!blank)
      line += *c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// "gemm: " of "adapt_gemm_6_7", "" of other functions.
std::string adapted_operator(const std::string& function) {
  constexpr std::string_view kPrefix = "adapt_";
  const size_t end = function.find_last_not_of("0123456789_");
  if (!function.starts_with(kPrefix) || end + 1 == function.size()) return {};
  return function.substr(kPrefix.size(), end + 1 - kPrefix.size()) + ": ";
}

/// An assertion of the library, "<file>:<line>: <function>: Assertion `<condition>` failed: <reason>", without its
/// place in the library's sources and its condition. What is left is about the model: reason, and operator where it is
/// known.
std::string without_source(const std::string& message) {
  constexpr std::string_view kAssertion = ": Assertion `", kFailed = "` failed";
  const size_t begin = message.find(kAssertion), end = message.find(kFailed, begin);
  if (begin == std::string::npos || end == std::string::npos) return message;
  const size_t before = message.rfind(' ', begin);
  const std::string function = message.substr(before + 1, begin - before - 1);
  const size_t reason = end + kFailed.size() + 2;  // after ": "; without a reason there is a period
  return adapted_operator(function) +
         (reason < message.size() ? message.substr(reason) : "the onnx library rejects it without a reason");
}

/// Runs `call`; what it throws becomes the message of a Status.
template <typename Call>
Status guarded(Code code, Call call) {
  try {
    register_custom_schemas();
    call();
    return Status();
  } catch (const std::bad_alloc&) {
    throw;  // no matter of the model
  } catch (const std::out_of_range&) {
    return Status(code, "an operator lacks an input or attribute that the onnx library requires");
  } catch (const std::exception& error) {
    return Status(code, without_source(one_line(error.what())));
  } catch (...) {
    return Status(code, "the onnx library failed without a message");
  }
}

/// An operator that was never part of ONNX proper, or "". The checker would only warn, on the standard output.
std::string experimental_operator(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (onnx::checker::check_is_experimental_op(node)) return node.op_type();
    for (const onnx::GraphProto* graph : nested_graphs(node)) {
      std::string found = experimental_operator(*graph);
      if (!found.empty()) return found;
    }
  }
  return {};
}

const onnx::OpSchema* schema_of(const std::string& op, int64_t version, const std::string& domain) {
  register_custom_schemas();
  return onnx::OpSchemaRegistry::Schema(op, static_cast<int>(version), domain);
}

constexpr const char* kBodyDomain = "quarkq.body";  // Domain of a schema's function while it is inlined.

int opset_version(const onnx::ModelProto& model, const std::string& domain) {
  for (const auto& import : model.opset_import()) {
    if (import.domain() == domain) return static_cast<int>(import.version());
  }
  return 1;
}

int64_t default_opset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  }
  return 1;
}

/// The inliner fills in the attributes of the call, not the defaults of the schema.
void add_default_attributes(const onnx::OpSchema& schema, onnx::NodeProto& node) {
  for (const auto& [name, attribute] : schema.attributes()) {
    const auto& given = node.attribute();
    const bool is_given = std::any_of(given.begin(), given.end(),
                                      [&wanted = name](const auto& candidate) { return candidate.name() == wanted; });
    if (is_given || attribute.default_value.name().empty()) continue;
    *node.add_attribute() = attribute.default_value;
  }
}

bool schema_body(const onnx::OpSchema& schema, const onnx::NodeProto& node,
                 const std::vector<onnx::TypeProto>& input_types, int version, onnx::FunctionProto& body) {
  if (schema.HasFunction()) {
    const onnx::FunctionProto* function = schema.GetFunction(version);
    if (function != nullptr) body = *function;
    return function != nullptr;
  }
  if (!schema.HasContextDependentFunction()) return false;
  const onnx::FunctionBodyBuildContextImpl context(node, input_types);
  return schema.BuildContextDependentFunction(context, body, version);
}

/// Tensor types of the graph's inputs and outputs without a shape. The checker requires one, ONNX and ONNX Runtime do
/// not.
template <typename Infos>
void add_unshaped(Infos& infos, std::vector<onnx::TypeProto_Tensor*>& types) {
  for (onnx::ValueInfoProto& info : infos) {
    if (info.type().has_tensor_type() && !info.type().tensor_type().has_shape())
      types.push_back(info.mutable_type()->mutable_tensor_type());
  }
}

Status check_shaped(const onnx::ModelProto& model) {
  const std::string experimental = experimental_operator(model.graph());
  if (!experimental.empty()) {
    return corrupt_model("operator ", experimental, " was an experiment and is not part of ONNX");
  }
  return guarded(Code::kCorruptModel, [&] {
    onnx::checker::CheckerContext context;
    std::unordered_map<std::string, int> imports;
    for (const auto& import : model.opset_import()) imports[import.domain()] = static_cast<int>(import.version());
    if (imports.empty()) imports[""] = 1;
    context.set_ir_version(static_cast<int>(model.ir_version()));
    context.set_opset_imports(std::move(imports));
    context.set_schema_registry(&guarded_schemas());
    onnx::checker::check_graph(model.graph(), context, onnx::checker::LexicalScopeContext());
  });
}

}  // namespace

Status library_infer(onnx::ModelProto& model, Inference inference) {
  return guarded(Code::kCorruptModel, [&] {
    const bool strict = inference == Inference::kStrict;  // the behaviour of the library's own full check
    const onnx::ShapeInferenceOptions options{/*check_type_val=*/strict, /*strict_mode_val=*/strict ? 1 : 0,
                                              /*data_prop_val=*/inference == Inference::kFollowsValues};
    onnx::shape_inference::InferShapes(model, &guarded_schemas(), options);
  });
}

Status library_check(onnx::ModelProto& model) {
  std::vector<onnx::TypeProto_Tensor*> unshaped;
  add_unshaped(*model.mutable_graph()->mutable_input(), unshaped);
  add_unshaped(*model.mutable_graph()->mutable_output(), unshaped);
  for (onnx::TypeProto_Tensor* type : unshaped) type->mutable_shape();
  Status status = check_shaped(model);
  for (onnx::TypeProto_Tensor* type : unshaped) type->clear_shape();
  return status;
}

Result<onnx::ModelProto> library_convert(const onnx::ModelProto& model, int64_t target) {
  onnx::ModelProto converted;
  QQ_RETURN_IF_ERROR(guarded(Code::kUnsupported, [&] {
    // ConvertVersion() would infer types first, without guarded_schemas().
    const onnx::OpSetID from(default_opset(model)), to(target);
    converted = onnx::version_conversion::DefaultVersionConverter().convert_version(model, from, to);
  }));
  return converted;
}

Status library_inline_functions(onnx::ModelProto& model) {
  return guarded(Code::kUnsupported, [&] { onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/false); });
}

bool has_operator(const std::string& op, int64_t version) { return schema_of(op, version, "") != nullptr; }

void drop_idle_attributes(onnx::NodeProto& node, int64_t from, int64_t to) {
  const onnx::OpSchema* before = schema_of(node.op_type(), from, node.domain());
  const onnx::OpSchema* after = schema_of(node.op_type(), to, node.domain());
  if (before == nullptr || after == nullptr) return;
  auto& attributes = *node.mutable_attribute();
  for (auto it = attributes.begin(); it != attributes.end();) {
    const auto known = before->attributes().find(it->name());
    onnx::AttributeProto value = *it;
    value.clear_doc_string();
    const bool is_idle = !after->attributes().contains(it->name()) && known != before->attributes().end() &&
                         known->second.default_value.SerializeAsString() == value.SerializeAsString();
    it = is_idle ? attributes.erase(it) : it + 1;
  }
}

namespace {

std::string schema_misfit(const onnx::NodeProto& node, const onnx::OpSchema* schema) {
  if (schema == nullptr || schema->Deprecated()) return "the operator is not defined";
  const auto outside = [](int count, int least, int most) { return count < least || count > most; };
  if (outside(node.input_size(), schema->min_input(), schema->max_input()))
    return cat(node.input_size(), " inputs, allowed: ", schema->min_input(), " to ", schema->max_input());
  if (outside(node.output_size(), schema->min_output(), schema->max_output()))
    return cat(node.output_size(), " outputs, allowed: ", schema->min_output(), " to ", schema->max_output());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!schema->attributes().contains(attribute.name())) return cat("attribute ", attribute.name(), " is not defined");
  }
  return {};
}

}  // namespace

std::string misfit(const onnx::NodeProto& node, int64_t opset) {
  return schema_misfit(node, schema_of(node.op_type(), opset, ""));
}

bool means_the_same(const onnx::NodeProto& node, int64_t from, int64_t to) {
  const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  const onnx::OpSchema* before = schema_of(node.op_type(), from, domain);
  const onnx::OpSchema* after = schema_of(node.op_type(), to, domain);
  if (before == after) return true;
  if (before == nullptr || !schema_misfit(node, after).empty()) return false;
  return std::ranges::all_of(before->attributes(), [&](const auto& entry) {
    const auto same = after->attributes().find(entry.first);
    return same == after->attributes().end() ||
           same->second.default_value.SerializeAsString() == entry.second.default_value.SerializeAsString();
  });
}

Result<bool> library_inline_only_node(onnx::ModelProto& model, const std::vector<onnx::TypeProto>& input_types) {
  bool found = false;
  QQ_RETURN_IF_ERROR(guarded(Code::kUnsupported, [&] {
    onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
    const int version = opset_version(model, node.domain());
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), version, node.domain());
    if (schema == nullptr) return;
    add_default_attributes(*schema, node);
    onnx::FunctionProto body;
    found = schema_body(*schema, node, input_types, version, body);
    if (!found) return;
    body.set_domain(kBodyDomain);
    body.set_name(node.op_type());
    node.set_domain(kBodyDomain);
    auto& import = *model.add_opset_import();
    import.set_domain(kBodyDomain);
    import.set_version(1);
    *model.add_functions() = std::move(body);
    onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
  }));
  return found;
}

Result<onnx::ModelProto> library_parse(const std::string& text) {
  onnx::ModelProto model;
  std::string message;
  QQ_RETURN_IF_ERROR(guarded(Code::kCorruptModel, [&] {
    onnx::OnnxParser parser(text.c_str());
    const auto status = parser.Parse(model);
    if (!status.IsOK())
      message = one_line(status.ErrorMessage().c_str());
    else if (!parser.EndOfInput())
      message = "text after the end of the model";
  }));
  if (!message.empty()) return corrupt_model("model text: ", message);
  return model;
}

std::string library_print(const onnx::ModelProto& model) {
  std::string text;
  const Status status = guarded(Code::kInternal, [&] { text = onnx::ProtoToString(model); });
  return status.ok() ? text : status.message();
}

namespace {

bool is_large(const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kString) return tensor.size() > kSkeletonBytes / 16;
  return tensor.bytes() > kSkeletonBytes;
}

/// The tensor of a Constant node that is too large for a skeleton, or null.
const ir::Tensor* large_constant(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Constant") || !node.output(0).valid() || graph.value(node.output(0)).is_output) return nullptr;
  const auto* tensor = node.get<ir::Tensor>("value");
  return tensor != nullptr && is_large(*tensor) ? tensor : nullptr;
}

void put_tensor_input(const std::string& name, const ir::Tensor& tensor, onnx::ValueInfoProto& proto) {
  proto.set_name(name);
  onnx::TypeProto_Tensor& type = *proto.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int32_t>(tensor.type()));
  onnx::TensorShapeProto& shape = *type.mutable_shape();
  for (const int64_t dim : tensor.dims()) shape.add_dim()->set_dim_value(dim);
}

void put_initializers(const ir::Graph& graph, Skeleton& skeleton) {
  onnx::GraphProto& out = *skeleton.proto.mutable_graph();
  for (const ir::ValueId id : graph.initializers()) {
    const ir::Value& value = graph.value(id);
    if (!is_large(*value.constant)) {
      onnx::TensorProto& tensor = *out.add_initializer();
      tensor.set_name(value.name);
      put_tensor(*value.constant, tensor);
      continue;
    }
    skeleton.left_out.push_back(id);
    if (!value.is_input) put_tensor_input(value.name, *value.constant, *out.add_input());
  }
}

void put_nodes(const ir::Graph& graph, const ValueNames& names, Skeleton& skeleton) {
  onnx::GraphProto& out = *skeleton.proto.mutable_graph();
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (const ir::Tensor* tensor = large_constant(graph, node)) {
      skeleton.left_out_nodes.push_back(id);
      put_tensor_input(graph.value(node.output(0)).name, *tensor, *out.add_input());
      continue;
    }
    put_node(node, names, Rests::kLeaveOut, *out.add_node());
  }
}

}  // namespace

Skeleton make_skeleton(const ir::Model& model) {
  Skeleton skeleton;
  merge_rest(model.extra, skeleton.proto);
  put_model_head(model, skeleton.proto);
  // The library rejects unknown IR versions, although their changes do not affect its use here.
  skeleton.proto.set_ir_version(std::min<int64_t>(model.ir_version, onnx::Version::IR_VERSION));
  const ir::Graph& graph = model.graph;
  const ValueNames names(graph);
  onnx::GraphProto& out = *skeleton.proto.mutable_graph();
  merge_rest(graph.extra, out);
  out.set_name(graph.name.empty() ? "graph" : graph.name);
  for (const ir::ValueId id : graph.inputs()) {
    put_value_info(graph.value(id), graph.value(id).name, Rests::kLeaveOut, *out.add_input());
  }
  put_initializers(graph, skeleton);
  put_nodes(graph, names, skeleton);
  for (const ir::ValueId id : graph.outputs()) {
    put_value_info(graph.value(id), graph.value(id).name, Rests::kLeaveOut, *out.add_output());
  }
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id)) continue;
    const ir::Value& value = graph.value(id);
    const bool made_here = value.producer.valid() && !value.is_output;
    if (!made_here || !(value.type.is_tensor() || !value.type.other_type.empty())) continue;
    const ir::Node& producer = graph.node(value.producer);
    if (large_constant(graph, producer) != nullptr) continue;
    put_value_info(value, value.name, Rests::kLeaveOut, *out.add_value_info());
  }
  return skeleton;
}

}  // namespace quarkq::onnx_io
