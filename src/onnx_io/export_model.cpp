// SPDX-License-Identifier: MIT
#include "onnx_io/export_model.h"

#include <algorithm>
#include <unordered_set>

#include "base/strings.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

namespace {

const std::string kNoName;

}  // namespace

ValueNames::ValueNames(const ir::Graph& nested, const ir::Node& holder, const ValueNames& outer) : graph_(nested) {
  std::unordered_map<std::string, std::string> current;
  for (const ir::Capture& capture : holder.captures) current[capture.name] = outer.of(capture.outer);
  std::unordered_set<std::string> taken;
  for (const ir::ValueId id : nested.captured()) {
    const std::string& imported = nested.value(id).name;
    const auto found = current.find(imported);
    if (found == current.end()) continue;
    taken.insert(found->second);
    if (found->second != imported) changed_[id.index] = found->second;
  }
  if (changed_.empty()) return;
  for (size_t i = 0; i < nested.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!nested.is_alive(id) || nested.value(id).is_captured || !taken.contains(nested.value(id).name)) continue;
    std::string name;
    int suffix = 1;
    do {
      name = cat(nested.value(id).name, "_inner_", suffix++);
    } while (nested.find(name).valid() || taken.contains(name));
    taken.insert(name);
    changed_[id.index] = name;
  }
}

const std::string& ValueNames::of(ir::ValueId id) const {
  if (!id.valid()) return kNoName;
  const auto found = changed_.find(id.index);
  return found == changed_.end() ? graph_.value(id).name : found->second;
}

void put_node(const ir::Node& node, const ValueNames& names, Rests rests, onnx::NodeProto& proto) {
  if (rests == Rests::kKeep) merge_rest(node.extra, proto);
  for (const ir::ValueId input : node.inputs) proto.add_input(names.of(input));
  for (const ir::ValueId output : node.outputs) proto.add_output(names.of(output));
  if (!node.name.empty()) proto.set_name(node.name);
  proto.set_op_type(node.op);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  if (!node.overload.empty()) proto.set_overload(node.overload);
  for (const ir::Attribute& attribute : node.attributes) {
    put_attribute(attribute, {node, names, rests}, *proto.add_attribute());
  }
}

void put_value_info(const ir::Value& value, const std::string& name, Rests rests, onnx::ValueInfoProto& proto) {
  if (rests == Rests::kKeep) merge_rest(value.extra, proto);
  proto.set_name(name);
  put_type(value.type, proto);
}

bool wants_value_info(const ir::Value& value) {
  const ir::ValueType& type = value.type;
  return value.has_info && (type.is_tensor() || type.has_shape || !type.other_type.empty() || !value.extra.empty());
}

void put_initializer_rest(const ir::Value& value, const std::string& name, onnx::TensorProto& proto) {
  merge_rest(value.tensor_extra, proto);
  proto.set_name(name);
}

void put_model_head(const ir::Model& model, onnx::ModelProto& proto) {
  proto.set_ir_version(model.ir_version);
  if (!model.producer_name.empty()) proto.set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) proto.set_producer_version(model.producer_version);
  for (const std::string& domain : model.opset_order) {
    onnx::OperatorSetIdProto& entry = *proto.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(model.opset(domain));
  }
}

void put_graph(const ir::Graph& graph, const ValueNames& names, Rests rests, onnx::GraphProto& proto) {
  merge_rest(graph.extra, proto);
  if (!graph.name.empty()) proto.set_name(graph.name);
  for (const ir::NodeId id : graph.order()) put_node(graph.node(id), names, rests, *proto.add_node());
  for (const ir::ValueId id : graph.initializers()) {
    onnx::TensorProto& tensor = *proto.add_initializer();
    put_initializer_rest(graph.value(id), names.of(id), tensor);
    put_tensor(*graph.value(id).constant, tensor);
  }
  for (const ir::ValueId id : graph.inputs()) put_value_info(graph.value(id), names.of(id), rests, *proto.add_input());
  for (const ir::ValueId id : graph.outputs()) {
    put_value_info(graph.value(id), names.of(id), rests, *proto.add_output());
  }
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id) || !wants_value_info(graph.value(id))) continue;
    put_value_info(graph.value(id), names.of(id), rests, *proto.add_value_info());
  }
}

