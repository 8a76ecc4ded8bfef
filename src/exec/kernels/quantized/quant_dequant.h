// SPDX-License-Identifier: MIT
// The quant_dequant family's prepare functions that others name: those of files of their own, and what src/ort_ops
// takes.
#pragma once

#include "exec/op_def.h"
#include "exec/quantize_pair.h"

namespace quarkq::exec {

// quant_dequant.cpp
Result<Kernel> prepare_quantize(Prepare& p);
Result<Kernel> prepare_dequantize(Prepare& p);
// quantized.cpp
Result<Kernel> prepare_dynamic_quantize(Prepare& p);

// FakeQuantize: both halves of a pair as one operator. What the compiler needs of it is in exec/quantize_pair.h.

/// FakeQuantize (plan/lowering/lower.h).
Result<Kernel> prepare_fake_quantize(Prepare& p);

}  // namespace quarkq::exec
