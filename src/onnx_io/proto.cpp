// SPDX-License-Identifier: MIT
#include "onnx_io/proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <climits>

#include "base/check.h"

namespace quarkq::onnx_io {
namespace {

// A nested graph takes three levels of messages (graph, node, attribute); type protos may nest some more inside.
constexpr int kRecursionLimit = 3 * kMaxGraphDepth + 100;

bool merge_bytes(const void* data, size_t size, google::protobuf::MessageLite& message) {
  google::protobuf::io::ArrayInputStream array(data, static_cast<int>(size));
  google::protobuf::io::CodedInputStream coded(&array);
  coded.SetTotalBytesLimit(INT_MAX);
  coded.SetRecursionLimit(kRecursionLimit);
  return message.MergeFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

}  // namespace

bool parse_proto(const void* data, size_t size, google::protobuf::MessageLite& message) {
  QQ_CHECK(size <= static_cast<size_t>(INT_MAX));
  message.Clear();
  return merge_bytes(data, size, message);
}

void merge_rest(const std::string& rest, google::protobuf::MessageLite& message) {
  if (rest.empty()) return;
  const bool merged = merge_bytes(rest.data(), rest.size(), message);
  QQ_CHECK(merged);
}

std::vector<const onnx::GraphProto*> nested_graphs(const onnx::NodeProto& node) {
  std::vector<const onnx::GraphProto*> graphs;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) graphs.push_back(&attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs()) graphs.push_back(&graph);
  }
  return graphs;
}

std::vector<onnx::GraphProto*> nested_graphs(onnx::NodeProto& node) {
  std::vector<onnx::GraphProto*> graphs;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) graphs.push_back(attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) graphs.push_back(&graph);
  }
  return graphs;
}

}  // namespace quarkq::onnx_io
