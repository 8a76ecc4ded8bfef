// SPDX-License-Identifier: MIT
// A file for values that a run needs again later.
#pragma once

#include <string>

#include "base/error.h"

namespace quarkq {

/// Without a name, for reading and writing; removed with the process however that ends. `folder`: where it lies; empty:
/// the system's folder for temporary files.
Result<int> open_temporary_file(const std::string& folder = "");

}  // namespace quarkq
