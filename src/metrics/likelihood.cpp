// SPDX-License-Identifier: MIT
// How probable a model holds the right labels, by the softmax of its logits: perplexity, and bits per label.
#include <cmath>
#include <numbers>

#include "metrics/labelled_scores.h"

namespace quarkq::metrics {
namespace {

/// -ln of the probability of `label`. NaN where softmax has no value: at a NaN, and when the highest score is infinite.
double surprise(std::span<const double> logits, size_t label) {
  double highest = -INFINITY;
  for (const double logit : logits) {
    if (std::isnan(logit)) return NAN;
    highest = std::max(highest, logit);
  }
  if (std::isinf(highest)) return NAN;
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - highest);  // one of them is 1, so it cannot overflow
  return std::log(sum) - (logits[label] - highest);
}

class Likelihood : public Scorer {
 public:
  explicit Likelihood(LabelledReader reader) : reader_(std::move(reader)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const LabelledScores scores, reader_.read(results));
    for (size_t i = 0; i < scores.labels.size(); ++i) {
      surprise_ += surprise(scores.of(i), static_cast<size_t>(scores.labels[i]));
    }
    labels_ += scores.labels.size();
    return Status();
  }

  Result<double> value(int variant) const override {
    const double mean = surprise_ / static_cast<double>(labels_);
    return variant == 0 ? std::exp(mean) : mean / std::numbers::ln2;
  }

 private:
  LabelledReader reader_;
  double surprise_ = 0;
  size_t labels_ = 0;
};

}  // namespace

ScorerResult open_likelihood(const ScoringOptions& options) {
  QQ_TRY(LabelledReader reader, LabelledReader::open(options));
  return std::unique_ptr<Scorer>(std::make_unique<Likelihood>(std::move(reader)));
}

}  // namespace quarkq::metrics