onnx::ModelProto whole_model(const ir::Model& model) {
  onnx::ModelProto proto;
  merge_rest(model.extra, proto);
  put_model_head(model, proto);
  put_graph(model.graph, ValueNames(model.graph), Rests::kKeep, *proto.mutable_graph());
  return proto;
}

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

// The wire format: a field is a varint (number * 8 + kind) and its content; kind 2 is a varint length and that many
// bytes. Messages may contain their fields in any order, and a message written in two parts is read as the merged one.

namespace {

// Offsets for readers that map: whole pages for large tensors, cache lines for the others.
constexpr int64_t kLargeBytes = int64_t{1} << 20;
constexpr int64_t kLargeAlignment = 4096;
constexpr int64_t kSmallAlignment = 64;

class CountingSink : public ByteSink {
 public:
  Status write(const void*, size_t bytes) override {
    total_ += bytes;
    return Status();
  }
  uint64_t total() const { return total_; }

 private:
  uint64_t total_ = 0;
};

/// Writes fields; after the first failure it writes nothing more and keeps the reason.
class FieldWriter {
 public:
  FieldWriter(ByteSink& sink, bool counting) : sink_(sink), counting_(counting) {}

  void raw(const void* data, size_t bytes) {
    if (status_.ok() && bytes > 0) status_ = sink_.write(data, bytes);
  }
  void length_field(int field, uint64_t length) {
    varint((static_cast<uint64_t>(field) << 3) | 2);
    varint(length);
  }
  void text(int field, const std::string& value) {
    if (value.empty()) return;
    length_field(field, value.size());
    raw(value.data(), value.size());
  }
  void message(int field, const google::protobuf::MessageLite& value) {
    const size_t size = value.ByteSizeLong();
    length_field(field, size);
    append(value, size);
  }
  void append(const google::protobuf::MessageLite& value, size_t size) {
    if (!status_.ok()) return;
    if (counting_) {
      status_ = sink_.write(nullptr, size);
      return;
    }
    buffer_.clear();
    value.AppendPartialToString(&buffer_);
    raw(buffer_.data(), buffer_.size());
  }
  const Status& status() const { return status_; }

 private:
  void varint(uint64_t value) {
    unsigned char bytes[10];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<unsigned char>(value | 0x80);
    bytes[count++] = static_cast<unsigned char>(value);
    raw(bytes, count);
  }

