// SPDX-License-Identifier: MIT
#pragma once

#include "quarkq/export.h"

namespace quarkq {

/// "MAJOR.MINOR.PATCH" of the library in use.
QUARKQ_EXPORT const char* version();

/// What the library was built from and with: commit, compiler, kind of build. One line.
QUARKQ_EXPORT const char* build_information();

}  // namespace quarkq
