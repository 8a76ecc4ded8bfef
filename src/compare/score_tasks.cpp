// SPDX-License-Identifier: MIT
// Outputs that are read by the values themselves: masks, pictures, and scores of detectors.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "compare/output_kinds.h"
#include "compare/tasks.h"

namespace quarkq::compare {
namespace {

using Values = std::vector<double>;

/// A value of a Sigmoid or a Softmax, up to rounding.
bool lies_in_unit(double value) { return value >= -0.001 && value <= 1.001; }

// Masks, such as the text of PP-OCR.

constexpr TaskLimits kMaskLimits = {0.95, 0.85};
constexpr double kMaskThreshold = 0.3;

class MaskTask final : public Task {
 public:
  size_t sum_count() const override { return 2; }
  void add(const ir::Shape&, const Values& expected, const Values& found, TaskSums& sums) const override {
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool truth = expected[i] >= kMaskThreshold, own = found[i] >= kMaskThreshold;
      sums[0] += truth && own ? 1 : 0;
      sums[1] += truth || own ? 1 : 0;
    }
  }
  std::optional<TaskAgreement> agreement(const TaskSums& sums) const override {
    if (sums[1] == 0) return {};
    return share_agreement("mask", "overlap of the masks", sums[0] / sums[1], kMaskLimits);
  }
};

// Pictures. A model whose pictures are at 34 dB from the truth loses 1 dB where its result is at 40 dB from it, and 3
// dB at 34.

constexpr TaskLimits kPictureLimits = {40, 34};
constexpr double kMostDecibels = 100;

class PictureTask final : public Task {
 public:
  explicit PictureTask(double range) : range_(range) {}
  size_t sum_count() const override { return 2; }
  void add(const ir::Shape&, const Values& expected, const Values& found, TaskSums& sums) const override {
    double squares = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double error = found[i] - expected[i];
      squares += std::isfinite(error) ? error * error : 0;
    }
    const double mean = squares / static_cast<double>(expected.size());
    const double decibels = mean > 0 ? 10 * std::log10(range_ * range_ / mean) : kMostDecibels;
    sums[0] += 1;
    sums[1] += std::min(decibels, kMostDecibels);
  }
  std::optional<TaskAgreement> agreement(const TaskSums& sums) const override {
    if (sums[0] == 0) return {};
    const double mean = sums[1] / sums[0];
    TaskAgreement agreement{"picture", mean, grade_of(mean, kPictureLimits),
                            cat("PSNR ", std::round(10 * mean) / 10, " dB with the float pictures")};
    if (agreement.grade != Grade::kGood) agreement.text += cat(", below ", missed_limit(mean, kPictureLimits), " dB");
    return agreement;
  }

 private:
  double range_;  ///< Between the smallest and the largest value of the float pictures.
};

bool are_pictures(const FloatOutput& output) {
  return std::ranges::all_of(output.dims, [](const ir::Shape& dims) { return is_picture(dims); });
}

// Detectors: the average precision of the scores where the float model's decide what is true. Like mAP it does not
// change if all scores do alike, which users notice: their threshold then finds nothing.

constexpr TaskLimits kBoxLimits = {0.95, 0.85};
constexpr TaskLimits kKeptLimits = {0.75, 0.5};  ///< Share of the objects that score kKept or more.
constexpr double kFound = 0.25;                  ///< Score of the float model from which an object is there.
constexpr double kKept = 0.125;                  ///< Score from which a user still finds it with a lower threshold.
constexpr double kDense = 0.05;     ///< A channel that is found in a larger share of the places does not score objects.
constexpr size_t kLeastFound = 16;  ///< Objects on all samples together.
constexpr size_t kBins = 1024;      ///< Number of bins for scores from 0 to 1.

/// Channels that are scores. Where an objectness comes first, the others count multiplied by it.
struct ScoreChannels {
  int64_t axis = 0;
  std::vector<size_t> scores = {};
  std::optional<size_t> objectness = {};

  /// Calls `use` with the position of each score, and of the objectness of its place.
  template <typename Use>
  void for_each(const ir::Shape& dims, const Use& use) const {
    const ChannelLayout layout(dims, axis);
    for (size_t i = 0; i < layout.outer; ++i) {
      const size_t first = i * layout.channels * layout.inner;
      for (const size_t channel : scores)
        for (size_t j = 0; j < layout.inner; ++j)
          use(first + channel * layout.inner + j, first + objectness.value_or(0) * layout.inner + j);
    }
  }
  double score(const Values& values, size_t at, size_t object) const {
    return objectness ? values[at] * values[object] : values[at];
  }
};

size_t bin_of(double score) {
  if (!(score > 0)) return 0;
  return std::min(kBins - 1, static_cast<size_t>(std::min(score, 1.0) * static_cast<double>(kBins)));
}

class BoxTask final : public Task {
 public:
  explicit BoxTask(ScoreChannels channels) : channels_(std::move(channels)) {}
  size_t sum_count() const override { return 2 * kBins; }
  void add(const ir::Shape& dims, const Values& expected, const Values& found, TaskSums& sums) const override {
    channels_.for_each(dims, [&](size_t at, size_t object) {
      const bool is_there = channels_.score(expected, at, object) >= kFound;
      sums[(is_there ? kBins : 0) + bin_of(channels_.score(found, at, object))] += 1;
    });
  }
  std::optional<TaskAgreement> agreement(const TaskSums& sums) const override {
    double there = 0;
    for (size_t bin = 0; bin < kBins; ++bin) there += sums[kBins + bin];
    if (there < static_cast<double>(kLeastFound)) return {};
    std::array<double, kBins> precision = {};
    double right = 0, all = 0;
    for (size_t bin = kBins; bin-- > 0;) {
      right += sums[kBins + bin];
      all += sums[kBins + bin] + sums[bin];
      precision[bin] = all > 0 ? right / all : 0;
    }
    double best = 0, average = 0;  // COCO's precision does not rise with recall
    for (size_t bin = 0; bin < kBins; ++bin) {
      best = std::max(best, precision[bin]);
      average += sums[kBins + bin] * best / there;
    }
    double kept = 0;
    for (size_t bin = bin_of(kKept); bin < kBins; ++bin) kept += sums[kBins + bin];
    TaskAgreement order = share_agreement("boxes", "average precision of the scores", average, kBoxLimits);
    TaskAgreement found =
        share_agreement("boxes", "scores of 0.25 that are half of it or more:", kept / there, kKeptLimits);
    if (found.grade <= order.grade) return order;
    found.value = average;
    return found;
  }

