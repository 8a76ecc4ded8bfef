// SPDX-License-Identifier: MIT
// Sliding windows of convolutions and pools: attributes of a node resolved into numbers, with every limit checked.
#pragma once

#include <cstdint>

#include "exec/op_def.h"

namespace quarkq::exec {

/// One entry per spatial dimension.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
  std::vector<int64_t> declared_end;  ///< pads_end before ceil_mode; read_window() only
  ir::Shape output;                   ///< spatial sizes of the output
};

/// Reads kernel_shape (or takes `kernel`), strides, dilations, pads, auto_pad and ceil_mode of `p` for an input of
/// these spatial sizes. pads_end grows where ceil_mode reaches past the input, so that windows and output agree.
Result<Window> read_window(const Prepare& p, const ir::Shape& spatial, const std::vector<int64_t>& kernel);

/// The same for a transposed convolution: output_padding and output_shape are read, too.
Result<Window> read_transposed_window(const Prepare& p, const ir::Shape& spatial, const std::vector<int64_t>& kernel);

}  // namespace quarkq::exec
