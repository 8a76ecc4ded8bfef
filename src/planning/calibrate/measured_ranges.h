// SPDX-License-Identifier: MIT
// Which measured tensor each tensor's range is read from (ref:scales#range-sources).
#pragma once

#include <optional>
#include <vector>

#include "calib/value_statistics.h"
#include "ir/graph.h"
#include "numeric/quant_params.h"
#include "pass/context.h"

namespace quarkq::planning {

struct RangeSources {
  std::vector<ir::ValueId> source;  ///< by value id: the value whose measured range holds
  std::vector<bool> unit;           ///< by value id: the range is [0, 1] (the output of a Softmax)
};

/// Walks the nodes in order: a quantized Relu or Clip that alone reads its input passes its output's range to it, a
/// quantized Softmax has [0, 1] after it.
RangeSources find_range_sources(const pass::PlanContext& context);

// Which activations calibration must observe.

/// Slots that need a range of their own: activations with parameters of their own, in formats with a scale.
std::vector<plan::QuantSlot*> slots_to_measure(plan::QuantPlan& plan);

/// Ascending, without repetition. Only tensors whose range is read; all that the reference calibrates
/// (ref:calibration#measured-tensors) in compat mode, where one tensor's failure moves all, and when the ranges or
/// histograms are written to files.
std::vector<ir::ValueId> tensors_to_measure(const pass::PlanContext& context, const RangeSources& sources);

/// Every float value that a node of the op set reads or writes and that is no initializer
/// (ref:calibration#measured-tensors).
std::vector<ir::ValueId> calibrated_tensors(const pass::PlanContext& context);

// Where the operators that read a tensor saturate: codes for values beyond are wasted.

/// By value id, for 8-bit activations: the values that change what the readers give by more than half a step of 1/256.
/// Nothing for a tensor that is an output of the graph, or that anything reads but Sigmoid, HardSigmoid and Tanh,
/// directly or through operators that move values.
std::vector<std::optional<numeric::Range>> ranges_before_saturation(const ir::Graph& graph);

// Guard: the extremes of a few samples are not those of the data. The next sample lies outside of the range of n
// samples with a probability of 1 / (n + 1) for each tensor, so that in a network of 40 tensors every other input is
// clipped somewhere after a calibration with 8. Measured ranges get headroom there.

/// `range`, found from `seen` by a method that takes extremes, widened by as much as the extremes of 32 samples are
/// expected to lie outside of those seen: per-sample extremes are taken for Gumbel distributed. At most 1.5 times as
/// wide; with 16-bit activations always twice, which is one of their bits. Both stay within what the producer of
/// `value` can give (Clip, Sigmoid, Tanh and the like, also through operators that move values). Unchanged with 32
/// samples or more, for inputs of the model, and where guards are off.
numeric::Range expected_range(const pass::PlanContext& context, ir::ValueId value, const calib::ValueStatistics& seen,
                              numeric::Range range);

/// `range` with both ends farther from 0 by quarkq.range_headroom, within the same bounds. As it is where the setting
/// is absent, and for formats that are not integers.
numeric::Range with_headroom(const pass::PlanContext& context, ir::ValueId value, const numeric::QuantSpec& spec,
                             numeric::Range range);

}  // namespace quarkq::planning
