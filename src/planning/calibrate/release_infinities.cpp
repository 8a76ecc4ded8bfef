// SPDX-License-Identifier: MIT
#include "planning/calibrate/release_infinities.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "ir/softmax_feeds.h"
#include "ir/stored_floats.h"
#include "planning/calibrate/sentinels.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

using plan::QuantSlot;
using Values = std::set<ir::ValueId>;

bool holds_infinities(const ir::Tensor& constant) {
  const Result<ir::FloatView> values = ir::FloatView::of(constant);
  return values.ok() && std::ranges::any_of(values.value().span(), [](float value) { return std::isinf(value); });
}

bool is_block(const QuantSlot& slot) { return slot.stage.kind == plan::StageKind::kBlock; }

/// Adds to `found` what moves, adds or scales one of its tensors. Max, Min and Clip remove infinities.
void follow(const ir::Graph& graph, const std::function<bool(ir::ValueId)>& may_hold, Values& found) {
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (node.is("Max") || node.is("Min") || node.is("Clip")) continue;
    const auto feeds = [&](size_t i) {
      const ir::FeedKind kind = ir::feed_kind(graph, node, static_cast<int32_t>(i));
      return kind != ir::FeedKind::kNone && kind != ir::FeedKind::kSoftmax && found.contains(node.inputs[i]);
    };
    bool is_fed = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) is_fed = is_fed || feeds(i);
    for (const ir::ValueId output : node.outputs) {
      if (is_fed && output.valid() && may_hold(output)) found.insert(output);
    }
  }
}

class Search {
 public:
  explicit Search(const pass::PlanContext& context)
      : context_(context),
        graph_(context.graph()),
        only_softmax_(ir::feeds_softmax_only(graph_)),
        subtracted_(ir::subtracted_before_softmax(graph_, only_softmax_)) {}

  /// Returns the tensors to leave in float, in the order of the plan.
  Result<std::vector<ir::ValueId>> find() {
    QQ_RETURN_IF_ERROR(find_masks());
    find_infinities();
    std::vector<ir::ValueId> found;
    for (const QuantSlot& slot : context_.plan.slots()) {
      const bool is_mask = is_block(slot) && masks_.contains(slot.value);
      if (is_mask || infinite_.contains(slot.value)) found.push_back(slot.value);
    }
    return found;
  }
  bool is_mask(ir::ValueId value) const { return masks_.contains(value); }

 private:
  bool is_for_softmax(ir::ValueId id) const {
    return only_softmax_[static_cast<size_t>(id.index)] || subtracted_[static_cast<size_t>(id.index)];
  }

  /// Stored masks before a Softmax, what is made of them, and what samples show; for block formats.
  Status find_masks() {
    if (std::ranges::none_of(context_.plan.slots(), is_block)) return Status();
    for (const ir::ValueId id : graph_.initializers()) {
      if (!is_for_softmax(id)) continue;
      const Result<std::vector<float>> values = ir::float_values(*graph_.value(id).constant);
      calib::ValueStatistics seen(/*with_bins=*/true);
      if (values.ok()) seen.add(values.value().data(), static_cast<int64_t>(values.value().size()), 0);
      if (without_sentinels(facing_down(id, std::move(seen)))) masks_.insert(id);
    }
    // A subtracted mask is made negative by its reader.
    Values sources = masks_;
    for (const ir::ValueId id : masks_) {
      for (const ir::Use& use : graph_.value(id).uses) {
        if (subtracted_[static_cast<size_t>(id.index)]) sources.insert(graph_.node(use.node).output(0));
      }
    }
    masks_ = std::move(sources);
    follow(
        graph_, [&](ir::ValueId output) { return only_softmax_[static_cast<size_t>(output.index)]; }, masks_);
    return look_at_samples();
  }

  Status look_at_samples() {
    std::vector<ir::ValueId> open;
    for (const QuantSlot& slot : context_.plan.slots()) {
      const bool is_open = is_for_softmax(slot.value) && !masks_.contains(slot.value);
      if (is_block(slot) && is_open && slot.role == plan::Role::kActivation) open.push_back(slot.value);
    }
    QQ_TRY(calib::Statistics statistics, statistics_with_bins(context_, std::move(open)));
    for (auto& [tensor, seen] : statistics) {
      if (seen.with_bins() && without_sentinels(facing_down(tensor, std::move(seen)))) masks_.insert(tensor);
    }
    return Status();
  }

  calib::ValueStatistics facing_down(ir::ValueId id, calib::ValueStatistics seen) const {
    return subtracted_[static_cast<size_t>(id.index)] ? mirrored(seen) : std::move(seen);
  }

  /// A reader adds it, chooses from it or moves it; weights of layers are not looked at.
  bool is_mask_like(ir::ValueId id) const {
    return std::ranges::any_of(graph_.value(id).uses, [&](const ir::Use& use) {
      return !use.is_capture && ir::feed_kind(graph_, graph_.node(use.node), use.input) != ir::FeedKind::kNone;
    });
  }

  /// Stored infinities that are not for a Softmax, what is made of them, and outputs that samples show them in.
  void find_infinities() {
    const auto may_hold = [&](ir::ValueId id) { return !is_for_softmax(id); };
    for (const ir::ValueId id : graph_.initializers()) {
      if (may_hold(id) && is_mask_like(id) && holds_infinities(*graph_.value(id).constant)) infinite_.insert(id);
    }
    follow(graph_, may_hold, infinite_);
    for (const QuantSlot& slot : context_.plan.slots()) {
      if (slot.seen_not_finite && graph_.value(slot.value).is_output) infinite_.insert(slot.value);
    }
  }

  const pass::PlanContext& context_;
  const ir::Graph& graph_;
  std::vector<bool> only_softmax_, subtracted_;  ///< by value id
  Values masks_, infinite_;
};

}  // namespace

Result<Changed> release_infinities(pass::PlanContext& context) {
  Search search(context);
  QQ_TRY(const std::vector<ir::ValueId> released, search.find());
  const ir::Graph& graph = context.graph();
  for (const ir::ValueId value : released) {
    context.plan.remove(value);
    const ir::Value& tensor = graph.value(value);
    context.plan.decisions.push_back({value, plan::DecisionKind::kNodeLeftFloat,
                                      tensor.producer.valid() ? tensor.producer : tensor.uses.front().node});
    context.diagnostics.add(
        "guard-sentinel-range", tensor.name,
        search.is_mask(value) ? "holds the sentinels of a mask, beside which a shared exponent leaves nothing of real "
                                "values, and is read by Softmax only; it stays float"
                              : "holds infinities, which its format does not have; it stays float");
  }
  std::erase_if(context.plan.extras, [&](const plan::ExtraStage& extra) { return !context.plan.has(extra.value); });
  if (released.empty()) return Changed::kNo;
  QQ_RETURN_IF_ERROR(release_biases(context).status());  // of layers whose input is one of these
  return Changed::kYes;
}

}  // namespace quarkq::planning
