// SPDX-License-Identifier: MIT
// Top-k accuracy: how often the right class is among the k that score highest.
#include <algorithm>

#include "metrics/ranks.h"
#include "metrics/scorer.h"
#include "metrics/truth/labels.h"

namespace quarkq::metrics {
namespace {

class TopK : public Scorer {
 public:
  TopK(Labels labels, std::string output) : labels_(std::move(labels)), output_(std::move(output)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const ir::Tensor* scores, results_of(results, output_));
    QQ_TRY(const std::span<const int64_t> labels, labels_.of(results.number, results.name));
    QQ_TRY(const size_t classes, classes_for(scores->dims(), labels));
    QQ_TRY(const std::vector<double> values, ir::to_double(*scores));
    if (hits_.size() < classes) hits_.resize(classes);
    for (size_t i = 0; i < labels.size(); ++i) {
      const size_t rank = rank_of(std::span(values).subspan(i * classes, classes), static_cast<size_t>(labels[i]));
      if (rank != kNowhere) ++hits_[rank];
    }
    decisions_ += labels.size();
    return Status();
  }

  Result<double> value(int variant) const override {
    const size_t k = std::min(static_cast<size_t>(variant), hits_.size());
    size_t hits = 0;
    for (size_t rank = 0; rank < k; ++rank) hits += hits_[rank];
    return static_cast<double>(hits) / static_cast<double>(decisions_);
  }

 private:
  Labels labels_;
  std::string output_;
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
  QQ_TRY(Labels labels, Labels::read(options.request.truth_path));
  QQ_RETURN_IF_ERROR(labels.share_out(options.samples, options.is_part));
  return std::unique_ptr<Scorer>(std::make_unique<TopK>(std::move(labels), options.request.output));
}

}  // namespace quarkq::metrics
