// SPDX-License-Identifier: MIT
// Conversion of ir::Graph to protobuf messages, piece by piece, so that callers decide where weights are stored.
// Private to src/onnx_io.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Names of the values of a graph in the file. Nested graphs read outer values under their current names; an own value
/// of a nested graph is renamed if such a name is taken.
class ValueNames {
 public:
  /// Keeps the main graph's names.
  explicit ValueNames(const ir::Graph& graph) : graph_(graph) {}
  /// Computes the names of a graph nested in `holder`, a node of the graph named by `outer`.
  ValueNames(const ir::Graph& nested, const ir::Node& holder, const ValueNames& outer);

  /// Returns the name, or an empty string for an invalid id.
  const std::string& of(ir::ValueId id) const;

 private:
  const ir::Graph& graph_;
  std::unordered_map<int32_t, std::string> changed_;  ///< Indexed by value.
};

/// Which serialized rests are merged in. The onnx library does not need the rests of nodes and values.
enum class Rests { kKeep, kLeaveOut };

void put_node(const ir::Node& node, const ValueNames& names, Rests rests, onnx::NodeProto& proto);
void put_value_info(const ir::Value& value, const std::string& name, Rests rests, onnx::ValueInfoProto& proto);
/// Returns whether the value_info of `value` is written: the model contained one, and its type is known.
bool wants_value_info(const ir::Value& value);
/// Writes all fields of a TensorProto except type, shape and data.
void put_initializer_rest(const ir::Value& value, const std::string& name, onnx::TensorProto& proto);

/// Writes the model fields around the graph, without the rest of the model.
void put_model_head(const ir::Model& model, onnx::ModelProto& proto);
/// Writes the whole graph including weights.
void put_graph(const ir::Graph& graph, const ValueNames& names, Rests rests, onnx::GraphProto& proto);
/// Returns the whole model including weights as one message, for small models.
onnx::ModelProto whole_model(const ir::Model& model);

// ir::Attribute to AttributeProto. Private to src/onnx_io.

/// The node that contains an attribute, for the names that its nested graphs capture.
struct AttributeHolder {
  const ir::Node& node;
  const ValueNames& names;
  Rests rests;
};

void put_attribute(const ir::Attribute& attribute, const AttributeHolder& holder, onnx::AttributeProto& proto);

// Writes a model as protobuf field by field, so that no message contains more than one node, and weights are written
// directly from their buffers. The same code with a counting sink computes sizes in advance. Private to src/onnx_io.

/// Location of each weight: in the model, or at an offset of the data file.
struct WeightLayout {
  std::string location;          ///< Name of the data file as stored in the model.
  std::vector<int64_t> offsets;  ///< Indexed by value; -1 or a missing entry: inside the model.
  uint64_t data_bytes = 0;       ///< Size of the data file; 0 if there is none.

  int64_t offset(ir::ValueId id) const {
    const auto index = static_cast<size_t>(id.index);
    return index < offsets.size() ? offsets[index] : -1;
  }
};

/// Returns a layout with all weights inside the model.
inline WeightLayout inline_layout() { return {}; }
/// Returns a layout with main-graph initializers of at least `threshold` bytes in the data file, one after the other.
WeightLayout external_layout(const ir::Model& model, const std::string& location, int64_t threshold);

/// Receives bytes in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status write(const void* data, size_t bytes) = 0;
};

/// Returns the number of bytes that write_model() will write.
uint64_t model_bytes(const ir::Model& model, const WeightLayout& layout);
/// REQUIRES: model_bytes() is below 2^31, the limit of protobuf.
Status write_model(const ir::Model& model, const WeightLayout& layout, ByteSink& sink);
/// Writes the data file of `layout`.
Status write_data(const ir::Model& model, const WeightLayout& layout, ByteSink& sink);

}  // namespace quarkq::onnx_io
