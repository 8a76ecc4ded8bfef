// SPDX-License-Identifier: MIT
// Two sweeps over the nodes: the first makes a value for every output, so that the second can link inputs whatever the
// order of the list. No recursion over node chains; only nested graphs recurse, to a limited depth.
#include "onnx_io/import_graph.h"

#include <utility>

#include "ir/edit.h"
#include "ir/traversal.h"
#include "onnx_io/export_model.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

namespace {

using Proto = onnx::AttributeProto;

/// The declared kind; for files of before the field existed, the kind of the field that is set.
Proto::AttributeType kind_of(const Proto& proto) {
  if (proto.type() != Proto::UNDEFINED) return proto.type();
  if (proto.has_f()) return Proto::FLOAT;
  if (proto.has_i()) return Proto::INT;
  if (proto.has_s()) return Proto::STRING;
  if (proto.has_t()) return Proto::TENSOR;
  if (proto.has_sparse_tensor()) return Proto::SPARSE_TENSOR;
  if (proto.has_g()) return Proto::GRAPH;
  if (proto.floats_size() > 0) return Proto::FLOATS;
  if (proto.ints_size() > 0) return Proto::INTS;
  if (proto.strings_size() > 0) return Proto::STRINGS;
  if (proto.tensors_size() > 0) return Proto::TENSORS;
  if (proto.graphs_size() > 0) return Proto::GRAPHS;
  return Proto::UNDEFINED;
}

template <typename Field>
ir::AttributeValue take_list(Field& field) {
  std::vector<typename Field::value_type> values(field.begin(), field.end());
  field.Clear();
  return values;
}

Result<ir::AttributeValue> take_tensor_value(Proto& proto, ExternalFiles& external) {
  QQ_TRY(ir::Tensor tensor, take_tensor(*proto.mutable_t(), external));
  if (proto.t().ByteSizeLong() == 0) proto.clear_t();
  return ir::AttributeValue(std::move(tensor));
}

Result<ir::AttributeValue> take_sparse_value(Proto& proto, ExternalFiles& external) {
  QQ_TRY(ir::Tensor tensor, take_sparse_tensor(*proto.mutable_sparse_tensor(), external));
  proto.clear_sparse_tensor();
  return ir::AttributeValue(std::move(tensor));
}

Result<ir::AttributeValue> take_tensors(Proto& proto, ExternalFiles& external) {
  std::vector<ir::Tensor> tensors;
  size_t rest = 0;
  for (onnx::TensorProto& item : *proto.mutable_tensors()) {
    QQ_TRY(ir::Tensor tensor, take_tensor(item, external));
    tensors.push_back(std::move(tensor));
    rest += item.ByteSizeLong();
  }
  if (rest == 0) proto.clear_tensors();
  return ir::AttributeValue(std::move(tensors));
}

Result<ir::AttributeValue> take_graphs(Proto& proto, const AttributeContext& context) {
  std::vector<ir::GraphPtr> graphs;
  for (onnx::GraphProto& item : *proto.mutable_graphs()) {
    QQ_TRY(ir::GraphPtr graph, context.import_graph(item));
    graphs.push_back(std::move(graph));
  }
  proto.clear_graphs();
  return ir::AttributeValue(std::move(graphs));
}

/// Takes the value of a kind with a typed form out of `proto`.
Result<ir::AttributeValue> take_value(Proto& proto, Proto::AttributeType kind, const AttributeContext& context) {
  ir::AttributeValue value;
  switch (kind) {
    case Proto::FLOAT: value = proto.f(), proto.clear_f(); break;
    case Proto::INT: value = static_cast<int64_t>(proto.i()), proto.clear_i(); break;
    case Proto::STRING: value = std::move(*proto.mutable_s()), proto.clear_s(); break;
    case Proto::FLOATS: value = take_list(*proto.mutable_floats()); break;
    case Proto::INTS: value = take_list(*proto.mutable_ints()); break;
    case Proto::STRINGS: value = take_list(*proto.mutable_strings()); break;
    case Proto::TENSOR: return take_tensor_value(proto, context.external);
    case Proto::TENSORS: return take_tensors(proto, context.external);
    case Proto::SPARSE_TENSOR: return take_sparse_value(proto, context.external);
    case Proto::GRAPH: {
      QQ_TRY(ir::GraphPtr graph, context.import_graph(*proto.mutable_g()));
      value = std::move(graph);
      proto.clear_g();
      break;
    }
    case Proto::GRAPHS: return take_graphs(proto, context);
    default: return internal_error("attribute kind ", static_cast<int>(kind), " has no typed form");
  }
  return value;
}

bool has_typed_form(Proto::AttributeType kind) {
  switch (kind) {
    case Proto::FLOAT:
    case Proto::INT:
    case Proto::STRING:
    case Proto::TENSOR:
    case Proto::GRAPH:
    case Proto::FLOATS:
    case Proto::INTS:
    case Proto::STRINGS:
    case Proto::TENSORS:
    case Proto::GRAPHS: return true;
    default: return false;
  }
}

/// Whether the attribute is the sparse value of a Constant. Other sparse attributes are preserved.
bool is_sparse_value(const Proto& proto, Proto::AttributeType kind) {
  return kind == Proto::SPARSE_TENSOR && proto.name() == "sparse_value";
}

}  // namespace

