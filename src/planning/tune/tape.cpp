// SPDX-License-Identifier: MIT
#include "planning/tune/tape.h"

#include <algorithm>
#include <array>

#include "exec/layout.h"
#include "planning/tune/layer_constants.h"
#include "planning/tune/tape_op.h"

namespace quarkq::planning::finetune {

Tape::~Tape() = default;

class Tape::Builder {
 public:
  Builder(Tape& tape, const TapeRegion& region, const ir::Model& model)
      : tape_(tape), region_(region), model_(model), known_(model.graph.value_count()) {}

  Status add_starts(std::span<const ir::Shape> inputs) {
    if (inputs.size() != region_.starts.size()) return unsupported("the number of inputs differs");
    for (size_t i = 0; i < inputs.size(); ++i) {
      TapeValue* const start = add_value();
      start->dims = inputs[i];
      QQ_TRY(start->size, ir::element_count(inputs[i]));
      start->channels_last = region_.channels_last;
      known(region_.starts[i]) = start;
    }
    return Status();
  }

  Status add_nodes(ir::NodeId* failed) {
    for (const ir::NodeId id : region_.nodes) {
      Status status = add_node(model_.graph.node(id));
      if (!status.ok() && failed != nullptr) *failed = id;
      QQ_RETURN_IF_ERROR(std::move(status));
    }
    for (const ir::ValueId end : region_.ends) {
      if (known(end) == nullptr) return unsupported("the value ", model_.graph.value(end).name, " is not computed");
      tape_.ends_.push_back(known(end));
    }
    return Status();
  }

  /// Adds the layer with its activation as one operator.
  Status add_layer(const Unit& unit) {
    const ir::Node& node = model_.graph.node(unit.layers[0]->node);
    TapeNode made{model_, model_.graph, node, {tape_.values_.front().get()}, {}, {add_value()}, unit.channels_last};
    made.layer = unit.layers[0];
    tape_.ends_ = made.outputs;
    return add_step(make_layer_op(made), made.outputs);
  }

  /// Lists after each step the values that no later one reads.
  void find_dead() {
    std::vector<const TapeValue*> kept(tape_.ends_.begin(), tape_.ends_.end());
    for (size_t i = tape_.steps_.size(); i-- > 0;) {
      std::vector<TapeValue*> used = reads_[i];
      used.insert(used.end(), tape_.steps_[i].outputs.begin(), tape_.steps_[i].outputs.end());
      for (TapeValue* const value : used) {
        if (std::find(kept.begin(), kept.end(), value) != kept.end()) continue;
        kept.push_back(value);
        tape_.steps_[i].dead.push_back(value);
      }
    }
  }

 private:
  TapeValue*& known(ir::ValueId id) { return known_[static_cast<size_t>(id.index)]; }

  TapeValue* add_value() {
    tape_.values_.push_back(std::make_unique<TapeValue>());
    return tape_.values_.back().get();
  }

  Status add_step(TapeOpResult op, const std::vector<TapeValue*>& outputs) {
    Step step;
    QQ_TRY(step.op, std::move(op));
    step.outputs = outputs;
    tape_.steps_.push_back(std::move(step));
    reads_.resize(tape_.steps_.size());
    return Status();
  }

  /// Returns `value` in the wanted layout. A conversion is added once for all readers.
  Result<TapeValue*> in_layout(TapeValue* value, bool channels_last) {
    if (value->dims.size() < 3 || value->channels_last == channels_last) return value;
    if (region_.one_layout) return unsupported("it needs another layout");
    for (const auto& [from, to] : converted_)
      if (from == value) return to;
    TapeValue* const made = add_value();
    made->dims = value->dims;
    made->size = value->size;
    made->channels_last = channels_last;
    made->needs_gradient = value->needs_gradient;
    QQ_RETURN_IF_ERROR(add_step(make_layout_op(*value, *made), {made}));
    reads_.back() = {value};
    converted_.emplace_back(value, made);
    return made;
  }

  Status read_inputs(TapeNode& given, const TapeOpRow& row) {
    const ir::Node& node = given.node;
    bool is_first = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::ValueId id = node.inputs[i];
      TapeValue* value = id.valid() ? known(id) : nullptr;
      std::optional<ir::Tensor>& constant = given.constants.emplace_back();
      if (value != nullptr) {
        const bool is_plain_any = row.layout == TapeLayout::kAny && is_first;
        if (row.layout == TapeLayout::kChannelsLast || row.layout == TapeLayout::kPlain)
          given.channels_last = row.layout == TapeLayout::kChannelsLast;
        if (is_plain_any) given.channels_last = value->channels_last;
        if (region_.one_layout) given.channels_last = region_.channels_last;
        is_first = false;
        QQ_TRY(value, in_layout(value, given.channels_last));
      } else if (id.valid() && !(given.layer != nullptr && i > 0)) {
        QQ_TRY(const ConstantChain chain, ConstantChain::to(model_, id));
        QQ_TRY(constant, chain.run());
      }
      given.inputs.push_back(value);
    }
    return Status();
  }

