// SPDX-License-Identifier: MIT
// Writing of ir::Model as ONNX files that are complete or absent. The same model gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace quarkq::onnx_io {

struct SaveOptions {
  bool external_data = false;         ///< Store weights next to the model, in "<file name>.data" (save.cpp).
  int64_t external_threshold = 1024;  ///< In bytes; smaller initializers stay inside the model.
};

struct SaveReport {
  bool external_data = false;  ///< A data file is written because it was requested, or because protobuf messages end at
                               ///< 2^31 - 1 bytes.
  uint64_t model_bytes = 0;    ///< Size of the model file.
  uint64_t data_bytes = 0;     ///< Size of the data file.
};

/// Writes `model` to `path`. Weights are streamed from their buffers. On failure no file is created or changed. After a
/// kill, either the old model or the complete new model with its data exists. A data file that the model at `path` does
/// not read is never replaced. Fails with kInvalidArgument if `path` is the file that the model was loaded from.
Result<SaveReport> save(const ir::Model& model, const std::string& path, const SaveOptions& options = {});

/// Returns the report of save() without writing anything.
Result<SaveReport> plan_save(const ir::Model& model, const std::string& path, const SaveOptions& options = {});

/// Returns the model as bytes, with weights inside. REQUIRES: smaller than 2^31 bytes.
std::string to_bytes(const ir::Model& model);

/// A model without its large weights, for a reader that receives the weights separately.
struct Unweighted {
  std::string bytes;                 ///< References each omitted weight as external data of a file that does not exist.
  std::vector<ir::ValueId> weights;  ///< Initializers of the main graph that were omitted.
};

/// Fails with kResource if the rest needs 2^31 bytes or more.
Result<Unweighted> to_bytes_without_weights(const ir::Model& model);

// Key and value pairs of a model (metadata_props), which readers of ONNX display and do not interpret.

/// Appends `pairs` to the pairs of the model, in this order. An existing key keeps its position and gets the new value.
void set_metadata(ir::Model& model, const std::vector<std::pair<std::string, std::string>>& pairs);
/// Returns the value of the key, or an empty string if the model does not have it.
std::string metadata_of(const ir::Model& model, const std::string& key);
void remove_metadata(ir::Model& model, const std::vector<std::string>& keys);

}  // namespace quarkq::onnx_io