Result<ir::Attribute> take_attribute(Proto& proto, const AttributeContext& context) {
  ir::Attribute attribute;
  const Proto::AttributeType kind = kind_of(proto);
  const bool is_typed = has_typed_form(kind) || is_sparse_value(proto, kind);
  attribute.name = std::move(*proto.mutable_name());
  proto.clear_name();
  if (attribute.name.empty()) return corrupt_model("an attribute has no name");
  attribute.reference = proto.ref_attr_name();
  if (!attribute.reference.empty() || !is_typed) {
    attribute.value = ir::OpaqueAttribute{proto.SerializeAsString()};
    return attribute;
  }
  Result<ir::AttributeValue> value = take_value(proto, kind, context);
  if (!value.ok()) return std::move(value).context(cat("attribute ", attribute.name)).status();
  attribute.value = std::move(value).value();
  proto.clear_type();
  // The rest may contain a tensor's rest; a tensor next to a value of another kind would be mistaken for one.
  if (kind != Proto::TENSOR) proto.clear_t();
  if (kind != Proto::TENSORS) proto.clear_tensors();
  attribute.extra = proto.SerializeAsString();
  return attribute;
}

void unify_constant_value(ir::Attribute& attribute) {
  ir::AttributeValue& value = attribute.value;
  const std::string& name = attribute.name;
  if (name == "sparse_value" && std::holds_alternative<ir::Tensor>(value)) {
    // import made the tensor dense
  } else if (const auto* f = std::get_if<float>(&value); f != nullptr && name == "value_float") {
    value = ir::Tensor::scalar(*f);
  } else if (const auto* i = std::get_if<int64_t>(&value); i != nullptr && name == "value_int") {
    value = ir::Tensor::scalar(*i);
  } else if (const auto* s = std::get_if<std::string>(&value); s != nullptr && name == "value_string") {
    value = ir::Tensor::of_strings({}, {*s});
  } else if (const auto* fs = std::get_if<std::vector<float>>(&value); fs != nullptr && name == "value_floats") {
    value = ir::Tensor::from<float>({static_cast<int64_t>(fs->size())}, *fs);
  } else if (const auto* is = std::get_if<std::vector<int64_t>>(&value); is != nullptr && name == "value_ints") {
    value = ir::Tensor::from<int64_t>({static_cast<int64_t>(is->size())}, *is);
  } else if (const auto* ss = std::get_if<std::vector<std::string>>(&value); ss != nullptr && name == "value_strings") {
    value = ir::Tensor::of_strings({static_cast<int64_t>(ss->size())}, *ss);
  } else {
    return;
  }
  attribute.name = "value";
}

