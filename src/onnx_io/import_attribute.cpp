// SPDX-License-Identifier: MIT
#include "onnx_io/import_attribute.h"

#include "onnx_io/sparse_tensor.h"

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
  // The rest may hold a tensor's rest; a tensor beside a value of another kind would be taken for one.
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

}  // namespace quarkq::onnx_io
