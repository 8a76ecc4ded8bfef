// SPDX-License-Identifier: MIT
// Figures of text over samples, and their grade.
#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/strings.h"
#include "compare/tasks.h"
#include "compare/text.h"

namespace quarkq::compare {
namespace {

constexpr size_t kDraws = 1000;
constexpr double kTail = 0.025;  ///< Share of the draws outside of each end of the interval.
constexpr uint32_t kSeed = 48;

/// A quantized model loses 2 % of perplexity to a careful rounding to 4 bits. Losses above 5 % are those of careless
/// rounding, and as large as the step to a much smaller model.
constexpr double kGoodIncrease = 0.02, kFairIncrease = 0.05;

TextSums& operator+=(TextSums& sums, const TextSums& other) {
  sums.expected += other.expected;
  sums.found += other.found;
  sums.ids += other.ids;
  sums.same += other.same;
  return sums;
}

struct Perplexities {
  double expected, found, ratio;
};

Perplexities perplexities(const TextSums& sums) {
  const auto ids = static_cast<double>(sums.ids);
  return {std::exp(sums.expected / ids), std::exp(sums.found / ids), std::exp((sums.found - sums.expected) / ids)};
}

IntervalFigure interval(double value, std::vector<double> draws) {
  // Figures that are not numbers have no order.
  if (draws.empty() || std::ranges::any_of(draws, [](double draw) { return std::isnan(draw); }))
    return {value, value, value};
  std::ranges::sort(draws);
  const auto tail = static_cast<size_t>(kTail * static_cast<double>(draws.size()));
  return {value, draws[tail], draws[draws.size() - 1 - tail]};
}

double rounded(double value, double steps) { return std::round(value * steps) / steps; }

/// "+1.6" of a ratio of 1.016.
std::string percent_above(double ratio) {
  const double percent = rounded(100 * (ratio - 1), 100);
  return cat(percent >= 0 ? "+" : "", percent);
}

}  // namespace

TextAgreement summarize_text(const std::vector<TextSums>& samples) {
  TextSums all;
  for (const TextSums& sample : samples) all += sample;
  NumpyRandom random(kSeed);
  std::vector<double> expected, found, ratio;
  for (size_t draw = 0; draw < kDraws; ++draw) {
    TextSums drawn;
    for (size_t i = 0; i < samples.size(); ++i)
      drawn += samples[static_cast<size_t>(random.integer(0, static_cast<int64_t>(samples.size()) - 1))];
    if (drawn.ids == 0) continue;
    const Perplexities figures = perplexities(drawn);
    expected.push_back(figures.expected);
    found.push_back(figures.found);
    ratio.push_back(figures.ratio);
  }
  const Perplexities figures = perplexities(all);
  TextAgreement text;
  text.samples = samples.size();
  text.ids = all.ids;
  text.expected = interval(figures.expected, std::move(expected));
  text.found = interval(figures.found, std::move(found));
  text.ratio = interval(figures.ratio, std::move(ratio));
  text.same_next = static_cast<double>(all.same) / static_cast<double>(all.ids);
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
