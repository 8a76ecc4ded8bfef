// SPDX-License-Identifier: MIT
#include "base/platform/sandbox.h"

namespace quarkq::platform {

Status drop_rights(const std::set<std::string>&) {
  return io_error(
      "--sandbox: Windows cannot take these rights from a running program; it needs Linux; nothing was run");
}

}  // namespace quarkq::platform
