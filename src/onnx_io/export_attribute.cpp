// SPDX-License-Identifier: MIT
#include "onnx_io/export_attribute.h"

#include "onnx_io/tensor_proto.h"

namespace quarkq::onnx_io {
namespace {

using Proto = onnx::AttributeProto;

/// One overload for each alternative of ir::AttributeValue.
class ValueWriter {
 public:
  ValueWriter(const AttributeHolder& holder, Proto& proto) : holder_(holder), proto_(proto) {}

  void operator()(int64_t value) { plain(Proto::INT).set_i(value); }
  void operator()(float value) { plain(Proto::FLOAT).set_f(value); }
  void operator()(const std::string& value) { plain(Proto::STRING).set_s(value); }
  void operator()(const std::vector<int64_t>& values) {
    plain(Proto::INTS).mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<float>& values) {
    plain(Proto::FLOATS).mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) {
    plain(Proto::STRINGS);
    for (const std::string& value : values) proto_.add_strings(value);
  }
  void operator()(const ir::Tensor& tensor) {
    proto_.clear_tensors();
    proto_.set_type(Proto::TENSOR);
    put_tensor(tensor, *proto_.mutable_t());
  }
  void operator()(const std::vector<ir::Tensor>& tensors) {
    proto_.clear_t();
    proto_.set_type(Proto::TENSORS);
    const auto count = static_cast<int>(tensors.size());
    if (proto_.tensors_size() != count) proto_.clear_tensors();
    for (int i = 0; i < count; ++i) {
      onnx::TensorProto& item = i < proto_.tensors_size() ? *proto_.mutable_tensors(i) : *proto_.add_tensors();
      put_tensor(tensors[static_cast<size_t>(i)], item);
    }
  }
  void operator()(const ir::GraphPtr& graph) { nested(*graph, *plain(Proto::GRAPH).mutable_g()); }
  void operator()(const std::vector<ir::GraphPtr>& graphs) {
    plain(Proto::GRAPHS);
    for (const ir::GraphPtr& graph : graphs) nested(*graph, *proto_.add_graphs());
  }
  void operator()(const ir::OpaqueAttribute& opaque) { merge_rest(opaque.bytes, proto_); }

 private:
  /// Drops a tensor's rest, which is stale when the attribute has become another kind.
  Proto& plain(Proto::AttributeType type) {
    proto_.clear_t();
    proto_.clear_tensors();
    proto_.set_type(type);
    return proto_;
  }
  void nested(const ir::Graph& graph, onnx::GraphProto& out) {
    put_graph(graph, ValueNames(graph, holder_.node, holder_.names), holder_.rests, out);
  }

  const AttributeHolder& holder_;
  Proto& proto_;
};

}  // namespace

void put_attribute(const ir::Attribute& attribute, const AttributeHolder& holder, Proto& proto) {
  merge_rest(attribute.extra, proto);
  std::visit(ValueWriter(holder, proto), attribute.value);
  proto.set_name(attribute.name);
}

}  // namespace quarkq::onnx_io
