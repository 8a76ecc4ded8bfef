// SPDX-License-Identifier: MIT
// Private to the quantized family: prepare functions that live in files of their own.
#pragma once

#include "exec/op_def.h"

namespace quarkq::exec {

// quantized_block_formats.cpp
Result<Kernel> prepare_bfp(Prepare& p);
Result<Kernel> prepare_mx(Prepare& p);
// quantized_conv.cpp
Result<Kernel> prepare_conv_integer(Prepare& p);
Result<Kernel> prepare_qlinear_conv(Prepare& p);
// quantized.cpp
Result<Kernel> prepare_qlinear_add(Prepare& p);
Result<Kernel> prepare_qlinear_mul(Prepare& p);
// quantized_block_formats.cpp
Result<Kernel> prepare_extended_instance_norm(Prepare& p);
// quantized_matmul.cpp
Result<Kernel> prepare_matmul_integer(Prepare& p);
Result<Kernel> prepare_qlinear_matmul(Prepare& p);
Result<Kernel> prepare_qgemm(Prepare& p);
// quantized_nbits.cpp
Result<Kernel> prepare_matmul_nbits(Prepare& p);

}  // namespace quarkq::exec
