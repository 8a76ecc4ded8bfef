// SPDX-License-Identifier: MIT
// How many threads kernels use. Results do not depend on it.
#pragma once

namespace quarkq::exec {

/// Kernels use `threads` threads from now on. 0 takes as many cores as are free at this moment: a thread that shares
/// its core with another process holds up every parallel region (ADR 0003), so taking fewer is faster.
void set_threads(int threads);

}  // namespace quarkq::exec
