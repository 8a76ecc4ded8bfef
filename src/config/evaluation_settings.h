// SPDX-License-Identifier: MIT
// Where the samples of EvalMetrics are.
#pragma once

#include "config/settings.h"

namespace quarkq::config {

/// EvalDataReader, else evaluation.dir; empty: none. kInvalidArgument when EvalDataReader is no path.
Result<std::string> evaluation_folder(const Settings& settings);

}  // namespace quarkq::config
