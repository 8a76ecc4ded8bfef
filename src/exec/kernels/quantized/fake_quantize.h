// SPDX-License-Identifier: MIT
// FakeQuantize: both halves of a pair as one operator. What the compiler needs of it is in exec/quantize_pair.h.
#pragma once

#include "exec/quantize_pair.h"

namespace quarkq::exec {

/// FakeQuantize (plan/lowering/lower.h).
Result<Kernel> prepare_fake_quantize(Prepare& p);

}  // namespace quarkq::exec
