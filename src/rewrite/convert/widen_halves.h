// SPDX-License-Identifier: MIT
// float16 tensors become float32, for the passes that convert a whole model or parts of one.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/diagnostics.h"
#include "base/error.h"
#include "ir/graph.h"

namespace quarkq::rewrite {

struct WidenedHalves {
  bool has_halves = false;         ///< the model has float16 tensors besides those that are kept
  std::optional<ir::Model> model;  ///< the converted model; absent if there are none, or `why_not` says why
  std::string why_not = {};
};

/// A copy of `model` in which every float16 tensor is float32, in nested graphs, too. Values in `kept` and the nodes
/// that compute them stay as they are.
Result<WidenedHalves> widen_halves(const ir::Model& model, const std::set<ir::ValueId>& kept, Diagnostics& diagnostics);

}  // namespace quarkq::rewrite
