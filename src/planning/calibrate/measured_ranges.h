// SPDX-License-Identifier: MIT
// The source of each tensor's range: which measured tensor it is read from (ref:scales#range-sources).
#pragma once

#include <optional>
#include <vector>

#include "calib/value_statistics.h"
#include "ir/graph.h"
#include "numeric/quant_params.h"
#include "pass/context.h"

namespace quarkq::planning {

struct RangeSources {
  std::vector<ir::ValueId> source;  ///< The value whose measured range applies, by value id.
  std::vector<bool> unit;           ///< Whether the range is [0, 1] (the output of a Softmax), by value id.
};

/// Walks the nodes in order. A quantized Relu or Clip that is the only reader of its input passes the range of its
/// output to it; the output of a quantized Softmax has the range [0, 1].
RangeSources find_range_sources(const pass::PlanContext& context);

/// Returns slots that need their own range: activations with their own parameters, in formats with a scale.
std::vector<plan::QuantSlot*> slots_to_measure(plan::QuantPlan& plan);

/// Returns value ids in ascending order without repetition. Contains only tensors whose range is read. Contains all
/// tensors that the reference calibrates (ref:calibration#measured-tensors) in compat mode, where a failure of one
/// tensor changes all of them, and if ranges or histograms are written to files.
std::vector<ir::ValueId> tensors_to_measure(const pass::PlanContext& context, const RangeSources& sources);

/// Returns every float value that a node of the op set reads or writes and that is not an initializer
/// (ref:calibration#measured-tensors).
std::vector<ir::ValueId> calibrated_tensors(const pass::PlanContext& context);

// Saturation of the operators that read a tensor: codes for values beyond it are wasted.

/// Returns, by value id and for 8-bit activations, the range of values that change the readers' outputs by more than
/// half a step of 1/256. Returns nullopt for graph outputs and for tensors with readers other than Sigmoid, HardSigmoid
/// and Tanh, directly or through operators that move values.
std::vector<std::optional<numeric::Range>> ranges_before_saturation(const ir::Graph& graph);

// Guard: the extremes of a few samples differ from the extremes of the data. The next sample exceeds the range of n
// samples with a probability of 1 / (n + 1) per tensor. In a network of 40 tensors, every other input is therefore
// clipped somewhere after a calibration with 8 samples. Such ranges get headroom.

/// Widens `range`, computed from `seen` by a method that uses extremes, to the extremes expected for 32 samples,
/// assuming Gumbel-distributed extremes per sample. The result is at most 1.5 times as wide. With 16-bit activations it
/// is always twice as wide, which costs one bit. Both stay within the possible outputs of `value`'s producer (Clip,
/// Sigmoid, Tanh and the like, also through operators that move values). Returns `range` unchanged for 32 samples or
/// more, for inputs of the model, and if guards are off.
numeric::Range expected_range(const pass::PlanContext& context, ir::ValueId value, const calib::ValueStatistics& seen,
                              numeric::Range range);

/// Returns `range` with both ends multiplied by quarkq.range_headroom, within the same bounds. Returns it unchanged if
/// the setting is absent, and for formats that are not integers.
numeric::Range with_headroom(const pass::PlanContext& context, ir::ValueId value, const numeric::QuantSpec& spec,
                             numeric::Range range);

}  // namespace quarkq::planning
