// SPDX-License-Identifier: MIT
// Key and value pairs of a model (metadata_props), which every reader of ONNX shows and none acts upon.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace quarkq::onnx_io {

/// Writes `pairs` after those that the model has, in this order. A key that is there already keeps its place and takes
/// the new value.
void set_metadata(ir::Model& model, const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace quarkq::onnx_io
