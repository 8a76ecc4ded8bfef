// SPDX-License-Identifier: MIT
// Marks what the shared library exports.
#pragma once

#define QUARKQ_EXPORT __attribute__((visibility("default")))
