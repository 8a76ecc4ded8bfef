// SPDX-License-Identifier: MIT
// The rule. A value is a sentinel when it lies at or below -32 times the largest magnitude of all values above it
// (taken as 4 at least), with nothing in between. Then it is at least 31 * 4 = 124 below every real value, and
// exp(-124) is smaller than the smallest float32 (exp(-103.3) = 2^-149): beside any real value Softmax gives it exactly
// zero. Real scores have no such gap: their bins are dense. Masks in use: -10000 (BERT), -1e9, -65504, -3.4e38,
// -inf.
#include "planning/calibrate/sentinels.h"

#include <algorithm>
#include <cmath>

#include "pass/calibration_options.h"

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
  // The middle of a bin may lie inside of its smallest value by half a width.
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
    calib::SampleRun run(context.model, *context.source.data, pass::sample_run_options(context.settings, tensors, {}));
    calib::CollectOptions collect;
    collect.with_bins = true;
    QQ_TRY(statistics, calib::collect_statistics(run, tensors, collect));
  }
  return statistics;
}

}  // namespace quarkq::planning
