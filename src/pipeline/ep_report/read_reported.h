// SPDX-License-Identifier: MIT
// Readers of the files in which a compiler reports its placement.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "pipeline/report/json.h"
#include "targets/reported.h"

namespace quarkq::pipeline {

/// Reads the files and merges them. The kind of a file follows from its content. Fails with kBadData if a file is of no
/// known kind, damaged or incomplete, and with kInvalidArgument if it does not exist.
Result<targets::Reported> read_reported(const std::vector<std::string>& files);

// One function per kind of file. `path` is for messages.

/// Adds the nodes and counts of vitisai_ep_report.json.
Status read_ep_report(const Json& json, const std::string& path, targets::Reported& reported);
/// Adds the placement in the provider's cache (context.json): the nodes of each part that it compiled.
Status read_context(const Json& json, const std::string& path, targets::Reported& reported);
/// Adds the placement in fail_safe_summary.json.
Status read_offload_map(const Json& json, const std::string& path, targets::Reported& reported);
/// Adds the reasons in aie_unsupported_original_ops_with_reasons.json.
Status read_unsupported_ops(const Json& json, const std::string& path, targets::Reported& reported);
/// Adds the counts and reasons that a compilation printed. Fails if the text contains neither.
Status read_compile_log(std::string_view text, const std::string& path, targets::Reported& reported);

}  // namespace quarkq::pipeline
