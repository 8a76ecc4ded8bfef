// SPDX-License-Identifier: MIT
// Private to the shape family: prepare functions that live in files of their own, listed in shape.cpp.
#pragma once

#include "exec/kernels/shared/support.h"
#include "exec/kernels/shared/tensor_copy.h"

namespace quarkq::exec {

// shape_move.cpp
Result<Kernel> prepare_transpose(Prepare& p);
Result<Kernel> prepare_concat(Prepare& p);
Result<Kernel> prepare_split(Prepare& p);
Result<Kernel> prepare_slice(Prepare& p);
Result<Kernel> prepare_tile(Prepare& p);
Result<Kernel> prepare_expand(Prepare& p);
// shape.cpp
Result<Kernel> prepare_pad(Prepare& p);
// shape_packed.cpp
/// Returns the kernel of `prepare` for elements below 8 bits, which it moves as bytes. REQUIRES: input 0 is packed, and
/// the node has one output.
Result<Kernel> move_packed(Prepare& p, Result<Kernel> (*prepare)(Prepare&));
// shape_make.cpp
Result<Kernel> prepare_constant(Prepare& p);
Result<Kernel> prepare_constant_of_shape(Prepare& p);
Result<Kernel> prepare_range(Prepare& p);
Result<Kernel> prepare_eye_like(Prepare& p);
Result<Kernel> prepare_trilu(Prepare& p);

/// A kernel that runs one copy from input 0 to output 0.
inline Kernel copy_kernel(CopyPlan plan) {
  return [plan = std::move(plan)](const Run& run) {
    run_copy(plan, run.inputs[0], run.outputs[0]);
    return Status();
  };
}

}  // namespace quarkq::exec
