// SPDX-License-Identifier: MIT
// Guard: the extremes of a few samples are not those of the data. The next sample lies outside of the range of n
// samples with a probability of 1 / (n + 1) for each tensor, so that in a network of 40 tensors every other input is
// clipped somewhere after a calibration with 8. Measured ranges get headroom there.
#pragma once

#include "calib/value_statistics.h"
#include "pass/context.h"

namespace quarkq::planning {

/// `range`, found from `seen` by a method that takes extremes, widened by as much as the extremes of 32 samples are
/// expected to lie outside of those seen: per-sample extremes are taken for Gumbel distributed. At most 1.5 times as
/// wide; with 16-bit activations always twice, which is one of their bits. Both stay within what the producer of `value`
/// can give (Clip, Sigmoid, Tanh and the like, also through operators that move values). Unchanged with 32 samples or
/// more, for inputs of the model, and where guards are off.
numeric::Range expected_range(const pass::PlanContext& context, ir::ValueId value, const calib::ValueStatistics& seen,
                              numeric::Range range);

/// `range` with both ends farther from 0 by quarkq.range_headroom, within the same bounds. As it is where the setting
/// is absent, and for formats that are not integers.
numeric::Range with_headroom(const pass::PlanContext& context, ir::ValueId value, const numeric::QuantSpec& spec,
                             numeric::Range range);

}  // namespace quarkq::planning