namespace {

class GraphImporter {
 public:
  GraphImporter(const ImportContext& context, int depth) : context_(context), edit_(graph_), depth_(depth) {}
  Result<ir::Graph> run(onnx::GraphProto& proto);

 private:
  Result<ir::ValueId> define(const std::string& name, const std::string& what);
  Status add_inputs(onnx::GraphProto& proto);
  Status add_initializers(onnx::GraphProto& proto);
  Status add_sparse_initializers(onnx::GraphProto& proto);
  Status add_initializer(const std::string& name, ir::Tensor tensor, std::string rest);
  Status add_node_outputs(const onnx::GraphProto& proto);
  Status add_nodes(onnx::GraphProto& proto);
  Status add_node(onnx::NodeProto& proto);
  Status add_attributes(onnx::NodeProto& proto, ir::NodeSpec& spec);
  Status link_captures(ir::NodeId id);
  Status add_outputs(onnx::GraphProto& proto);
  Status add_infos(onnx::GraphProto& proto);
  Status set_type(ir::ValueId id, onnx::ValueInfoProto& info);
  /// The value called `name`; in nested graphs one is made for a name from outside. Invalid when there is none.
  ir::ValueId resolve(const std::string& name);
  std::string label(const onnx::NodeProto& proto) const;

  ir::Graph graph_;
  const ImportContext& context_;
  ir::GraphEdit edit_;
  int depth_;
};

std::string GraphImporter::label(const onnx::NodeProto& proto) const {
  const std::string& name = proto.name().empty() && proto.output_size() > 0 ? proto.output(0) : proto.name();
  return cat("node ", name, " (", proto.op_type(), ")");
}

Result<ir::ValueId> GraphImporter::define(const std::string& name, const std::string& what) {
  if (name.empty()) return corrupt_model(what, " without a name");
  if (graph_.find(name).valid()) return corrupt_model("value '", name, "' is defined twice, the second time as ", what);
  return edit_.add_value(name);
}

ir::ValueId GraphImporter::resolve(const std::string& name) {
  const ir::ValueId found = graph_.find(name);
  if (found.valid() || depth_ == 0) return found;
  const ir::ValueId outside = edit_.add_value(name);
  edit_.mark_captured(outside);
  return outside;
}

/// Moves the type; the remaining contents of ValueInfoProto become the value's rest.
Status GraphImporter::set_type(ir::ValueId id, onnx::ValueInfoProto& info) {
  QQ_TRY(ir::ValueType type, take_type(info));
  info.clear_name();
  ir::Value& value = edit_.mutable_value(id);
  if (!value.constant && (type.is_tensor() || type.has_shape || !type.other_type.empty())) value.type = std::move(type);
  if (value.extra.empty()) value.extra = info.SerializeAsString();
  return Status();
}

Status GraphImporter::add_inputs(onnx::GraphProto& proto) {
  for (onnx::ValueInfoProto& info : *proto.mutable_input()) {
    QQ_TRY(const ir::ValueId id, define(info.name(), "a graph input"));
    edit_.add_graph_input(id);
    QQ_RETURN_IF_ERROR(set_type(id, info));
  }
  proto.clear_input();
  return Status();
}

Status GraphImporter::add_initializers(onnx::GraphProto& proto) {
  for (onnx::TensorProto& stored : *proto.mutable_initializer()) {
    const std::string name = stored.name();
    QQ_TRY(ir::Tensor tensor, take_tensor(stored, context_.external));
    stored.clear_name();
    QQ_RETURN_IF_ERROR(add_initializer(name, std::move(tensor), stored.SerializeAsString()));
  }
  proto.clear_initializer();
  return Status();
}

Status GraphImporter::add_sparse_initializers(onnx::GraphProto& proto) {
  for (onnx::SparseTensorProto& sparse : *proto.mutable_sparse_initializer()) {
    const std::string name = sparse.values().name();
    Result<ir::Tensor> tensor = take_sparse_tensor(sparse, context_.external);
    if (!tensor.ok()) return tensor.status().context(cat("sparse initializer ", name));
    QQ_RETURN_IF_ERROR(add_initializer(name, std::move(tensor).value(), {}));
    context_.findings.add("sparse-made-dense", name, "a sparse initializer was made dense");
  }
  proto.clear_sparse_initializer();
  return Status();
}

/// ONNX Runtime 1.32 announces that it uses the last of several initializers with one name. It does so below this size,
/// and uses the first one from it on.
constexpr int64_t kFirstCounts = 128;

Status GraphImporter::add_initializer(const std::string& name, ir::Tensor tensor, std::string rest) {
  ir::ValueId id = graph_.find(name);
  if (!id.valid()) {
    QQ_TRY(id, define(name, "an initializer"));
  }
  if (const auto& earlier = graph_.value(id).constant) {
    if (earlier->type() != tensor.type()) {
      return corrupt_model("initializer '", name, "' is stored twice, as ", quarkq::name(earlier->type()), " and as ",
                           quarkq::name(tensor.type()));
    }
    const bool keeps_first = earlier->bytes() >= kFirstCounts;
    context_.findings.add("initializer-stored-twice", name,
                          cat("an initializer is stored twice; the ", keeps_first ? "first" : "last",
                              " one is used, as in ONNX Runtime"));
    if (keeps_first) return Status();
  }
  edit_.set_constant(id, std::move(tensor));
  edit_.mutable_value(id).tensor_extra = std::move(rest);
  return Status();
}

Status GraphImporter::add_node_outputs(const onnx::GraphProto& proto) {
  for (const onnx::NodeProto& node : proto.node()) {
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      Result<ir::ValueId> id = define(output, "an output");
      if (!id.ok()) return id.status().context(label(node));
    }
  }
  return Status();
}

