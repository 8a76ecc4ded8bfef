// SPDX-License-Identifier: MIT
#include "calib/layer_walk.h"

#include <algorithm>

#include "ir/parts.h"

namespace quarkq::calib {

namespace {

template <typename Visit>
void for_each_read(const ir::Node& node, Visit visit) {
  for (const ir::ValueId input : node.inputs)
    if (input.valid()) visit(input);
  for (const ir::Capture& capture : node.captures) visit(capture.outer);
}

size_t place_of(ir::NodeId id) { return static_cast<size_t>(id.index); }
size_t place_of(ir::ValueId id) { return static_cast<size_t>(id.index); }

}  // namespace

LayerWalk::LayerWalk(const WalkedModel& walked, std::vector<std::vector<ir::ValueId>> wanted, ir::TensorStore& store)
    : walked_(walked),
      graph_(walked.model.graph),
      wanted_(std::move(wanted)),
      store_(store),
      needed_(graph_.node_count()),
      done_(graph_.node_count()),
      last_wanted_(graph_.value_count(), -1) {
  for (size_t list = 0; list < wanted_.size(); ++list)
    for (const ir::ValueId value : wanted_[list]) last_wanted_[place_of(value)] = static_cast<int>(list);
  mark_needed();
}

void LayerWalk::mark_needed() {
  std::vector<ir::ValueId> open;
  for (const auto& list : wanted_) open.insert(open.end(), list.begin(), list.end());
  while (!open.empty()) {
    const ir::Node* producer = graph_.producer(open.back());
    open.pop_back();
    if (producer == nullptr || needed_[place_of(producer->id)]) continue;
    needed_[place_of(producer->id)] = true;
    for_each_read(*producer, [&](ir::ValueId value) { open.push_back(value); });
  }
}

std::vector<ir::NodeId> LayerWalk::nodes_before(const std::vector<ir::ValueId>& values) {
  std::vector<ir::NodeId> nodes;
  std::vector<ir::ValueId> open = values;
  while (!open.empty()) {
    const ir::Node* producer = graph_.producer(open.back());
    open.pop_back();
    if (producer == nullptr || done_[place_of(producer->id)]) continue;
    done_[place_of(producer->id)] = true;
    nodes.push_back(producer->id);
    for_each_read(*producer, [&](ir::ValueId value) { open.push_back(value); });
  }
  return nodes;
}

bool LayerWalk::is_needed_later(ir::ValueId value) const {
  if (last_wanted_[place_of(value)] > static_cast<int>(next_)) return true;
  const auto& uses = graph_.value(value).uses;
  return std::any_of(uses.begin(), uses.end(),
                     [&](const ir::Use& use) { return needed_[place_of(use.node)] && !done_[place_of(use.node)]; });
}

const LayerWalk::Kept* LayerWalk::find(ir::ValueId value) const {
  for (const Kept& kept : kept_)
    if (kept.value == value) return &kept;
  return nullptr;
}

Status LayerWalk::keep_inputs() {
  for (const ir::ValueId input : graph_.required_inputs()) kept_.push_back({input, {}});
  for (size_t i = 0; i < walked_.samples; ++i) {
    QQ_TRY(const Sample sample, walked_.data.read(i));
    for (size_t k = 0; k < kept_.size(); ++k) {
      QQ_TRY(const int number, store_.keep(sample.inputs[k]));
      kept_[k].numbers.push_back(number);
    }
  }
  return Status();
}

LayerWalk::Stretch LayerWalk::plan_stretch(const std::vector<ir::ValueId>& wanted) {
  Stretch stretch;
  const std::vector<ir::NodeId> nodes = nodes_before(wanted);
  std::vector<bool> is_read(graph_.value_count());
  for (const ir::NodeId id : nodes)
    for_each_read(graph_.node(id), [&](ir::ValueId value) { is_read[place_of(value)] = true; });
  for (Kept& kept : kept_) {
    kept.is_last = !is_needed_later(kept.value);
    if (is_read[place_of(kept.value)]) stretch.fed.push_back(&kept);
  }
  stretch.place.assign(graph_.value_count(), -1);
  const auto fetch = [&](ir::ValueId value) {
    if (stretch.place[place_of(value)] >= 0) return;
    stretch.place[place_of(value)] = static_cast<int>(stretch.fetches.size());
    stretch.fetches.push_back(value);
  };
  for (const ir::ValueId value : wanted)
    if (find(value) == nullptr) fetch(value);
  for (const ir::NodeId id : nodes) {
    for (const ir::ValueId value : graph_.node(id).outputs) {
      if (!value.valid() || !is_needed_later(value)) continue;
      fetch(value);
      stretch.made.push_back({value, {}});
    }
  }
  return stretch;
}

Status LayerWalk::run_sample(size_t sample, const std::vector<ir::ValueId>& wanted, Stretch& stretch,
                             exec::Session& session, const Sink& sink) {
  std::vector<ir::Tensor> inputs, values;
  for (const Kept* kept : stretch.fed) {
    QQ_TRY(inputs.emplace_back(), store_.get(kept->numbers[sample]));
  }
  const std::vector<ir::Tensor>* results = nullptr;
  if (!stretch.fetches.empty()) {
    QQ_TRY(results, session.run(inputs).context(cat(walked_.purpose, ", sample ", sample)));
  }
  const auto result = [&](ir::ValueId value) {
    return (*results)[static_cast<size_t>(stretch.place[place_of(value)])];
  };
  for (Kept& kept : stretch.made) {
    QQ_TRY(const int number, store_.keep(result(kept.value)));
    kept.numbers.push_back(number);
  }
  for (const ir::ValueId value : wanted) {
    if (!sink) break;
    if (const Kept* kept = find(value)) {
      QQ_TRY(values.emplace_back(), store_.get(kept->numbers[sample]));
    } else {
      values.push_back(result(value));
    }
  }
  // Sample by sample, so that old and new values of all samples are never there at once.
  inputs.clear();
  for (const Kept& kept : kept_)
    if (kept.is_last) store_.drop(kept.numbers[sample]);
  return sink ? sink(sample, values) : Status();
}

void LayerWalk::move_frontier(std::vector<Kept> made) {
  std::erase_if(kept_, [](const Kept& kept) { return kept.is_last; });
  for (Kept& kept : made) kept_.push_back(std::move(kept));
}

void LayerWalk::end() {
  for (const Kept& kept : kept_)
    for (const int number : kept.numbers) store_.drop(number);
  kept_.clear();
}

Status LayerWalk::advance(const Sink& sink) {
  if (next_ == 0) QQ_RETURN_IF_ERROR(keep_inputs());
  const std::vector<ir::ValueId>& wanted = wanted_[next_];
  Stretch stretch = plan_stretch(wanted);
  std::vector<ir::ValueId> feeds;
  for (const Kept* kept : stretch.fed) feeds.push_back(kept->value);
  const ir::Part part = ir::part_of(graph_, feeds, stretch.fetches);
  exec::SessionOptions options;
  options.feeds = part.feeds;
  options.fetches = part.fetches;
  exec::Session session(part.graph, walked_.model.opsets, walked_.environment, std::move(options));
  for (size_t i = 0; i < walked_.samples; ++i) QQ_RETURN_IF_ERROR(run_sample(i, wanted, stretch, session, sink));
  move_frontier(std::move(stretch.made));
  ++next_;
  return Status();
}

}  // namespace quarkq::calib
