// SPDX-License-Identifier: MIT
// Marks what the shared library shows to the outside.
#pragma once

#define QUARKQ_EXPORT __attribute__((visibility("default")))
