// SPDX-License-Identifier: MIT
// Reading of ONNX files into ir::Model. Files are untrusted: every fault becomes a Status that names the file and the
// cause. Fields unknown to quarkq are kept as serialized rest, so that save() writes them back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Results of a load in addition to the model.
struct LoadReport {
  std::vector<std::string> external_files;  ///< Files next to the model that contain its weights.
  uint64_t external_bytes = 0;              ///< The sum of their sizes.
  Diagnostics findings;                     ///< Normalizations of the model.
};

/// Sets folders that external data may reach through symbolic links, for all models loaded later. Not thread-safe: call
/// it before anything is loaded.
void allow_external_data_in(std::vector<std::string> folders);

/// Loads `path` and normalizes it: model-local functions are expanded, nodes are in an execution order, sparse tensors
/// are dense, stored shapes that contradict the graph are replaced. External data is mapped, not read. Accepts IR
/// versions up to 13 and ai.onnx opsets up to 24. Fails with kInvalidArgument if there is no such file, kCorruptModel
/// if the model is not sound, kUnsupported if it is newer or larger than supported. `report` may be null.
Result<ir::Model> load(const std::string& path, LoadReport* report = nullptr);

/// Loads a model in memory, which cannot have external data. `path_for_messages` only appears in messages.
Result<ir::Model> load_bytes(std::string_view bytes, const std::string& path_for_messages,
                             LoadReport* report = nullptr);

}  // namespace quarkq::onnx_io
