// SPDX-License-Identifier: MIT
// ir::Graph to protobuf messages, piece by piece, so that callers choose what becomes of the weights. Private to
// src/onnx_io.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// What the values of a graph are called in the file. Nested graphs read outer values under the names that those have
/// now; their own values step aside where such a name is taken.
class ValueNames {
 public:
  /// Names of a main graph: as they are.
  explicit ValueNames(const ir::Graph& graph) : graph_(graph) {}
  /// Names of a graph nested in `holder`, a node of the graph that `outer` names.
  ValueNames(const ir::Graph& nested, const ir::Node& holder, const ValueNames& outer);

  /// "" for an invalid id.
  const std::string& of(ir::ValueId id) const;

 private:
  const ir::Graph& graph_;
  std::unordered_map<int32_t, std::string> changed_;  ///< by value index
};

/// Which serialized rests are merged in: libraries need none of those of nodes and values.
enum class Rests { kKeep, kLeaveOut };

void put_node(const ir::Node& node, const ValueNames& names, Rests rests, onnx::NodeProto& proto);
void put_value_info(const ir::Value& value, const std::string& name, Rests rests, onnx::ValueInfoProto& proto);
/// True for values whose value_info is written: the model had one, and there is something to say.
bool wants_value_info(const ir::Value& value);
/// Everything of a TensorProto but type, shape and data.
void put_initializer_rest(const ir::Value& value, const std::string& name, onnx::TensorProto& proto);

/// Model fields around the graph, without the rest of the model.
void put_model_head(const ir::Model& model, onnx::ModelProto& proto);
/// The whole graph, weights included.
void put_graph(const ir::Graph& graph, const ValueNames& names, Rests rests, onnx::GraphProto& proto);
/// The whole model in one message, weights included: for small models.
onnx::ModelProto whole_model(const ir::Model& model);

// ir::Attribute to AttributeProto. Private to src/onnx_io.

/// The node that holds an attribute, for the names that its nested graphs capture.
struct AttributeHolder {
  const ir::Node& node;
  const ValueNames& names;
  Rests rests;
};

void put_attribute(const ir::Attribute& attribute, const AttributeHolder& holder, onnx::AttributeProto& proto);

// Writes a model as protobuf by hand, field by field, so that no message ever holds more than one node and weights go
// straight from their buffers to the file. The same code with a counting sink tells sizes beforehand. Private to
// src/onnx_io.

/// Where weights go: into the model, or at an offset of the data file.
struct WeightLayout {
  std::string location;          ///< name of the data file, as the model says it
  std::vector<int64_t> offsets;  ///< by value index; -1, or a missing entry: inside the model
  uint64_t data_bytes = 0;       ///< size of the data file; 0: there is none

  int64_t offset(ir::ValueId id) const {
    const auto index = static_cast<size_t>(id.index);
    return index < offsets.size() ? offsets[index] : -1;
  }
};

/// All weights inside the model.
inline WeightLayout inline_layout() { return {}; }
/// Main-graph initializers of at least `threshold` bytes outside, one after the other.
WeightLayout external_layout(const ir::Model& model, const std::string& location, int64_t threshold);

/// Takes bytes in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status write(const void* data, size_t bytes) = 0;
};

/// Bytes that write_model() will write.
uint64_t model_bytes(const ir::Model& model, const WeightLayout& layout);
/// REQUIRES: model_bytes() is below 2^31, the limit of protobuf.
Status write_model(const ir::Model& model, const WeightLayout& layout, ByteSink& sink);
/// The data file of `layout`.
Status write_data(const ir::Model& model, const WeightLayout& layout, ByteSink& sink);

}  // namespace quarkq::onnx_io
