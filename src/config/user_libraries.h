// SPDX-License-Identifier: MIT
// The files that UserCustomOpLibPath names.
#pragma once

#include <string>
#include <vector>

#include "config/quant_config.h"

namespace quarkq::config {

/// A file, a list of files, or folders, which stand for the .so files in them; empty: none. kInvalidArgument for values
/// of another kind, for what is not there, and for folders without such files.
Result<std::vector<std::string>> user_libraries(const QuantConfig& config);

}  // namespace quarkq::config
