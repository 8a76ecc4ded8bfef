// SPDX-License-Identifier: MIT
#include "compare/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "base/parallel.h"
#include "base/strings.h"

namespace quarkq::compare {
namespace {

constexpr size_t kMostDraws = 1000, kFewestDraws = 200;
constexpr double kMostSteps = 1e8;  ///< Upper bound for all draws of a score: about 0.1 s.
constexpr uint64_t kSeed = 49;
constexpr int64_t kDrawsAtOnce = 8;

/// SplitMix64 (Steele, Lea, Flood 2014): a generator of its own for each draw, so that threads share nothing.
class DrawRandom {
 public:
  explicit DrawRandom(uint64_t draw) : state_((kSeed << 32) + draw) {}

  /// Returns a number below `count`. The bias of the multiplication is below count / 2^32.
  size_t below(uint32_t count) {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return static_cast<size_t>(((mixed >> 32) * count) >> 32);
  }

 private:
  uint64_t state_;
};

double normal_below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// Returns z with normal_below(z) = `share`, by bisection.
double normal_quantile(double share) {
  double low = -40, high = 40;
  for (int i = 0; i < 80; ++i) (normal_below((low + high) / 2) < share ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

/// Returns the quantile of Student's distribution with `freedom` degrees, as a series around the normal quantile
/// (Abramowitz and Stegun 26.7.5).
double student_quantile(double z, double freedom) {
  const double z2 = z * z;
  const double first = z * (z2 + 1) / 4, second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  return z + first / freedom + second / (freedom * freedom);
}

/// Returns the share of the draws outside of each end. Quantiles of draws are too narrow for few samples, as standard
/// deviations without Bessel's correction are: "expanded percentiles" (Hesterberg 2015).
double tail_of(size_t samples, double confidence) {
  const double freedom = static_cast<double>(samples) - 1, z = normal_quantile((1 + confidence) / 2);
  return normal_below(-std::sqrt((freedom + 1) / freedom) * student_quantile(z, freedom));
}

std::optional<Interval> quantiles_of(std::vector<double> draws, size_t samples, double confidence) {
  const size_t all = draws.size();
  std::erase_if(draws, [](double draw) { return std::isnan(draw); });
  if (draws.empty() || 2 * draws.size() < all) return std::nullopt;
  std::ranges::sort(draws);
  const auto outside = static_cast<size_t>(tail_of(samples, confidence) * static_cast<double>(draws.size()));
  return Interval{draws[outside], draws[draws.size() - 1 - outside]};
}

/// Returns twice the probability of `fewer` heads or less among `count` throws of a coin, at most 1.
double coin_probability(size_t fewer, size_t count) {
  const auto all = static_cast<double>(count);
  double sum = 0;
  for (size_t i = 0; i <= fewer; ++i) {
    const auto heads = static_cast<double>(i);
    sum += std::exp(std::lgamma(all + 1) - std::lgamma(heads + 1) - std::lgamma(all - heads + 1) -
                    all * std::numbers::ln2);
  }
  return std::min(1.0, 2 * sum);
}

/// McNemar's exact test: only the samples that one side alone has right tell both apart.
std::optional<double> mcnemar(const std::string& first, const std::string& second) {
  if (first.empty() || first.size() != second.size()) return std::nullopt;
  size_t lost = 0, gained = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    lost += first[i] > second[i] ? 1 : 0;
    gained += first[i] < second[i] ? 1 : 0;
  }
  return coin_probability(std::min(lost, gained), lost + gained);
}

}  // namespace

SampledScore ratio_of(std::vector<Parts> samples, double (*finish)(double)) {
  SampledScore score;
  score.cost = samples.size();
  const auto counts = [](const Parts& one) { return one.bottom != 0; };
  const auto is_hit = [&](const Parts& one) {
    return !counts(one) || (one.bottom == 1 && (one.top == 0 || one.top == 1));
  };
  score.counted = static_cast<size_t>(std::ranges::count_if(samples, counts));
  if (finish == nullptr && std::ranges::all_of(samples, is_hit))
    for (const Parts& one : samples) score.hits += !counts(one) ? '-' : one.top == 1 ? '1' : '0';
  const auto shared = std::make_shared<const std::vector<Parts>>(std::move(samples));
  score.value = [shared, finish](Weights weights) {
    double top = 0, bottom = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      const double weight = weights[i];
      top += weights[i] == 0 ? 0 : weight * (*shared)[i].top;  // 0 times infinity is NaN
      bottom += weight * (*shared)[i].bottom;
    }
    const double ratio = top / bottom;
    return finish == nullptr ? ratio : finish(ratio);
  };
  return score;
}

std::vector<Resamples> resample(std::span<const SampledScore> scores, size_t samples) {
  std::vector<Resamples> found;
  size_t draws = 0;
  for (const SampledScore& score : scores) {
    const double affordable = kMostSteps / static_cast<double>(std::max<size_t>(1, score.cost));
    const size_t own =
        static_cast<size_t>(std::clamp(affordable, static_cast<double>(kFewestDraws), static_cast<double>(kMostDraws)));
    const size_t counted = score.counted.value_or(samples);
    found.push_back({samples, std::vector<double>(counted < 2 ? 0 : own), score.hits, score.counted, score.pairs});
    draws = std::max(draws, found.back().draws.size());
  }
  if (samples > std::numeric_limits<uint32_t>::max()) return found;
  parallel_pieces(static_cast<int64_t>(draws), kDrawsAtOnce, {}, [&](int64_t begin, int64_t end) {
    std::vector<uint16_t> weights(samples);
    for (int64_t draw = begin; draw < end; ++draw) {
      DrawRandom random(static_cast<uint64_t>(draw));
      std::ranges::fill(weights, 0);
      for (size_t i = 0; i < samples; ++i) ++weights[random.below(static_cast<uint32_t>(samples))];
      const auto at = static_cast<size_t>(draw);
      for (size_t i = 0; i < scores.size(); ++i)
        if (at < found[i].draws.size()) found[i].draws[at] = scores[i].value(weights);
    }
  });
  return found;
}

Resamples resample(const SampledScore& score, size_t samples) {
  return std::move(resample(std::span(&score, 1), samples)[0]);
}

std::optional<Interval> interval_of(const Resamples& samples, double value, double confidence) {
  if (samples.draws.empty() || std::isnan(value)) return std::nullopt;
  std::optional<Interval> found = quantiles_of(samples.draws, samples.counted(), confidence);
  if (!found || samples.hits.empty()) return found;
  // Draws of equal samples do not differ. The bound of Clopper and Pearson for them:
  const double end = std::pow((1 - confidence) / 2, 1 / static_cast<double>(samples.counted()));
  if (value == 1) found->low = end;
  if (value == 0) found->high = 1 - end;
  return found;
}

Status check_confidence(double confidence) {
  constexpr double kLeast = 0.5, kMost = 0.99;
  if (confidence >= kLeast && confidence <= kMost) return Status();
  return invalid_argument("--confidence: found ", confidence, ", allowed is ", kLeast, " to ", kMost);
}

std::optional<ScoreDifference> difference_of(const Measured& first, const Measured& second, double confidence) {
  const size_t draws = std::min(first.samples.draws.size(), second.samples.draws.size());
  if (draws == 0 || first.samples.samples != second.samples.samples) return std::nullopt;
  std::vector<double> differences(draws);
  for (size_t i = 0; i < draws; ++i) differences[i] = second.samples.draws[i] - first.samples.draws[i];
  const std::optional<Interval> interval = quantiles_of(std::move(differences), first.samples.counted(), confidence);
  if (!interval) return std::nullopt;
  return ScoreDifference{second.value - first.value, *interval, mcnemar(first.samples.hits, second.samples.hits)};
}

namespace {

/// Returns the number of samples, or of pairs, that the score is computed on.
size_t size_of(const Resamples& samples) { return samples.pairs.value_or(samples.counted()); }
const char* unit_of(const Resamples& samples) { return samples.pairs ? "pairs" : "samples"; }

/// Returns the number of samples or pairs at which the end of the interval reaches the bound if the value stays the
/// same.
double samples_needed(const ScoreGate& gate, const Measured& score, const Interval& interval) {
  const double distance = std::abs(score.value - gate.bound), count = static_cast<double>(size_of(score.samples));
  if (!score.samples.hits.empty()) {  // the interval of Wilson, which has a width for equal samples as well
    const double z = normal_quantile((1 + *gate.confidence) / 2);
    return z * z * gate.bound * (1 - gate.bound) / (distance * distance);
  }
  const double reach = std::abs(score.value - (gate.is_at_least ? interval.low : interval.high));
  return count * (reach / distance) * (reach / distance);
}

/// Two digits, rounded up: an estimate has no more.
std::string about(double count) {
  const double step = std::pow(10, std::max(0.0, std::floor(std::log10(count)) - 1));
  return cat(static_cast<uint64_t>(std::ceil(count / step) * step));
}

}  // namespace

std::string too_few_text(const Resamples& samples) {
  return cat("not enough ", unit_of(samples), " to tell, there are ", size_of(samples));
}

std::string why_missed(const ScoreGate& gate, const Measured& score, const std::optional<Interval>& interval) {
  constexpr double kMostSamples = 1e7;
  // Written so that NaN misses.
  const auto passes = [&](double value) { return gate.is_at_least ? value >= gate.bound : value <= gate.bound; };
  const std::string required = cat("required is ", gate.is_at_least ? "at least " : "at most ", gate.bound);
  if (!passes(score.value)) return cat(score.value, ", ", required);
  if (!gate.confidence) return "";
  if (!interval) return cat(score.value, " without an interval, ", required, ": not enough samples to tell");
  if (passes(gate.is_at_least ? interval->low : interval->high)) return "";
  const double needed =
      std::max(samples_needed(gate, score, *interval), static_cast<double>(size_of(score.samples)) + 1);
  const std::string enough = needed <= kMostSamples
                                 ? cat("about ", about(needed), " are enough if the value stays the same")
                                 : cat("no number of ", unit_of(score.samples), " is enough this close to the bound");
  return cat(score.value, " with a ", 100 * *gate.confidence, " % interval of ", interval->low, " to ", interval->high,
             ", ", required, ": ", too_few_text(score.samples), ", ", enough);
}

}  // namespace quarkq::compare
