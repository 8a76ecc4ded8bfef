// SPDX-License-Identifier: MIT
#include "onnx_io/metadata.h"

#include "onnx_io/proto.h"

namespace quarkq::onnx_io {
namespace {

onnx::StringStringEntryProto& entry_of(onnx::ModelProto& proto, const std::string& key) {
  for (onnx::StringStringEntryProto& entry : *proto.mutable_metadata_props()) {
    if (entry.key() == key) return entry;
  }
  onnx::StringStringEntryProto& added = *proto.add_metadata_props();
  added.set_key(key);
  return added;
}

}  // namespace

void set_metadata(ir::Model& model, const std::vector<std::pair<std::string, std::string>>& pairs) {
  onnx::ModelProto proto;
  merge_rest(model.extra, proto);
  for (const auto& [key, value] : pairs) entry_of(proto, key).set_value(value);
  model.extra = proto.SerializeAsString();
}

}  // namespace quarkq::onnx_io