  Status add_node(const ir::Node& node) {
    const ir::Graph& graph = model_.graph;
    const TapeOpRow* const row = find_tape_row(graph, node);
    if (row == nullptr) return unsupported(graph.label(node.id), ": has no backward function");
    TapeNode given{model_, graph, node, {}, {}, {}};
    for (size_t i = 0; i < region_.layers.size(); ++i) {
      if (region_.layers[i]->node != node.id) continue;
      given.layer = region_.layers[i];
      given.layer_index = i;
    }
    QQ_RETURN_IF_ERROR(read_inputs(given, *row).context(graph.label(node.id)));
    given.place = tape_.steps_.size();
    given.has_fixed_layers = !region_.one_layout;
    const bool is_end = std::find(region_.ends.begin(), region_.ends.end(), node.output(0)) != region_.ends.end();
    given.only_clips = is_end && !region_.rounds_end;
    for (const ir::ValueId output : node.outputs) {
      given.outputs.push_back(add_value());
      if (output.valid()) known(output) = given.outputs.back();
    }
    QQ_RETURN_IF_ERROR(add_step(row->make(given), given.outputs));
    for (TapeValue* const input : given.inputs)
      if (input != nullptr) reads_.back().push_back(input);
    return Status();
  }

  Tape& tape_;
  const TapeRegion& region_;
  const ir::Model& model_;
  std::vector<TapeValue*> known_;                             ///< Keyed by value of the model.
  std::vector<std::pair<TapeValue*, TapeValue*>> converted_;  ///< Values and their copies in the other layout.
  std::vector<std::vector<TapeValue*>> reads_;                ///< Inputs of each step.
};

Result<std::unique_ptr<Tape>> Tape::make(const TapeRegion& region, const ir::Model& model,
                                         std::span<const ir::Shape> inputs, FloatPool* pool, ir::NodeId* failed) {
  std::unique_ptr<Tape> tape(new Tape);
  if (pool == nullptr) tape->own_pool_ = std::make_unique<FloatPool>();
  tape->pool_ = pool != nullptr ? pool : tape->own_pool_.get();
  Builder builder(*tape, region, model);
  QQ_RETURN_IF_ERROR(builder.add_starts(inputs));
  QQ_RETURN_IF_ERROR(builder.add_nodes(failed));
  builder.find_dead();
  return tape;
}

Result<std::unique_ptr<Tape>> Tape::make(const Unit& unit, const ir::Model& model, const ir::Shape& input) {
  const TapeRegion region = unit.region();
  if (unit.is_block()) return make(region, model, {&input, 1});
  std::unique_ptr<Tape> tape(new Tape);
  tape->own_pool_ = std::make_unique<FloatPool>();
  tape->pool_ = tape->own_pool_.get();
  Builder builder(*tape, region, model);
  QQ_RETURN_IF_ERROR(builder.add_starts({&input, 1}));
  QQ_RETURN_IF_ERROR(builder.add_layer(unit));
  builder.find_dead();
  return tape;
}

int64_t Tape::inner_bytes() const {
  int64_t count = 0;
  for (const Step& step : steps_)
    for (const TapeValue* const value : step.outputs)
      if (std::find(ends_.begin(), ends_.end(), value) == ends_.end()) count += 2 * value->size;
  return count * static_cast<int64_t>(sizeof(float));
}

void Tape::release_all() {
  for (const auto& value : values_) {
    pool_->give(value->storage);
    pool_->give(value->gradient);
    value->has_gradient = false;
  }
}

void Tape::forward(std::span<const float* const> inputs, const std::vector<LayerValues>& layers, const Mixing& mixing,
                   Pass pass) {
  release_all();
  for (size_t i = 0; i < inputs.size(); ++i) values_[i]->data = inputs[i];
  const TapePass now{layers, mixing, *pool_};
  for (const Step& step : steps_) {
    for (TapeValue* const value : step.outputs) {
      value->storage = pool_->take(static_cast<size_t>(value->size));
      value->data = value->storage.data();
    }
    step.op->forward(now);
    if (pass == Pass::kTraining) continue;
    for (TapeValue* const value : step.dead) pool_->give(value->storage);
  }
}

const float* Tape::forward(const float* x, const std::vector<LayerValues>& layers, const Mixing& mixing) {
  forward(std::array<const float*, 1>{x}, layers, mixing, Pass::kTraining);
  return ends_[0]->data;
}

std::span<float> Tape::result_gradient(size_t i) {
  TapeValue& end = *ends_[i];
  if (end.gradient.empty()) end.gradient = pool_->take(static_cast<size_t>(end.size));
  end.has_gradient = true;
  return end.gradient.span();
}

void Tape::backward(const std::vector<LayerValues>& layers, Gradients& gradients) {
  const TapePass pass{layers, {}, *pool_, &gradients};
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto has_gradient = [](const TapeValue* value) { return value->has_gradient; };
    if (std::any_of(step->outputs.begin(), step->outputs.end(), has_gradient)) {
      for (TapeValue* const value : step->outputs) {
        if (value->has_gradient) continue;
        value->gradient = pool_->take(static_cast<size_t>(value->size));
        std::fill(value->gradient.begin(), value->gradient.end(), 0.0f);
      }
      step->op->backward(pass);
    }
    for (TapeValue* const value : step->outputs) {
      pool_->give(value->gradient);
      pool_->give(value->storage);
      value->has_gradient = false;
    }
  }
}

}  // namespace quarkq::planning::finetune
