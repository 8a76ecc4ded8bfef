// SPDX-License-Identifier: MIT
#pragma once

#include "quarkq/export.h"

namespace quarkq {

/// "MAJOR.MINOR.PATCH" of the library in use.
QUARKQ_EXPORT const char* version();

}  // namespace quarkq
