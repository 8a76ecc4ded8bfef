// SPDX-License-Identifier: MIT
#pragma once

#include "quarkq/export.h"

namespace quarkq {

/// "MAJOR.MINOR.PATCH" of the library in use.
QUARKQ_EXPORT const char* version();

/// How the library was built: commit, compiler, build type. One line.
QUARKQ_EXPORT const char* build_information();

}  // namespace quarkq
