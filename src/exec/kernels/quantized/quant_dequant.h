// SPDX-License-Identifier: MIT
// Private to the quant_dequant family: prepare functions that live in files of their own.
#pragma once

#include "exec/op_def.h"

namespace quarkq::exec {

// quant_dequant_dynamic.cpp
Result<Kernel> prepare_dynamic_quantize(Prepare& p);

}  // namespace quarkq::exec
