// SPDX-License-Identifier: MIT
// read_reported(): the files in which a compiler reports its placement.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "targets/reported.h"

namespace quarkq::pipeline {

/// Reads the files and merges them. The kind of a file follows from its content. Fails with kBadData if a file is of no
/// known kind, damaged or incomplete, and with kInvalidArgument if it does not exist.
Result<targets::Reported> read_reported(const std::vector<std::string>& files);

}  // namespace quarkq::pipeline
