// SPDX-License-Identifier: MIT
// Reading ONNX files into ir::Model. Files are hostile until checked: whatever is wrong comes back as a Status that
// names the file and the cause. What quarkq has no field for is kept as serialized rest, so that save() writes it back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace quarkq::onnx_io {

/// The files with external data that a model reads.
struct ExternalUse {
  std::vector<std::string> files;
  uint64_t bytes = 0;  ///< the sum of their sizes
};

/// Loads `path`. IR versions up to 13 and ai.onnx opsets up to 24 are taken; external data is mapped, not read.
/// kInvalidArgument: no such file; kCorruptModel: not a sound model; kUnsupported: newer or larger than quarkq handles.
/// `external`, if given, receives the files next to the model that hold weights.
Result<ir::Model> load(const std::string& path, ExternalUse* external = nullptr);

/// The same for a model in memory, which cannot have external data. `path_for_messages` only appears in messages.
Result<ir::Model> load_bytes(std::string_view bytes, const std::string& path_for_messages);

}  // namespace quarkq::onnx_io
