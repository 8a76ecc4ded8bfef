// SPDX-License-Identifier: MIT
// assess(): judges a model by the facts of a target. A pure function; the model is not run.
#pragma once

#include "config/targets/target.h"
#include "ir/graph.h"
#include "quarkq/check.h"

namespace quarkq::targets {

/// Does not set `model_path` and goals. Fails on a graph with a cycle. REQUIRES: types were inferred as far as
/// possible.
Result<TargetReport> assess(const ir::Model& model, const config::Target& target);

}  // namespace quarkq::targets
