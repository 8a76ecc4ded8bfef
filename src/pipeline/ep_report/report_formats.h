// SPDX-License-Identifier: MIT
// One reader per kind of file in which a compiler reports its placement. read_reported() chooses among them.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "pipeline/report/json.h"
#include "targets/reported.h"

// Each function adds the contents of one file. `path` is for messages. They fail with kBadData.
namespace quarkq::pipeline {

/// Adds the nodes and counts of vitisai_ep_report.json.
Status read_ep_report(const Json& json, const std::string& path, targets::Reported& reported);

/// Adds the placement in the provider's cache (context.json): the nodes of each part that it compiled.
/// REQUIRES: the member "metaDef".
Status read_context(const Json& json, const std::string& path, targets::Reported& reported);

/// Adds the placement in fail_safe_summary.json. REQUIRES: the member "offload_map".
Status read_offload_map(const Json& json, const std::string& path, targets::Reported& reported);

/// Adds the reasons in aie_unsupported_original_ops_with_reasons.json. REQUIRES: a list.
Status read_unsupported_ops(const Json& json, const std::string& path, targets::Reported& reported);

/// Adds the counts and reasons that a compilation printed. Fails if the text contains neither.
Status read_compile_log(std::string_view text, const std::string& path, targets::Reported& reported);

}  // namespace quarkq::pipeline
