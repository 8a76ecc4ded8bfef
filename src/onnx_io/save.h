// SPDX-License-Identifier: MIT
// Writing ir::Model as ONNX files that are complete or absent. Same model, same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace quarkq::onnx_io {

struct SaveOptions {
  bool external_data = false;         ///< weights beside the model, in "<file name>.data" (save.cpp)
  int64_t external_threshold = 1024;  ///< bytes; smaller initializers stay inside the model
};

struct SaveReport {
  bool external_data = false;  ///< a data file is written: asked for, or needed because protobuf ends at 2^31 - 1 bytes
  uint64_t model_bytes = 0;    ///< size of the model file
  uint64_t data_bytes = 0;     ///< size of the data file
};

/// Writes `model` to `path`. Weights are streamed from their buffers. On failure no file is created or changed, and a
/// process that is killed leaves the old model or the new one with all of its data. A data file that the model at
/// `path` does not read is never replaced. Refuses (kInvalidArgument) to write over the file that the model was loaded
/// from.
Result<SaveReport> save(const ir::Model& model, const std::string& path, const SaveOptions& options = {});

/// What save() would report, without writing anything.
Result<SaveReport> plan_save(const ir::Model& model, const std::string& path, const SaveOptions& options = {});

/// The model as bytes, weights inside. REQUIRES: smaller than 2^31 bytes.
std::string to_bytes(const ir::Model& model);

/// A model without its large weights, for a reader that gets these beside it.
struct Unweighted {
  std::string bytes;                 ///< says of each weight left out that it is in a file, which is nowhere
  std::vector<ir::ValueId> weights;  ///< initializers of the main graph that were left out
};

/// Fails with kResource when the rest takes 2^31 bytes or more.
Result<Unweighted> to_bytes_without_weights(const ir::Model& model);

// Key and value pairs of a model (metadata_props), which every reader of ONNX shows and none acts upon.

/// Writes `pairs` after those that the model has, in this order. A key that is there already keeps its place and takes
/// the new value.
void set_metadata(ir::Model& model, const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace quarkq::onnx_io
