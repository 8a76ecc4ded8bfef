// SPDX-License-Identifier: MIT
// The driver of rewrite rules: visits nodes in order, applies the patches that a rule proposes, until nothing changes.
#pragma once

#include <functional>
#include <optional>

#include "ir/patch.h"
#include "pass/context.h"

namespace quarkq::rewrite {

/// Looks at one node; returns a patch, or nothing when the rule does not apply. An error stops the pass.
using Rule = std::function<Result<std::optional<ir::GraphPatch>>(const ir::Graph&, const ir::Node&)>;

/// Applies `rule` to a fixpoint, at most 10 sweeps; a diagnostic says so when that did not do. Removes what became
/// dead.
Result<Changed> run_rule(pass::FloatContext& context, const char* pass, const Rule& rule);

}  // namespace quarkq::rewrite
