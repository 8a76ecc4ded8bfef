// SPDX-License-Identifier: MIT
// Reading ONNX files into ir::Model. Files are hostile until checked: whatever is wrong comes back as a Status that
// names the file and the cause. What quarkq has no field for is kept as serialized rest, so that save() writes it back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Results of a load in addition to the model.
struct LoadReport {
  std::vector<std::string> external_files;  ///< those next to the model that hold its weights
  uint64_t external_bytes = 0;              ///< the sum of their sizes
  Diagnostics findings;                     ///< how the model was normalized
};

/// Folders whose files external data may reach through symbolic links, for all models that are loaded from now on.
/// Not thread-safe: call it before anything is loaded.
void allow_external_data_in(std::vector<std::string> folders);

/// Loads `path` and normalizes it: model-local functions are expanded, nodes are in an execution order, sparse tensors
/// are dense, stored shapes that contradict the graph are replaced. External data is mapped, not read.
/// Accepts IR versions up to 13 and ai.onnx opsets up to 24. kInvalidArgument: no such file; kCorruptModel: not a sound
/// model; kUnsupported: newer or larger than quarkq handles. `report` may be null.
Result<ir::Model> load(const std::string& path, LoadReport* report = nullptr);

/// Loads a model in memory, which cannot have external data. `path_for_messages` only appears in messages.
Result<ir::Model> load_bytes(std::string_view bytes, const std::string& path_for_messages,
                             LoadReport* report = nullptr);

}  // namespace quarkq::onnx_io
