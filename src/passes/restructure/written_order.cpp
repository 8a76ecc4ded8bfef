// SPDX-License-Identifier: MIT
// A bare copy of the graph in which nodes and values are numbers gets the Q/DQ nodes of the plan and is sorted.
#include "passes/restructure/written_order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "ir/topo.h"
#include "passes/insert/names.h"

namespace quarkq::passes {
namespace {

using Key = size_t;  ///< a value of the written model: those of the graph by id, then new ones

/// One node of the written model. `waits_for`: values that only nested graphs read.
struct Item {
  std::vector<Key> inputs, outputs, waits_for;
};

class WrittenModel {
 public:
  WrittenModel(const ir::Graph& graph, const plan::QuantPlan& plan) : graph_(graph), plan_(plan) {
    consumers_.resize(graph.value_count());
    for (size_t i = 0; i < graph.value_count(); ++i) read_as_.push_back(i);
    add_given_values();
    add_qdq_items();
    std::vector<Item> floats;
    for (const ir::NodeId id : graph.order()) floats.push_back(float_item(graph.node(id)));
    items_.insert(items_.begin(), std::make_move_iterator(floats.begin()), std::make_move_iterator(floats.end()));
    for (size_t i = 0; i < items_.size(); ++i) {
      for (const Key key : items_[i].inputs) consumers_[key].push_back(i);
    }
  }

  /// Places in the order of spec 02 B.1; nodes that wait for something from outside are missing.
  std::vector<size_t> reference_order() {
    std::vector<size_t> missing, order;
    for (size_t i = 0; i < items_.size(); ++i) {
      missing.push_back(items_[i].inputs.size());
      if (missing[i] == 0) order.push_back(i);
    }
    auto release = [&](Key key) {
      for (const size_t reader : consumers_[key]) {
        if (--missing[reader] == 0) order.push_back(reader);
      }
    };
    std::stable_sort(given_.begin(), given_.end(), [](const Given& a, const Given& b) { return a.name < b.name; });
    for (const Given& given : given_) release(given.key);
    for (size_t next = 0; next < order.size(); ++next) {
      for (const Key output : items_[order[next]].outputs) release(output);
    }
    return order;
  }

  bool is_valid(const std::vector<size_t>& order) const {
    if (order.size() != items_.size()) return false;
    const std::vector<size_t> producers = producer_of();
    std::vector<bool> done(items_.size(), false);
    for (const size_t place : order) {
      for (const size_t needed : needs(place, producers)) {
        if (!done[needed]) return false;
      }
      done[place] = true;
    }
    return true;
  }

