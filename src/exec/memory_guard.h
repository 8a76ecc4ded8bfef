// SPDX-License-Identifier: MIT
// Refusing to start what cannot fit into memory: models come from anywhere, and a shape is quickly written.
#pragma once

#include <cstdint>

#include "exec/op_def.h"

namespace quarkq::exec {

/// Bytes a run may take: `max_memory`, or what the machine has when that is 0.
int64_t allowed_memory(int64_t max_memory);

/// Fails when the outputs and the temporary memory that `prepare` declares need more than `allowed` bytes. The message
/// names the node and what it needs.
Status check_memory(const Prepare& prepare, int64_t allowed);

}  // namespace quarkq::exec
