// SPDX-License-Identifier: MIT
// The quant_dequant family's prepare functions that others name: those of files of their own, and what src/ort_ops
// takes.
#pragma once

#include "exec/op_def.h"

namespace quarkq::exec {

// quant_dequant.cpp
Result<Kernel> prepare_quantize(Prepare& p);
Result<Kernel> prepare_dequantize(Prepare& p);
// quant_dequant_dynamic.cpp
Result<Kernel> prepare_dynamic_quantize(Prepare& p);

}  // namespace quarkq::exec
