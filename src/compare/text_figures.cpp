// SPDX-License-Identifier: MIT
// Figures of text over samples, and their grade.
#include <cmath>

#include "base/strings.h"
#include "compare/intervals.h"
#include "compare/tasks.h"
#include "compare/text.h"

namespace quarkq::compare {
namespace {

/// A quantized model loses 2 % of perplexity to a careful rounding to 4 bits. Losses above 5 % are those of careless
/// rounding, and as large as the step to a much smaller model.
constexpr double kGoodIncrease = 0.02, kFairIncrease = 0.05;

double exponential(double value) { return std::exp(value); }

/// Returns e to the mean of a sum of the samples per predicted id.
SampledScore per_id(const std::vector<TextSums>& samples, double (*sum_of)(const TextSums&)) {
  std::vector<Parts> parts;
  parts.reserve(samples.size());
  for (const TextSums& sample : samples) parts.push_back({sum_of(sample), static_cast<double>(sample.ids)});
  return ratio_of(std::move(parts), exponential);
}

IntervalFigure figure(double value, const Resamples& samples) {
  const Interval found = interval_of(samples, value).value_or(Interval{value, value});
  return {value, found.low, found.high};
}

double rounded(double value, double steps) { return std::round(value * steps) / steps; }

/// "+1.6" of a ratio of 1.016.
std::string percent_above(double ratio) {
  const double percent = rounded(100 * (ratio - 1), 100);
  return cat(percent >= 0 ? "+" : "", percent);
}

}  // namespace

TextAgreement summarize_text(const std::vector<TextSums>& samples) {
  const SampledScore scores[] = {per_id(samples, [](const TextSums& sums) { return sums.expected; }),
                                 per_id(samples, [](const TextSums& sums) { return sums.found; }),
                                 per_id(samples, [](const TextSums& sums) { return sums.found - sums.expected; })};
  const std::vector<Resamples> drawn = resample(scores, samples.size());
  TextAgreement text;
  text.samples = samples.size();
  size_t same = 0;
  for (const TextSums& sample : samples) text.ids += sample.ids, same += sample.same;
  text.expected = figure(scores[0].once(samples.size()), drawn[0]);
  text.found = figure(scores[1].once(samples.size()), drawn[1]);
  text.ratio = figure(scores[2].once(samples.size()), drawn[2]);
  text.same_next = static_cast<double>(same) / static_cast<double>(text.ids);
  return text;
}

TaskAgreement text_task(const TextAgreement& text) {
  const double increase = text.ratio.value - 1;
  TaskAgreement task{"text", 1 / text.ratio.value, Grade::kPoor, ""};
  if (increase <= kFairIncrease) task.grade = Grade::kFair;  // NaN is poor
  if (increase <= kGoodIncrease) task.grade = Grade::kGood;
  task.text = cat("perplexity ", rounded(text.found.value, 1000), ", float ", rounded(text.expected.value, 1000), " (",
                  percent_above(text.ratio.value), " %, 95 % interval ", percent_above(text.ratio.low), " to ",
                  percent_above(text.ratio.high), " %)");
  if (task.grade != Grade::kGood)
    task.text +=
        cat(", more than ", task.grade == Grade::kFair ? 100 * kGoodIncrease : 100 * kFairIncrease, " % above");
  return task;
}

}  // namespace quarkq::compare
