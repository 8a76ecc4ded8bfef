// SPDX-License-Identifier: MIT
// Declarations of the conversions of this library, expanded from its rows of pass/conversions.def.
#pragma once

#include <vector>

#include "pass/pass_info.h"

namespace quarkq::rewrite {

#define QQ_QDQ_CONVERSION(function, claim, options, summary)
#define QQ_FLOAT_CONVERSION(function, claim, options, summary) Result<size_t> function(pass::ConvertContext& context);
#define QQ_PASS_CONVERSION(function, claim, options, settings)
#define QQ_PLAN_CONVERSION(function, claim, options, settings)
#include "pass/conversions.def"

// The nodes that a conversion is for: all, or those between named starts and ends.

/// By index of the node. Option `subgraphs`: "[[[start, ...], [end, ...]], ...]", each the nodes that are reached from
/// a start and reach an end, both included; an empty list of starts or ends does not restrict. Empty: all nodes.
/// kInvalidArgument for names that no node has, and when a subgraph holds no node.
Result<std::vector<bool>> chosen_nodes(const ir::Graph& graph, const pass::ConversionOptions& options);

}  // namespace quarkq::rewrite
