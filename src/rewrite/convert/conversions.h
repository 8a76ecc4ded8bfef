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

/// Returns a flag per node index. Option `subgraphs` is "[[[start, ...], [end, ...]], ...]"; each entry selects the
/// nodes on paths from a start to an end, both included. An empty list of starts or ends means no restriction; an empty
/// option selects all nodes. Fails with kInvalidArgument for unknown names, and if a subgraph contains no node.
Result<std::vector<bool>> chosen_nodes(const ir::Graph& graph, const pass::ConversionOptions& options);

}  // namespace quarkq::rewrite