 private:
  ScoreChannels channels_;
};

/// Range of the float scores of one channel.
struct ChannelRange {
  double least = 0, most = 0, found = 0;  ///< `found`: places from kFound on.
};

struct ScoreCounts {
  std::vector<ChannelRange> channels;
  double places = 0;
  std::optional<size_t> first = {};  ///< First channel of scores.
  double found_by_others = 0;        ///< Places where another channel of scores is from kFound on.

  bool is_score(size_t channel) const {
    const ChannelRange& range = channels[channel];
    return lies_in_unit(range.least) && lies_in_unit(range.most) && range.most >= kFound;
  }
  bool is_sparse(double found) const { return found <= kDense * places; }
};

ScoreCounts count_scores(const FloatOutput& output, int64_t axis) {
  ScoreCounts counts{std::vector<ChannelRange>(static_cast<size_t>(output.dims[0][static_cast<size_t>(axis)]))};
  const auto for_each_place = [&](const auto& use) {
    for (size_t sample = 0; sample < output.values.size(); ++sample) {
      const ChannelLayout layout(output.dims[sample], axis);
      for (size_t i = 0; i < layout.outer; ++i)
        for (size_t j = 0; j < layout.inner; ++j)
          use(output.values[sample].data() + i * layout.channels * layout.inner + j, layout.inner);
    }
  };
  for_each_place([&](const double* value, size_t stride) {
    ++counts.places;
    for (ChannelRange& channel : counts.channels) {
      channel.least = std::min(channel.least, *value);
      channel.most = std::max(channel.most, *value);
      channel.found += *value >= kFound ? 1 : 0;
      value += stride;
    }
  });
  std::vector<size_t> others;
  for (size_t channel = 0; channel < counts.channels.size(); ++channel) {
    if (!counts.is_score(channel)) continue;
    if (counts.first) others.push_back(channel);
    if (!counts.first) counts.first = channel;
  }
  for_each_place([&](const double* value, size_t stride) {
    const bool is_found = std::ranges::any_of(others, [&](size_t one) { return value[one * stride] >= kFound; });
    counts.found_by_others += is_found ? 1 : 0;
  });
  return counts;
}

std::optional<ScoreChannels> find_scores(const FloatOutput& output, int64_t axis) {
  const ScoreCounts counts = count_scores(output, axis);
  if (!counts.first) return {};
  ScoreChannels found{axis};
  const bool first_is_sparse = counts.is_sparse(counts.channels[*counts.first].found);
  if (first_is_sparse && !counts.is_sparse(counts.found_by_others)) found.objectness = counts.first;
  for (size_t channel = *counts.first; channel < counts.channels.size(); ++channel) {
    const bool counts_alone = counts.is_sparse(counts.channels[channel].found);
    if (counts.is_score(channel) && channel != found.objectness && (found.objectness || counts_alone))
      found.scores.push_back(channel);
  }
  if (found.scores.empty()) return {};
  return found;
}

}  // namespace

TaskPtr find_mask(const FloatOutput& output) {
  constexpr double kEdge = 0.1, kMostBetween = 0.2, kLeastArea = 0.001;
  if (!are_pictures(output)) return nullptr;
  double all = 0, between = 0, inside = 0;
  for (size_t sample = 0; sample < output.values.size(); ++sample) {
    const ir::Shape& dims = output.dims[sample];
    if (dims[1] != 1 && dims[3] != 1) return nullptr;
    for (const double value : output.values[sample]) {
      if (!lies_in_unit(value)) return nullptr;
      ++all;
      between += value > kEdge && value < 1 - kEdge ? 1 : 0;
      inside += value >= kMaskThreshold ? 1 : 0;
    }
  }
  if (between > kMostBetween * all || inside < kLeastArea * all) return nullptr;
  return std::make_shared<MaskTask>();
}

TaskPtr find_picture(const FloatOutput& output) {
  if (!are_pictures(output)) return nullptr;
  double least = 0, most = 0;
  bool is_first = true;
  for (const Values& values : output.values) {
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      least = is_first ? value : std::min(least, value);
      most = is_first ? value : std::max(most, value);
      is_first = false;
    }
  }
  if (!(most > least)) return nullptr;
  return std::make_shared<PictureTask>(most - least);
}

TaskPtr find_boxes(const FloatOutput& output) {
  const ir::Shape& dims = output.dims[0];
  const std::optional<int64_t> axis = dims.size() < 3 ? std::nullopt : channel_axis(dims);
  if (!axis) return nullptr;
  const auto place = static_cast<size_t>(*axis);
  const bool are_alike = std::ranges::all_of(
      output.dims, [&](const ir::Shape& other) { return other.size() == dims.size() && other[place] == dims[place]; });
  if (!are_alike) return nullptr;
  std::optional<ScoreChannels> channels = find_scores(output, *axis);
  if (!channels) return nullptr;
  return std::make_shared<BoxTask>(std::move(*channels));
}

}  // namespace quarkq::compare
