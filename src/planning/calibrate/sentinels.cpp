// SPDX-License-Identifier: MIT
// A value is a sentinel if it is at or below -32 times the largest magnitude of all values above it (assumed to be at
// least 4), with no values in between. It is then at least 31 * 4 = 124 below every real value, and exp(-124) is
// smaller than the smallest float32 (exp(-103.3) = 2^-149): together with any real value, Softmax maps it to exactly
// zero. Real scores have no such gap, because their bins are dense. Masks in use: -10000 (BERT), -1e9, -65504, -3.4e38,
// -inf.
#include "planning/calibrate/sentinels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "ir/constants.h"
#include "ir/graph_analysis.h"
#include "pass/context.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

constexpr double kGap = 32, kLeastMagnitude = 4;

/// How many of the bins (ascending) are sentinels.
size_t count_sentinels(const std::vector<calib::WeightedValue>& bins) {
  size_t sentinels = 0;
  for (size_t i = 0; i < bins.size() && bins[i].value < 0; ++i) {
    const double above = i + 1 == bins.size() ? 0
                                              : std::max(std::abs(static_cast<double>(bins[i + 1].value)),
                                                         std::abs(static_cast<double>(bins.back().value)));
    if (bins[i].value <= -kGap * std::max(above, kLeastMagnitude)) sentinels = i + 1;
  }
  return sentinels;
}

}  // namespace

std::optional<calib::ValueStatistics> without_sentinels(const calib::ValueStatistics& seen) {
  const std::vector<calib::WeightedValue> bins = seen.bins();
  const size_t sentinels = count_sentinels(bins);
  if (sentinels == 0 && seen.not_finite() == 0) return std::nullopt;
  const bool any_left = sentinels < bins.size();
  // The middle of a bin may exceed its smallest value by half a width.
  const float lowest = any_left ? bins[sentinels].value - bins[sentinels].width / 2 : 0.0f;
  std::vector<calib::SampleRecord> records = seen.records();
  for (calib::SampleRecord& record : records) {
    record.range.min = std::max(record.range.min, lowest);
    record.range.max = std::max(record.range.max, lowest);
  }
  // Bins by number: positive ones by magnitude, then negative ones by magnitude, whose last ones are the sentinels.
  std::vector<calib::BinCount> counts = seen.bin_counts();
  counts.resize(counts.size() - sentinels);
  return calib::ValueStatistics(/*with_bins=*/true, std::move(records), std::move(counts));
}

calib::ValueStatistics mirrored(const calib::ValueStatistics& seen) {
  std::vector<calib::SampleRecord> records = seen.records();
  for (calib::SampleRecord& record : records) record.range = {-record.range.max + 0.0f, -record.range.min + 0.0f};
  std::vector<calib::BinCount> counts = seen.bin_counts();
  for (calib::BinCount& entry : counts) {
    if ((entry.bin & ~calib::kSignBin) != 0) entry.bin ^= calib::kSignBin;
  }
  std::ranges::sort(counts, {}, &calib::BinCount::bin);
  return calib::ValueStatistics(/*with_bins=*/true, std::move(records), std::move(counts));
}

Result<calib::Statistics> statistics_with_bins(const pass::PlanContext& context, std::vector<ir::ValueId> tensors) {
  calib::Statistics statistics;
  if (tensors.empty()) return statistics;
  std::sort(tensors.begin(), tensors.end());
  if (context.source.statistics != nullptr) {
    for (const ir::ValueId tensor : tensors) {
      const auto stored = context.source.statistics->tensors.find(context.graph().value(tensor).name);
      if (stored != context.source.statistics->tensors.end()) statistics.emplace(tensor, stored->second);
    }
  } else if (context.source.data != nullptr) {
    calib::SampleRun run(context.model, *context.source.data, context.environment,
                         pass::sample_run_options(context.environment, context.settings, tensors, {}));
    calib::CollectOptions collect;
    collect.with_bins = true;
    QQ_TRY(statistics, calib::collect_statistics(run, tensors, collect));
  }
  return statistics;
}

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
  std::vector<bool> only_softmax_, subtracted_;  ///< Indexed by value id.
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
    context.diagnostics.add("guard-sentinel-range", tensor.name,
                            search.is_mask(value)
                                ? "contains the sentinels of a mask, with which a shared exponent loses all real "
                                  "values, and is read by Softmax only; it stays float"
                                : "contains infinities, which its format does not support; it stays float");
  }
  std::erase_if(context.plan.extras, [&](const plan::ExtraStage& extra) { return !context.plan.has(extra.value); });
  if (released.empty()) return Changed::kNo;
  QQ_RETURN_IF_ERROR(release_biases(context).status());  // biases of layers whose input is one of these
  return Changed::kYes;
}

// Guard: where a mask's sentinels share a tensor with scores, one scale for both leaves no codes for the scores.
// Tensors that only Softmax reads get the range of their real values, and the sentinels saturate below it.

