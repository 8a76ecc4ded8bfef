// SPDX-License-Identifier: MIT
// Writes a model as protobuf by hand, field by field, so that no message ever holds more than one node and weights go
// straight from their buffers to the file. The same code with a counting sink tells sizes beforehand. Private to
// src/onnx_io.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::onnx_io {

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