  /// What ir::execution_order() makes of a list that is no valid order: always the first node that is ready.
  std::vector<size_t> first_ready_order() const {
    const std::vector<size_t> producers = producer_of();
    std::vector<size_t> missing(items_.size(), 0), order;
    std::vector<std::vector<size_t>> readers(items_.size());
    for (size_t i = 0; i < items_.size(); ++i) {
      for (const size_t needed : needs(i, producers)) {
        ++missing[i];
        readers[needed].push_back(i);
      }
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (missing[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (const size_t reader : readers[order.back()]) {
        if (--missing[reader] == 0) ready.push(reader);
      }
    }
    return order;
  }

 private:
  struct Given {
    std::string name;
    Key key;
  };
  static constexpr size_t kNoItem = static_cast<size_t>(-1);

  static Key key(ir::ValueId value) { return static_cast<Key>(value.index); }
  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }

  Key new_value() {
    consumers_.emplace_back();
    return consumers_.size() - 1;
  }
  Key new_given(const std::string& name) {
    const Key made = new_value();
    given_.push_back({name, made});
    return made;
  }

  void add_given_values() {
    for (const ir::ValueId input : graph_.inputs()) given_.push_back({name_of(input), key(input)});
    for (const ir::ValueId initializer : graph_.initializers()) {
      if (!graph_.value(initializer).is_input) given_.push_back({name_of(initializer), key(initializer)});
    }
  }

  struct Parameters {
    Key scale = 0, zero_point = 0;
  };
  Parameters new_parameters(const std::string& name) {
    return {new_given(scale_name(name)), new_given(zero_point_name(name))};
  }

  /// In the order in which emit_qdq makes nodes: own parameters, shared ones, int32 biases.
  void add_qdq_items() {
    for (const plan::QuantSlot& slot : plan_.slots()) {
      if (!slot.provider.valid() && slot.role != plan::Role::kBias) add_slot(slot);
    }
    for (const plan::QuantSlot& slot : plan_.slots()) {
      if (slot.provider.valid()) add_slot(slot);
    }
    for (const plan::QuantSlot& slot : plan_.slots()) {
      if (slot.role != plan::Role::kBias) continue;
      const std::string stored = stored_name(name_of(slot.value));
      const Key codes = new_given(stored), value = key(slot.value);
      const Parameters parameters = new_parameters(stored);
      read_as_[value] = new_value();
      items_.push_back({{codes, parameters.scale, parameters.zero_point}, {read_as_[value]}, {}});
    }
  }

  void add_slot(const plan::QuantSlot& slot) {
    const plan::Stage& stage = slot.stages[0];
    if (stage.kind != plan::StageKind::kBlock && !parameters_.contains(stage.params)) {
      parameters_[stage.params] = new_parameters(name_of(slot.value));
    }
    if (slot.state == plan::SlotState::kAbsorbed) return;
    const Key value = key(slot.value);
    if (plan_.dedicated_pairs && !graph_.value(slot.value).is_initializer() &&
        plan_.dedicated_uses[value].size() >= 2) {
      for (const ir::Use& use : plan_.dedicated_uses[value]) {
        const Key output = new_value();
        own_reads_[{use.node, use.input}] = output;
        add_stage(slot, output);
      }
      return;
    }
    read_as_[value] = new_value();
    add_stage(slot, read_as_[value]);
  }

  void add_stage(const plan::QuantSlot& slot, Key output) {
    const plan::Stage& stage = slot.stages[0];
    if (stage.kind == plan::StageKind::kBlock) {
      items_.push_back({{key(slot.value)}, {output}, {}});
      return;
    }
    const Parameters& parameters = parameters_.at(stage.params);
    Key codes = 0;
    if (stage.kind == plan::StageKind::kStored) {
      codes = new_given(stored_name(name_of(slot.value)));
    } else {
      codes = new_value();
      items_.push_back({{key(slot.value), parameters.scale, parameters.zero_point}, {codes}, {}});
    }
    items_.push_back({{codes, parameters.scale, parameters.zero_point}, {output}, {}});
  }

  Item float_item(const ir::Node& node) const {
    Item item;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const auto own = own_reads_.find({node.id, static_cast<int32_t>(i)});
      item.inputs.push_back(own != own_reads_.end() ? own->second : read_as_[key(node.inputs[i])]);
    }
    for (const ir::ValueId output : node.outputs) {
      if (output.valid()) item.outputs.push_back(key(output));
    }
    // Nested graphs go on reading the float value, except that of a graph output, whose name the DQ takes over.
    for (const ir::Capture& capture : node.captures) {
      const bool is_output = graph_.value(capture.outer).is_output;
      item.waits_for.push_back(is_output ? read_as_[key(capture.outer)] : key(capture.outer));
    }
    return item;
  }

  std::vector<size_t> producer_of() const {
    std::vector<size_t> producers(consumers_.size(), kNoItem);
    for (size_t i = 0; i < items_.size(); ++i) {
      for (const Key output : items_[i].outputs) producers[output] = i;
    }
    return producers;
  }

  std::vector<size_t> needs(size_t place, const std::vector<size_t>& producers) const {
    std::vector<size_t> needed;
    for (const std::vector<Key>* keys : {&items_[place].inputs, &items_[place].waits_for}) {
      for (const Key key : *keys) {
        if (producers[key] != kNoItem) needed.push_back(producers[key]);
      }
    }
    return needed;
  }

  const ir::Graph& graph_;
  const plan::QuantPlan& plan_;
  std::vector<Item> items_;  ///< the graph's nodes in list order, then Q and DQ as they are made
  std::vector<std::vector<size_t>> consumers_;
  std::vector<Key> read_as_;  ///< what main-graph readers of a value read
  std::map<std::pair<ir::NodeId, int32_t>, Key> own_reads_;
  std::vector<Given> given_;
  std::map<plan::ParamId, Parameters> parameters_;
};

}  // namespace

Result<std::vector<ir::NodeId>> written_order(const ir::Graph& graph, const plan::QuantPlan& plan) {
  WrittenModel model(graph, plan);
  std::vector<size_t> order = model.reference_order();
  if (!model.is_valid(order)) {
    QQ_RETURN_IF_ERROR(ir::execution_order(graph).status());  // names a cycle
    order = model.first_ready_order();
  }
  std::vector<ir::NodeId> nodes;
  for (const size_t place : order) {
    if (place < graph.order().size()) nodes.push_back(graph.order()[place]);
  }
  return nodes;
}

}  // namespace quarkq::passes
