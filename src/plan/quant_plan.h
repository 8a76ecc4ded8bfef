// SPDX-License-Identifier: MIT
// QuantPlan: which tensors are quantized and how, as a side table over one graph. A plan is a plain value: copy it,
// change it, drop it. Q/DQ nodes exist only in files and from phase `write` on.
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

/// What the stored integers of a constant are clipped to.
enum class ClipPolicy : uint8_t {
  kByTarget,  ///< the target's limits (ref:scales#stored-weights): stored_limits()
  kFullType,  ///< the whole type: parameters that the user gave (ref:settings#tensor-overrides), mixed precision
              ///< (ref:mixed-precision#promotion)
};

enum class Role { kActivation, kWeight, kBias };

/// State of a slot. kAbsorbed: the Q/DQ of its neighbour serves it (the value between a Conv and its Relu).
enum class SlotState { kPlanned, kAbsorbed, kCalibrated };

/// Where the scale of an int32 bias comes from: scale(input) * scale(weight) * beta (ref:marking#biases).
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
  Stage stage;  ///< its parameters are made from the range of `value` when it is written
};

/// One marked value.
struct QuantSlot {
  ir::ValueId value;
  Role role = Role::kActivation;
  SlotState state = SlotState::kPlanned;
  ir::ValueId provider;  ///< valid: marked "same parameters as" that value
  Stage stage;
  std::optional<numeric::Range> range;  ///< activations: what calibration found, adjusted (ref:scales#range-sources)
  bool always_measured = false;         ///< even when its own stage needs no range: another format may
  bool seen_not_finite = false;         ///< activations: calibration saw NaN or infinities, which the range leaves out
  std::optional<BiasSource> bias;       ///< kBias only
  ClipPolicy clip = ClipPolicy::kByTarget;
  std::optional<ir::Tensor> codes;  ///< constants: what will be stored in their place, in their shape
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

  /// The slot of `value`, made at the end of the order when there is none.
  QuantSlot& add(ir::ValueId value);
  /// The place for new parameters of `slot` alone: its id when it is the only one with it, else a new one.
  ParamId own_params(const QuantSlot& slot);
  /// Forgets the slot; the others keep their order. Takes time in proportion to the number of slots.
  void remove(ir::ValueId value);
  /// Removes all slots for which `is_dropped(slot)` holds, in the time of one removal.
  template <typename Predicate>
  void remove_if(Predicate is_dropped);

  /// True when the parameters of `slot` are those of the value that it was marked to share them with.
  bool shares(const QuantSlot& slot) const {
    const QuantSlot* provider = find(slot.provider);
    return provider != nullptr && provider->stage.params == slot.stage.params;
  }

  /// Each of several readers of `value` has a pair of its own.
  bool has_dedicated_pairs(ir::ValueId value) const {
    return dedicated_pairs && dedicated_uses[static_cast<size_t>(value.index)].size() >= 2;
  }

  /// Slots in marking order, which is the creation order of nodes and initializers (ref:writing#pairs).
  const std::vector<QuantSlot>& slots() const { return slots_; }
  std::vector<QuantSlot>& slots() { return slots_; }

  ParamPool params;
  QdqOperators operators;  ///< what its stages are written as
  /// Relu and Clip nodes whose clamp the quantized range of their output does: their producers take over their outputs.
  std::vector<ir::NodeId> folded;
  std::vector<ExtraStage> extras;  ///< in node order
  /// Readers per value, when every reader gets a pair of its own (DedicatedQDQPair): node and input, in handling order.
  std::vector<std::vector<ir::Use>> dedicated_uses;
  /// Nodes that read every value itself, although it may have a pair for its other readers.
  std::set<ir::NodeId> float_readers;
  bool dedicated_pairs = false;
  bool pair_per_input = false;  ///< of a node that reads one value twice; false: one pair for both
  /// Reads that get the float value: the pair that served this one read is not written (RemoveQDQBetweenOps).
  std::vector<ir::Use> raw_reads;
  /// Constants without a slot that are written with other values than the model's: corrected float biases.
  std::map<ir::ValueId, ir::Tensor> replaced_constants;
  std::vector<Decision> decisions;  ///< about values with and without a slot, in the order they were made

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

/// One line per slot, in order: for goldens and reports.
std::string text(const QuantPlan& plan, const ir::Graph& graph);

}  // namespace quarkq::plan