Status GraphImporter::add_attributes(onnx::NodeProto& proto, ir::NodeSpec& spec) {
  const AttributeContext context{context_.external, [&](onnx::GraphProto& nested) -> Result<ir::GraphPtr> {
                                   QQ_TRY(ir::Graph graph, import_graph(nested, context_, depth_ + 1));
                                   return ir::GraphPtr(std::make_shared<const ir::Graph>(std::move(graph)));
                                 }};
  const bool is_constant = spec.domain.empty() && spec.op == "Constant";
  for (onnx::AttributeProto& stored : *proto.mutable_attribute()) {
    QQ_TRY(ir::Attribute attribute, take_attribute(stored, context));
    if (is_constant) unify_constant_value(attribute);
    for (const ir::Attribute& other : spec.attributes) {
      if (other.name == attribute.name) return corrupt_model("attribute ", other.name, " is there twice");
    }
    spec.attributes.push_back(std::move(attribute));
  }
  proto.clear_attribute();
  return Status();
}

Status GraphImporter::link_captures(ir::NodeId id) {
  std::vector<ir::Capture> captures;
  std::unordered_map<std::string, bool> seen;
  for (const ir::Graph* graph : ir::nested_graphs(graph_.node(id))) {
    for (const ir::ValueId captured : graph->captured()) {
      const std::string& name = graph->value(captured).name;
      if (!seen.emplace(name, true).second) continue;
      const ir::ValueId outer = resolve(name);
      if (!outer.valid()) return corrupt_model("its nested graph reads '", name, "', which nothing defines");
      captures.push_back({outer, name});
    }
  }
  if (!captures.empty()) edit_.set_captures(id, std::move(captures));
  return Status();
}

