// SPDX-License-Identifier: MIT
// Prepare functions of the quant_dequant family that other files call: functions in separate files, and functions used
// by src/ort_ops.
#pragma once

#include "exec/op_def.h"
#include "exec/quantize_pair.h"

namespace quarkq::exec {

// quant_dequant.cpp
Result<Kernel> prepare_quantize(Prepare& p);
Result<Kernel> prepare_dequantize(Prepare& p);
// quantized.cpp
Result<Kernel> prepare_dynamic_quantize(Prepare& p);

/// FakeQuantize (plan/lowering/lower.h).
Result<Kernel> prepare_fake_quantize(Prepare& p);

}  // namespace quarkq::exec
