// SPDX-License-Identifier: MIT
// Transposes move towards the outputs if they become fewer or smaller, and disappear where two meet
// (ref:rewrites#transposes). This file decides; move_rules.h contains the moves.
#include <map>
#include <set>

#include "rewrite/optimize/move_rules.h"
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {
namespace {

constexpr int64_t kSizeOfUnknown = 5;

/// Returns the cost of moving a tensor: its dimensions that are not 1.
int64_t size_of(const Workspace& work, ir::ValueId value) {
  const ir::ValueType& type = work.graph().value(value).type;
  if (!type.has_shape) return kSizeOfUnknown;
  int64_t size = 0;
  for (const ir::Dim& dim : type.dims) size += dim.size != 1 ? 1 : 0;
  return size;
}

class TransposeMover {
 public:
  explicit TransposeMover(Workspace& work) : work_(work), order_(work.visiting_order()) {}

  bool run() {
    mark_leading();
    bool changed = false;
    for (const ir::NodeId id : order_) {
      // Links may have changed: the current graph counts.
      for (size_t i = 0; work_.graph().is_alive(id) && i < work_.node(id).inputs.size(); ++i) {
        if (!try_input(id, i)) continue;
        changed = true;
        break;
      }
    }
    return changed;
  }

 private:
  bool leads(ir::ValueId value) const {
    return static_cast<size_t>(value.index) < leading_.size() && leading_[static_cast<size_t>(value.index)];
  }

  /// Is a Transpose after `value` on its way to another one? Where paths part, only one that it cancels with counts.
  bool gains(ir::ValueId value, const Permutation& back) const {
    if (!value.valid() || !leads(value)) return false;
    if (work_.only_consumer(value).valid()) return true;
    const auto found = cancelling_.find(value);
    return found != cancelling_.end() && found->second.contains(back);
  }

  /// Marks the values from which a moving Transpose would come to another one, and with which permutations.
  void mark_leading() {
    leading_.assign(work_.graph().value_count(), false);
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const ir::Node& node = work_.node(*id);
      const MoveRule* rule = move_rule(node);
      if (rule == nullptr) continue;
      bool any = node.is("Transpose");
      std::set<Permutation> permutations;
      if (const Permutation* own = permutation_of(&node)) permutations.insert(*own);
      for (const ir::ValueId output : node.outputs) {
        if (!rule->to_outputs || !output.valid() || !leads(output)) continue;
        any = true;
        const auto found = cancelling_.find(output);
        if (found == cancelling_.end() || !keeps_order(*rule, node)) continue;
        permutations.insert(found->second.begin(), found->second.end());
      }
      if (any) mark_inputs(*rule, node, permutations);
    }
  }

  void mark_inputs(const MoveRule& rule, const ir::Node& node, const std::set<Permutation>& permutations) {
    for (const size_t i : movable_inputs(rule, node)) {
      const ir::ValueId input = node.inputs[i];
      leading_[static_cast<size_t>(input.index)] = true;
      if (permutations.empty() || !work_.consumers(input).complete) continue;
      cancelling_[input].insert(permutations.begin(), permutations.end());
    }
  }

  /// Would the Transpose go if one of its readers no longer read it?
  bool may_vanish(const ir::Node& transpose) const {
    const Workspace::Consumers readers = work_.consumers(transpose.outputs[0]);
    if (!readers.complete) return false;
    for (const ir::NodeId id : readers.nodes) {
      if (move_rule(work_.node(id)) == nullptr) return false;
    }
    return true;
  }

  int64_t input_cost(ir::ValueId input, const Permutation& forth) const {
    if (work_.constant(input) != nullptr) return 0;
    const ir::Node* maker = work_.graph().producer(input);
    const Permutation* found = permutation_of(maker);
    if (found == nullptr) return size_of(work_, input);
    return *found == forth && may_vanish(*maker) ? -size_of(work_, input) : 0;
  }

  bool pays(const ir::Node& node, const MoveRule& rule, const Permutation& forth) const {
    int64_t cost = 0;
    for (const size_t i : movable_inputs(rule, node)) cost += input_cost(node.inputs[i], forth);
    if (cost >= 0 || !rule.to_outputs) return cost < 0;
    const Permutation back = inverse(forth);
    int64_t largest = 0;
    for (const ir::ValueId output : node.outputs) {
      if (gains(output, back)) return true;
      if (output.valid()) largest = std::max(largest, size_of(work_, output));
    }
    return cost + largest < 0;
  }

  bool try_input(ir::NodeId id, size_t index) {
    const ir::Node& node = work_.node(id);
    if (!node.inputs[index].valid()) return false;
    const ir::Node* maker = work_.graph().producer(node.inputs[index]);
    const Permutation* forth = permutation_of(maker);
    const MoveRule* rule = move_rule(node);
    if (forth == nullptr || rule == nullptr || (rule->reads == Reads::kFirst && index > 0)) return false;
    if (!node.is("Transpose") && !pays(node, *rule, *forth)) return false;
    const Move move{work_, id, maker->id, *forth, inverse(*forth)};
    return fits_inputs(*rule, move) && rule->push(move);
  }

  Workspace& work_;
  std::vector<ir::NodeId> order_;
  std::vector<bool> leading_;                                ///< Indexed by value id.
  std::map<ir::ValueId, std::set<Permutation>> cancelling_;  ///< Transposes that a value comes to unpermuted
};

/// Readers of the output of `node` read `source` instead; `node` is removed.
void bypass(Workspace& work, ir::NodeId node, ir::ValueId source) {
  const ir::ValueId output = work.node(node).outputs[0];
  if (work.consumers(output).complete) {
    work.replace_uses(output, source);
    return work.remove_node(node);
  }
  const ir::Node* maker = work.graph().producer(source);
  if (maker == nullptr || !work.consumers(source).complete) {
    const ir::ValueId copy = work.add_node("Identity", {source}, {}, node, work.graph().value(output).type);
    work.take_output(work.graph().producer(copy)->id, 0, output);
    return work.remove_node(node);
  }
  work.replace_uses(source, output);
  size_t index = 0;
  while (maker->outputs[index] != source) ++index;
  work.take_output(maker->id, index, output);
  work.remove_node(node);
}

}  // namespace

bool become_transpose(const Move& move, const Permutation& permutation) {
  Workspace& work = move.work;
  const ir::ValueId source = work.node(move.transpose).input(0);
  const ir::ValueId between = work.node(move.transpose).outputs[0];
  if (is_identity(permutation)) {
    bypass(work, move.node, source);
  } else if (move.reader().is("Transpose")) {
    work.set_attribute(move.node, "perm", permutation);
    work.add_origins(move.node, move.transpose);
    work.set_input(move.node, 0, source);
  } else {
    const ir::ValueId output = move.reader().outputs[0];
    const ir::ValueId made = work.add_node("Transpose", {source}, {{"perm", permutation, {}, {}}}, move.node,
                                           work.graph().value(output).type);
    work.take_output(work.graph().producer(made)->id, 0, output);
    work.remove_node(move.node);
  }
  if (work.graph().is_alive(between) && work.graph().use_count(between) == 0) work.remove_node(move.transpose);
  return true;
}

bool push_transpose(const Move& move) {
  const Permutation* own = permutation_of(&move.reader());
  if (own == nullptr || own->size() != move.forth.size()) return false;
  return become_transpose(move, compose(move.forth, *own));
}

Result<bool> move_transposes(Workspace& work) { return TransposeMover(work).run(); }

}  // namespace quarkq::rewrite::basic
