// SPDX-License-Identifier: MIT
// F1 of classes: the harmonic mean of precision and recall, averaged over the classes that occur.
#include "metrics/labelled_scores.h"
#include "metrics/ranks.h"

namespace quarkq::metrics {
namespace {

class F1 : public Scorer {
 public:
  explicit F1(LabelledReader reader) : reader_(std::move(reader)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const LabelledScores scores, reader_.read(results));
    if (counts_.size() < scores.classes) counts_.resize(scores.classes);
    for (size_t i = 0; i < scores.labels.size(); ++i) {
      const auto label = static_cast<size_t>(scores.labels[i]);
      const std::optional<size_t> chosen = highest_of(scores.of(i));
      ++counts_[label].labels;
      if (chosen) ++counts_[*chosen].chosen;
      if (chosen == label) ++counts_[label].hits;
    }
    return Status();
  }

  Result<double> value(int /*variant*/) const override {
    double sum = 0;
    size_t classes = 0;
    for (const Counts& one : counts_) {
      if (one.labels + one.chosen == 0) continue;
      sum += 2 * static_cast<double>(one.hits) / static_cast<double>(one.labels + one.chosen);
      ++classes;
    }
    return sum / static_cast<double>(classes);
  }

 private:
  struct Counts {
    size_t labels = 0, chosen = 0, hits = 0;
  };
  LabelledReader reader_;
  std::vector<Counts> counts_;  ///< by class
};

}  // namespace

ScorerResult open_f1(const ScoringOptions& options) {
  QQ_TRY(LabelledReader reader, LabelledReader::open(options));
  return std::unique_ptr<Scorer>(std::make_unique<F1>(std::move(reader)));
}

}  // namespace quarkq::metrics
