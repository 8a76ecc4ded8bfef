// SPDX-License-Identifier: MIT
// Private to the pooling family: the rows of an image in the input window of each output position.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/kernels/shared/kernel_shapes.h"

namespace quarkq::exec {

/// The rows of the input window of each output position, flattened over all spatial positions of one image.
struct PoolTaps {
  std::vector<int64_t> offsets;  ///< elements from the image's start
  std::vector<int64_t> begin;    ///< per output position, into offsets; one more at the end
  std::vector<double> factor;    ///< per output position: 1 / number averaged over
};

/// Fails if the table would be larger than any sensible pool needs. With `count_pad` an average counts the padding
/// declared by the node; padding added by ceil_mode never counts.
Result<std::shared_ptr<const PoolTaps>> collect_taps(const Prepare& p, const ir::Shape& spatial, const Window& window,
                                                     int64_t channels, bool count_pad);

/// Images for a pool: rank 3 to 5, with elements where there is an image. Fills [N, C, spatial...].
Status read_pool_image(const Prepare& p, ir::Shape& dims, ir::Shape& spatial);

Result<Kernel> prepare_max_unpool(Prepare& p);  // pool.cpp
// pool_global.cpp
Result<Kernel> prepare_global_average(Prepare& p);
Result<Kernel> prepare_global_max(Prepare& p);
Result<Kernel> prepare_global_norm(Prepare& p);
/// `p` of LpPool and GlobalLpPool.
Result<double> read_pool_power(const Prepare& p);

}  // namespace quarkq::exec
