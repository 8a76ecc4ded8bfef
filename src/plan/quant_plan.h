// SPDX-License-Identifier: MIT
// QuantPlan: which tensors are quantized and how, as a side table over one graph. A plan is a plain value that can be
// copied, changed and dropped. Q/DQ nodes exist only in files and in lowered graphs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "numeric/quant_params.h"
#include "plan/decisions.h"
#include "plan/stage.h"

namespace quarkq::plan {

/// The limits to which stored integers of a constant are clipped.
enum class ClipPolicy : uint8_t {
  kByTarget,  ///< The target's limits (ref:scales#stored-weights): stored_limits().
  kFullType,  ///< The whole type: for parameters given by the user (ref:settings#tensor-overrides) and for mixed
              ///< precision (ref:mixed-precision#promotion).
};

enum class Role { kActivation, kWeight, kBias };

/// State of a slot. kAbsorbed: the Q/DQ of a neighbour covers it (the value between a Conv and its Relu).
enum class SlotState { kPlanned, kAbsorbed, kCalibrated };

/// Source of the scale of an int32 bias: scale(input) * scale(weight) * beta (ref:marking#biases).
struct BiasSource {
  ir::NodeId node;
  ir::ValueId input, weight;
  float beta = 1.0f;
};

/// A second stage between the stage of `value` and one node that computes in another format
/// (ref:marking#second-stages): before input `index` of `node`, or after its output `index`.
struct ExtraStage {
  ir::NodeId node;
  int32_t index = 0;
  bool is_after = false;
  ir::ValueId value;
  Stage stage;  ///< Its parameters are computed from the range of `value` when it is written.
};

/// One marked value.
struct QuantSlot {
  ir::ValueId value;
  Role role = Role::kActivation;
  SlotState state = SlotState::kPlanned;
  ir::ValueId provider;  ///< If valid, the value shares the parameters of this value.
  Stage stage;
  std::optional<numeric::Range> range;  ///< Activations: the calibrated range after adjustments
                                        ///< (ref:scales#range-sources).
  bool always_measured = false;         ///< Measure the range even if the own stage does not need it, because another
                                        ///< format may.
  bool seen_not_finite = false;         ///< Activations: calibration saw NaN or infinities, which the range excludes.
  std::optional<BiasSource> bias;       ///< Only for kBias.
  ClipPolicy clip = ClipPolicy::kByTarget;
  std::optional<ir::Tensor> codes;  ///< Constants: the stored replacement, in the same shape.
};

class QuantPlan {
 public:
  QuantPlan() = default;
  explicit QuantPlan(size_t value_count) : by_value_(value_count, -1) {}

  bool has(ir::ValueId value) const { return index_of(value) >= 0; }
  /// REQUIRES: has(value).
  QuantSlot& slot(ir::ValueId value) { return slots_[static_cast<size_t>(index_of(value))]; }
  const QuantSlot& slot(ir::ValueId value) const { return slots_[static_cast<size_t>(index_of(value))]; }
  QuantSlot* find(ir::ValueId value) { return has(value) ? &slot(value) : nullptr; }
  const QuantSlot* find(ir::ValueId value) const { return has(value) ? &slot(value) : nullptr; }

  /// Returns the slot of `value`. Appends one if there is none.
  QuantSlot& add(ir::ValueId value);
  /// Returns an id for new parameters of `slot` alone: its current id if no other slot uses it, otherwise a new id.
  ParamId own_params(const QuantSlot& slot);
  /// Removes the slot; the others keep their order. Linear in the number of slots.
  void remove(ir::ValueId value);
  /// Removes all slots for which `is_dropped(slot)` returns true, in the time of one removal.
  template <typename Predicate>
  void remove_if(Predicate is_dropped);

  /// Returns true if `slot` has the same parameters as the value that it was marked to share them with.
  bool shares(const QuantSlot& slot) const {
    const QuantSlot* provider = find(slot.provider);
    return provider != nullptr && provider->stage.params == slot.stage.params;
  }

  /// Returns whether each of several readers of `value` has its own pair.
  bool has_dedicated_pairs(ir::ValueId value) const {
    return dedicated_pairs && dedicated_uses[static_cast<size_t>(value.index)].size() >= 2;
  }

  /// Returns the slots in marking order, which is the creation order of nodes and initializers (ref:writing#pairs).
  const std::vector<QuantSlot>& slots() const { return slots_; }
  std::vector<QuantSlot>& slots() { return slots_; }

  ParamPool params;
  QdqOperators operators;  ///< Operators in which the stages are written.
  /// Relu and Clip nodes whose clamp is covered by the quantized range of their output. Their producers take over their
  /// outputs.
  std::vector<ir::NodeId> folded;
  std::vector<ExtraStage> extras;  ///< In node order.
  /// Readers of each value if every reader gets its own pair (DedicatedQDQPair): node and input, in processing order.
  std::vector<std::vector<ir::Use>> dedicated_uses;
  /// Nodes that read all values in float, even if a value has a pair for its other readers.
  std::set<ir::NodeId> float_readers;
  bool dedicated_pairs = false;
  bool pair_per_input = false;  ///< For nodes that read one value twice; false: one pair for both inputs.
  /// Reads that get the float value: the pair of this read is not written (RemoveQDQBetweenOps).
  std::vector<ir::Use> raw_reads;
  /// Constants without a slot that are written with new values: corrected float biases.
  std::map<ir::ValueId, ir::Tensor> replaced_constants;
  std::vector<Decision> decisions;  ///< About values with and without a slot, in the order of the decisions.

 private:
  int index_of(ir::ValueId value) const {
    return value.valid() && static_cast<size_t>(value.index) < by_value_.size()
               ? by_value_[static_cast<size_t>(value.index)]
               : -1;
  }
  std::vector<QuantSlot> slots_;
  std::vector<int> by_value_;
};

template <typename Predicate>
void QuantPlan::remove_if(Predicate is_dropped) {
  std::erase_if(slots_, [&](const QuantSlot& slot) {
    const bool dropped = is_dropped(slot);
    if (dropped) by_value_[static_cast<size_t>(slot.value.index)] = -1;
    return dropped;
  });
  for (size_t i = 0; i < slots_.size(); ++i)
    by_value_[static_cast<size_t>(slots_[i].value.index)] = static_cast<int>(i);
}

/// Returns one line per slot, in order: for goldens and reports.
std::string text(const QuantPlan& plan, const ir::Graph& graph);

}  // namespace quarkq::plan
