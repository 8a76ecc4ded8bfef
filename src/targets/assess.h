// SPDX-License-Identifier: MIT
// assess(): a model judged by the facts of a target. A pure function; nothing is run.
#pragma once

#include "config/targets/target.h"
#include "ir/graph.h"
#include "quarkq/check.h"

namespace quarkq::targets {

/// REQUIRES: types were inferred as far as possible. Fails on a graph with a cycle. `model_path` and goals are left to
/// the caller.
Result<TargetReport> assess(const ir::Model& model, const config::Target& target);

}  // namespace quarkq::targets
