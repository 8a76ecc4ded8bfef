// SPDX-License-Identifier: MIT
// Top-k accuracy: how often the right class is among the k that score highest.
#include <algorithm>

#include "metrics/labelled_scores.h"
#include "metrics/ranks.h"

namespace quarkq::metrics {
namespace {

class TopK : public Scorer {
 public:
  explicit TopK(LabelledReader reader) : reader_(std::move(reader)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const LabelledScores scores, reader_.read(results));
    if (hits_.size() < scores.classes) hits_.resize(scores.classes);
    for (size_t i = 0; i < scores.labels.size(); ++i) {
      const size_t rank = rank_of(scores.of(i), static_cast<size_t>(scores.labels[i]));
      if (rank != kNowhere) ++hits_[rank];
    }
    decisions_ += scores.labels.size();
    return Status();
  }

  Result<double> value(int variant) const override {
    const size_t k = std::min(static_cast<size_t>(variant), hits_.size());
    size_t hits = 0;
    for (size_t rank = 0; rank < k; ++rank) hits += hits_[rank];
    return static_cast<double>(hits) / static_cast<double>(decisions_);
  }

 private:
  LabelledReader reader_;
  std::vector<size_t> hits_;  ///< by the rank of the right class
  size_t decisions_ = 0;
};

}  // namespace

Result<const ir::Tensor*> results_of(const SampleResults& results, const std::string& name) {
  if (name.empty() && results.values.size() == 1) return &results.values[0];
  for (size_t i = 0; i < results.outputs.size(); ++i) {
    if (results.outputs[i] == name) return &results.values[i];
  }
  return invalid_argument("--labels-output: found ", name.empty() ? "nothing" : name,
                          ", allowed is one of the outputs ", join(results.outputs, ", "));
}

ScorerResult open_top_k(const ScoringOptions& options) {
  QQ_TRY(LabelledReader reader, LabelledReader::open(options));
  return std::unique_ptr<Scorer>(std::make_unique<TopK>(std::move(reader)));
}

}  // namespace quarkq::metrics