namespace {

using plan::QuantSlot;
using plan::Role;

/// Returns how far below the smallest real score a masked one saturates. exp(-8) = 3e-4 and exp(-16) = 1e-7 of a masked
/// position remain relative to the smallest real score. A larger margin would take steps from the real scores, of which
/// 8 bits have few.
float margin(const QuantSlot& slot) { return bits(slot.stage.spec.type) <= 8 ? 8.0f : 16.0f; }

class SentinelGuard {
 public:
  explicit SentinelGuard(pass::PlanContext& context)
      : context_(context),
        graph_(context.graph()),
        only_softmax_(ir::feeds_softmax_only(graph_)),
        subtracted_(ir::subtracted_before_softmax(graph_, only_softmax_)) {}

  Result<Changed> run() {
    find_constants();
    QQ_RETURN_IF_ERROR(find_activations());
    if (found_.empty()) return Changed::kNo;
    // Readers first: how low a tensor must reach depends on its readers.
    for (auto id = graph_.order().rbegin(); id != graph_.order().rend(); ++id) {
      for (const ir::ValueId output : graph_.node(*id).outputs) QQ_RETURN_IF_ERROR(repair(output));
    }
    for (const auto* outer : {&graph_.inputs(), &graph_.initializers()}) {
      for (const ir::ValueId id : *outer) QQ_RETURN_IF_ERROR(repair(id));
    }
    QQ_RETURN_IF_ERROR(shrink_factors());
    return Changed::kYes;
  }

 private:
  bool is_candidate(const QuantSlot& slot) const {
    const bool is_for_softmax = only_softmax_[static_cast<size_t>(slot.value.index)] || is_subtracted(slot.value);
    return is_for_softmax && !context_.plan.shares(slot) && slot.stage.kind != plan::StageKind::kBlock &&
           is_integer(slot.stage.spec.type);
  }

  bool is_subtracted(ir::ValueId value) const { return subtracted_[static_cast<size_t>(value.index)]; }

  /// Keeps the real values of a tensor, those that are subtracted with the other sign, if it holds sentinels.
  void look_at(ir::ValueId value, const calib::ValueStatistics& seen) {
    std::optional<calib::ValueStatistics> real = without_sentinels(is_subtracted(value) ? mirrored(seen) : seen);
    if (real) found_.emplace(value, std::move(*real));
  }

  void find_constants() {
    for (const QuantSlot& slot : context_.plan.slots()) {
      if (slot.role != Role::kWeight || !is_candidate(slot)) continue;
      const Result<std::vector<float>> values = ir::float_values(*graph_.value(slot.value).constant);
      if (!values.ok()) continue;
      calib::ValueStatistics seen(/*with_bins=*/true);
      seen.add(values.value().data(), static_cast<int64_t>(values.value().size()), 0);
      look_at(slot.value, seen);
    }
  }

  /// A second measurement, with bins, of the few tensors whose range a sentinel may have stretched.
  Status find_activations() {
    constexpr float kSuspicious = -100;
    const bool has_mask = !found_.empty();
    std::vector<ir::ValueId> tensors;
    for (const QuantSlot& slot : context_.plan.slots()) {
      if (slot.role != Role::kActivation || !slot.range || !is_candidate(slot)) continue;
      const float lowest = is_subtracted(slot.value) ? -slot.range->max : slot.range->min;
      if (has_mask || slot.seen_not_finite || lowest <= kSuspicious) tensors.push_back(slot.value);
    }
    QQ_TRY(const calib::Statistics statistics, statistics_with_bins(context_, std::move(tensors)));
    for (const auto& [tensor, seen] : statistics) {
      if (seen.with_bins()) look_at(tensor, seen);
    }
    return Status();
  }

  /// The method's range of the real values.
  Result<numeric::Range> real_range(const QuantSlot& slot) const {
    const calib::ValueStatistics& real = found_.at(slot.value);
    if (slot.role == Role::kWeight) return real.extremes();
    QQ_TRY(const calib::Calibrator* const calibrator, pass::asked_calibrator(context_.settings));
    Result<numeric::Range> range = calib::finish_range(*calibrator, real, pass::method_options(context_.settings));
    return range.ok() ? range : real.extremes();
  }

  /// Where the sentinels of this tensor must saturate so that they do so after its readers.
  float floor_for_readers(const QuantSlot& slot, numeric::Range real) const {
    float lowest = real.min;
    for (const ir::Use& use : graph_.value(slot.value).uses) {
      const ir::Node& reader = graph_.node(use.node);
      const ir::FeedKind kind = ir::feed_kind(graph_, reader, use.input);
      const QuantSlot* after = kind == ir::FeedKind::kSoftmax ? nullptr : context_.plan.find(reader.output(0));
      const auto repaired = after == nullptr ? repaired_.end() : repaired_.find(after->value);
      const float width = repaired == repaired_.end() ? margin(slot)
                                                      : (repaired->second.max - repaired->second.min) /
                                                            ir::feed_factor(graph_, reader, use.input);
      const float own =
          kind == ir::FeedKind::kMoves && repaired != repaired_.end() ? repaired->second.min : real.min - width;
      lowest = std::min(lowest, own);
    }
    return lowest;
  }