  ByteSink& sink_;
  bool counting_;
  Status status_;
  std::string buffer_;
};

uint64_t varint_size(uint64_t value) {
  uint64_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void put_external(const WeightLayout& layout, int64_t offset, int64_t bytes, onnx::TensorProto& proto) {
  auto add = [&](const char* key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", layout.location);
  add("offset", std::to_string(offset));
  add("length", std::to_string(bytes));
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
}

void write_initializer(const ir::Value& value, const WeightLayout& layout, FieldWriter& out) {
  const ir::Tensor& tensor = *value.constant;
  onnx::TensorProto proto;
  put_initializer_rest(value, value.name, proto);
  if (tensor.type() == ElementType::kString) {
    put_tensor(tensor, proto);
    out.message(onnx::GraphProto::kInitializerFieldNumber, proto);
    return;
  }
  put_tensor_head(tensor, proto);
  const int64_t offset = layout.offset(value.id);
  if (offset >= 0) {
    put_external(layout, offset, tensor.bytes(), proto);
    out.message(onnx::GraphProto::kInitializerFieldNumber, proto);
    return;
  }
  const auto bytes = static_cast<uint64_t>(tensor.bytes());
  const size_t head = proto.ByteSizeLong();
  out.length_field(onnx::GraphProto::kInitializerFieldNumber, head + 1 + varint_size(bytes) + bytes);
  out.append(proto, head);
  out.length_field(onnx::TensorProto::kRawDataFieldNumber, bytes);
  out.raw(tensor.raw(), bytes);
}

void write_graph(const ir::Graph& graph, const WeightLayout& layout, FieldWriter& out) {
  using Fields = onnx::GraphProto;
  const ValueNames names(graph);
  for (const ir::NodeId id : graph.order()) {
    onnx::NodeProto proto;
    put_node(graph.node(id), names, Rests::kKeep, proto);
    out.message(Fields::kNodeFieldNumber, proto);
  }
  out.text(Fields::kNameFieldNumber, graph.name);
  for (const ir::ValueId id : graph.initializers()) write_initializer(graph.value(id), layout, out);
  auto info = [&](int field, ir::ValueId id) {
    onnx::ValueInfoProto proto;
    put_value_info(graph.value(id), graph.value(id).name, Rests::kKeep, proto);
    out.message(field, proto);
  };
  for (const ir::ValueId id : graph.inputs()) info(Fields::kInputFieldNumber, id);
  for (const ir::ValueId id : graph.outputs()) info(Fields::kOutputFieldNumber, id);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (graph.is_alive(id) && wants_value_info(graph.value(id))) info(Fields::kValueInfoFieldNumber, id);
  }
  out.raw(graph.extra.data(), graph.extra.size());
}

uint64_t graph_bytes(const ir::Graph& graph, const WeightLayout& layout) {
  CountingSink counter;
  FieldWriter writer(counter, /*counting=*/true);
  write_graph(graph, layout, writer);
  return counter.total();
}

onnx::ModelProto head_of(const ir::Model& model) {
  onnx::ModelProto head;
  put_model_head(model, head);
  return head;
}

}  // namespace

WeightLayout external_layout(const ir::Model& model, const std::string& location, int64_t threshold) {
  WeightLayout layout;
  layout.location = location;
  layout.offsets.assign(model.graph.value_count(), -1);
  int64_t end = 0;
  for (const ir::ValueId id : model.graph.initializers()) {
    const ir::Tensor& tensor = *model.graph.value(id).constant;
    if (tensor.type() == ElementType::kString || tensor.bytes() < std::max<int64_t>(threshold, 1)) continue;
    const int64_t alignment = tensor.bytes() >= kLargeBytes ? kLargeAlignment : kSmallAlignment;
    const int64_t offset = (end + alignment - 1) / alignment * alignment;
    layout.offsets[static_cast<size_t>(id.index)] = offset;
    end = offset + tensor.bytes();
  }
  layout.data_bytes = static_cast<uint64_t>(end);
  return layout;
}

uint64_t model_bytes(const ir::Model& model, const WeightLayout& layout) {
  const uint64_t graph = graph_bytes(model.graph, layout);
  return head_of(model).ByteSizeLong() + 1 + varint_size(graph) + graph + model.extra.size();
}

Status write_model(const ir::Model& model, const WeightLayout& layout, ByteSink& sink) {
  FieldWriter out(sink, /*counting=*/false);
  const onnx::ModelProto head = head_of(model);
  out.append(head, head.ByteSizeLong());
  out.length_field(onnx::ModelProto::kGraphFieldNumber, graph_bytes(model.graph, layout));
  write_graph(model.graph, layout, out);
  out.raw(model.extra.data(), model.extra.size());
  return out.status();
}

Status write_data(const ir::Model& model, const WeightLayout& layout, ByteSink& sink) {
  static constexpr std::byte kZeros[kLargeAlignment] = {};
  int64_t end = 0;
  for (const ir::ValueId id : model.graph.initializers()) {
    const int64_t offset = layout.offset(id);
    if (offset < 0) continue;
    const ir::Tensor& tensor = *model.graph.value(id).constant;
    QQ_RETURN_IF_ERROR(sink.write(kZeros, static_cast<size_t>(offset - end)));
    QQ_RETURN_IF_ERROR(sink.write(tensor.raw(), static_cast<size_t>(tensor.bytes())));
    end = offset + tensor.bytes();
  }
  return Status();
}

}  // namespace quarkq::onnx_io
