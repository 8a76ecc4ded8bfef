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

}  // namespace quarkq::onnx_io
