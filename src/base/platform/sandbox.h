// SPDX-License-Identifier: MIT
// Rights that the operating system takes from this process.
#pragma once

#include <set>
#include <string>

#include "base/error.h"

namespace quarkq::platform {

/// Permanently drops rights: files can be written, created and removed only in `folders`; there is no network access,
/// no program or process can be started, and no other process can be affected. Reading files is still allowed. Fails
/// with kIo if the system does not support all of this, because a broken promise would be worse than none. REQUIRES: no
/// other thread is running.
Status drop_rights(const std::set<std::string>& folders);

}  // namespace quarkq::platform
