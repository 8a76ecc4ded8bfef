// SPDX-License-Identifier: MIT
// The members of a tar archive: ustar, the long names of GNU tar and pax, nothing else of them.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/error.h"

namespace quarkq::calib {

struct TarMember {
  size_t start = 0, bytes = 0;  ///< of the data in the archive
};

/// The regular files of the archive by their paths, without "./" in front; of equal paths the last counts, as tar has
/// it. Links and special files are left out. `name` is its name in messages. kBadData: damaged, truncated, a path that
/// leads out of the archive.
Result<std::map<std::string, TarMember>> read_tar(const std::byte* data, size_t bytes, const std::string& name);

}  // namespace quarkq::calib