Status GraphImporter::add_node(onnx::NodeProto& proto) {
  ir::NodeSpec spec;
  if (proto.op_type().empty()) return corrupt_model("no operator type");
  spec.op = proto.op_type();
  spec.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  spec.name = proto.name();
  for (const std::string& input : proto.input()) {
    const ir::ValueId id = input.empty() ? ir::ValueId{} : resolve(input);
    if (!input.empty() && !id.valid()) return corrupt_model("input '", input, "' is defined nowhere");
    spec.inputs.push_back(id);
  }
  for (const std::string& output : proto.output()) {
    spec.outputs.push_back(output.empty() ? ir::ValueId{} : graph_.find(output));
  }
  QQ_RETURN_IF_ERROR(add_attributes(proto, spec));
  const ir::NodeId id = edit_.add_node(std::move(spec));
  ir::Node& node = edit_.node(id);
  if (depth_ == 0) node.origins = {id};
  node.overload = proto.overload();
  QQ_RETURN_IF_ERROR(link_captures(id));
  proto.clear_op_type();
  proto.clear_domain();
  proto.clear_name();
  proto.clear_input();
  proto.clear_output();
  proto.clear_overload();
  node.extra = proto.SerializeAsString();
  return Status();
}

Status GraphImporter::add_nodes(onnx::GraphProto& proto) {
  for (onnx::NodeProto& node : *proto.mutable_node()) {
    const std::string where = label(node);
    if (Status status = add_node(node); !status.ok()) return std::move(status).context(where);
  }
  proto.clear_node();
  return Status();
}

Status GraphImporter::add_outputs(onnx::GraphProto& proto) {
  for (onnx::ValueInfoProto& info : *proto.mutable_output()) {
    const ir::ValueId id = info.name().empty() ? ir::ValueId{} : resolve(info.name());
    if (!id.valid()) return corrupt_model("graph output '", info.name(), "' is defined nowhere");
    edit_.add_graph_output(id);
    QQ_RETURN_IF_ERROR(set_type(id, info));
  }
  proto.clear_output();
  return Status();
}

/// Entries for names that the graph does not have are dropped, because a value that gets such a name later would
/// inherit a wrong type.
Status GraphImporter::add_infos(onnx::GraphProto& proto) {
  for (onnx::ValueInfoProto& info : *proto.mutable_value_info()) {
    const ir::ValueId id = graph_.find(info.name());
    if (!id.valid()) continue;
    ir::Value& value = edit_.mutable_value(id);
    if (!value.is_input && !value.is_output) QQ_RETURN_IF_ERROR(set_type(id, info));
    value.has_info = true;
    value.has_info = wants_value_info(value);
  }
  proto.clear_value_info();
  return Status();
}

Result<ir::Graph> GraphImporter::run(onnx::GraphProto& proto) {
  if (depth_ > kMaxGraphDepth) return unsupported("graphs nested more than ", kMaxGraphDepth, " deep");
  graph_.name = proto.name();
  QQ_RETURN_IF_ERROR(add_inputs(proto));
  QQ_RETURN_IF_ERROR(add_initializers(proto));
  QQ_RETURN_IF_ERROR(add_sparse_initializers(proto));
  QQ_RETURN_IF_ERROR(add_node_outputs(proto));
  QQ_RETURN_IF_ERROR(add_nodes(proto));
  QQ_RETURN_IF_ERROR(add_outputs(proto));
  QQ_RETURN_IF_ERROR(add_infos(proto));
  proto.clear_name();
  graph_.extra = proto.SerializeAsString();
  // A cycle is refused here, so that nothing after the load needs to fear an endless walk.
  QQ_TRY(std::vector<ir::NodeId> order, ir::execution_order(graph_));
  if (order != graph_.order()) edit_.set_order(std::move(order));
  return std::move(graph_);
}

}  // namespace

Result<ir::Graph> import_graph(onnx::GraphProto& proto, const ImportContext& context, int depth) {
  return GraphImporter(context, depth).run(proto);
}

}  // namespace quarkq::onnx_io
