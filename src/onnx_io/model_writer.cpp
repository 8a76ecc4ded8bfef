// SPDX-License-Identifier: MIT
// The wire format: a field is a varint (number * 8 + kind) and its content; kind 2 is a varint length and that many
// bytes. Messages may hold their fields in any order, and a message written in two parts reads as the merged one.
#include "onnx_io/model_writer.h"

#include <algorithm>

#include "onnx_io/export_graph.h"
#include "onnx_io/tensor_proto.h"

namespace quarkq::onnx_io {
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