  Status repair(ir::ValueId value) {
    if (!value.valid() || !found_.contains(value) || repaired_.contains(value)) return Status();
    QuantSlot& slot = context_.plan.slot(value);
    QQ_TRY(numeric::Range range, real_range(slot));
    range.min = std::max(floor_for_readers(slot, range), std::numeric_limits<float>::lowest() / 4);
    range.max = std::max(range.max, 0.0f);
    if (is_subtracted(value)) range = {-range.max, -range.min};
    repaired_[value] = range;
    if (slot.role == Role::kWeight) {
      config::TensorOverride& own = context_.selection.overrides[value];
      own.values = {config::OverrideValues{std::nullopt, range.min, range.max}};
    } else {
      slot.range = range;
      QQ_TRY(const numeric::QuantParams params, numeric::params_for_range(slot.stage.spec, range));
      context_.plan.params.set(slot.stage.params, {params});
    }
    context_.diagnostics.add(
        "guard-sentinel-range", graph_.value(value).name,
        cat("contains real values and the sentinels of a mask, and only Softmax reads it; its range is ", range.min,
            " to ", range.max, ", and the sentinels saturate"));
    return Status();
  }

  /// (1 - mask) * -1e9: the stored factor of a repaired tensor, with what it multiplies. Invalid ids for others.
  std::pair<ir::ValueId, ir::ValueId> factor_of(ir::ValueId product) const {
    const ir::NodeId producer = graph_.value(product).producer;
    if (!producer.valid() || !graph_.node(producer).is("Mul")) return {};
    const std::vector<ir::ValueId>& inputs = graph_.node(producer).inputs;
    for (const size_t i : {0, 1}) {
      const ir::Value& factor = graph_.value(inputs[i]);
      const QuantSlot* slot = context_.plan.find(inputs[i]);
      const bool is_stored = slot != nullptr && slot->role == Role::kWeight && factor.uses.size() == 1;
      if (is_stored && factor.constant->size() == 1) return {inputs[i], inputs[1 - i]};
    }
    return {};
  }

  /// A factor as large as its products saturate at needs no scale for more, which would leave no position for a
  /// power-of-two product. Only of masks: tensors of zeros and one other number.
  Status shrink_factors() {
    std::map<ir::ValueId, std::pair<ir::ValueId, float>> factors;  // The factor at which its product saturates, by
                                                                   // mask.
    for (const auto& [product, range] : repaired_) {
      const auto [factor, mask] = factor_of(product);
      if (factor.valid()) factors[mask] = {factor, std::max(std::abs(range.min), std::abs(range.max))};
    }
    std::vector<ir::ValueId> masks;
    masks.reserve(factors.size());
    for (const auto& [mask, factor] : factors) masks.push_back(mask);
    QQ_TRY(const calib::Statistics statistics, statistics_with_bins(context_, std::move(masks)));
    for (const auto& [mask, seen] : statistics) {
      if (!seen.with_bins() || seen.bins().size() > 2 || seen.not_finite() > 0) continue;
      const numeric::Range found = seen.extremes();
      const auto [factor, bound] = factors.at(mask);
      const float largest = std::max(std::abs(found.min), std::abs(found.max));
      const bool is_mask = found.min == 0 || found.max == 0;
      if (is_mask) limit(factor, bound / (largest > 0 ? largest : 1));
    }
    return Status();
  }

  void limit(ir::ValueId factor, float magnitude) {
    const Result<std::vector<float>> values = ir::float_values(*graph_.value(factor).constant);
    if (!values.ok() || std::abs(values.value()[0]) <= magnitude) return;
    const bool is_negative = values.value()[0] < 0;
    context_.selection.overrides[factor].values = {
        config::OverrideValues{std::nullopt, is_negative ? -magnitude : 0, is_negative ? 0 : magnitude}};
    context_.diagnostics.add(
        "guard-sentinel-range", graph_.value(factor).name,
        cat("makes the sentinels of a mask, which saturate; it is taken as ", is_negative ? -magnitude : magnitude));
  }

  pass::PlanContext& context_;
  const ir::Graph& graph_;
  std::vector<bool> only_softmax_, subtracted_;          ///< Indexed by value id.
  std::map<ir::ValueId, calib::ValueStatistics> found_;  ///< without their sentinels
  std::map<ir::ValueId, numeric::Range> repaired_;
};

}  // namespace

Result<Changed> guard_sentinel_ranges(pass::PlanContext& context) {
  QQ_TRY(const Changed released, release_infinities(context));
  QQ_TRY(const Changed repaired, SentinelGuard(context).run());
  return released == Changed::kYes ? released : repaired;
}

}  // namespace quarkq::planning
