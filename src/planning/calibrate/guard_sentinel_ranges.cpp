// SPDX-License-Identifier: MIT
// Guard: where a mask's sentinels share a tensor with scores, one scale for both leaves no codes for the scores.
// Tensors that only Softmax reads get the range of their real values, and the sentinels saturate below it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/softmax_feeds.h"
#include "ir/stored_floats.h"
#include "pass/calibration_options.h"
#include "plan/constant_codes.h"
#include "planning/calibrate/release_infinities.h"
#include "planning/calibrate/sentinels.h"
#include "planning/passes.h"

namespace quarkq::planning {
namespace {

using plan::QuantSlot;
using plan::Role;

/// How far below the smallest real score a masked one saturates. exp(-8) = 3e-4 and exp(-16) = 1e-7 of a masked place
/// remain beside the smallest real score; more would take steps from the real ones, of which 8 bits have few.
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
        cat("holds real values and the sentinels of a mask, and is read by Softmax only; its range is ", range.min,
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
    std::map<ir::ValueId, std::pair<ir::ValueId, float>> factors;  // by mask: the factor, where its product saturates
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
  std::vector<bool> only_softmax_, subtracted_;          ///< by value id
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
