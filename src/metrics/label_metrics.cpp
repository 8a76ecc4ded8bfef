// SPDX-License-Identifier: MIT
#include "metrics/label_metrics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quarkq::metrics {

namespace {

/// Classes lie side by side, in the last dimension that is more than one.
bool has_classes_last(const ir::Shape& dims, size_t classes) {
  const auto last = std::find_if(dims.rbegin(), dims.rend(), [](int64_t dim) { return dim != 1; });
  return last != dims.rend() && static_cast<size_t>(*last) == classes;
}

}  // namespace

size_t rank_of(std::span<const double> scores, size_t label) {
  size_t rank = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return kNowhere;
    if (scores[i] > scores[label] || (scores[i] == scores[label] && i < label)) ++rank;
  }
  return rank;
}

std::optional<size_t> highest_of(std::span<const double> scores) {
  size_t highest = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) return std::nullopt;
    if (scores[i] > scores[highest]) highest = i;
  }
  return highest;
}

Result<size_t> classes_for(const ir::Shape& dims, std::span<const int64_t> labels) {
  const size_t values = static_cast<size_t>(ir::checked_count(dims)), classes = values / labels.size();
  if (values % labels.size() != 0 || classes < 2 || !has_classes_last(dims, classes)) {
    return bad_data("shape ", shape_text(dims), " does not contain class scores for ", labels.size(),
                    labels.size() == 1 ? " label" : " labels");
  }
  for (const int64_t label : labels) {
    if (label < 0 || static_cast<size_t>(label) >= classes) {
      return bad_data("its label is ", label, ", there are scores of ", classes, " classes");
    }
  }
  return classes;
}

Result<LabelledReader> LabelledReader::open(const ScoringOptions& options) {
  LabelledReader reader;
  reader.output_ = options.request.output;
  QQ_TRY(reader.labels_, Labels::read(options.request.truth_path));
  QQ_RETURN_IF_ERROR(reader.labels_.share_out(options.samples, options.is_part));
  return reader;
}

Result<LabelledScores> LabelledReader::read(const SampleResults& results) const {
  LabelledScores read;
  QQ_TRY(const ir::Tensor* scores, results_of(results, output_));
  QQ_TRY(read.labels, labels_.of(results.number, results.name));
  QQ_TRY(read.classes, classes_for(scores->dims(), read.labels));
  QQ_TRY(read.values, ir::to_double(*scores));
  return read;
}

// F1 of classes: the harmonic mean of precision and recall, averaged over the classes that occur.

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

/// F1 of tokens that are not outside of all classes (class 0), over all classes together.
class TokenF1 : public Scorer {
 public:
  TokenF1(Labels labels, std::string output) : labels_(std::move(labels)), output_(std::move(output)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const ir::Tensor* scores, results_of(results, output_));
    QQ_TRY(const std::span<const int64_t> labels, labels_.of(results.number, results.name));
    std::vector<int64_t> known(labels.begin(), labels.end());
    for (int64_t& label : known) label = std::max<int64_t>(label, 0);
    QQ_TRY(const size_t classes, classes_for(scores->dims(), known));
    QQ_TRY(const std::vector<double> values, ir::to_double(*scores));
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0) continue;  // padding, and all but the first token of a word
      const auto label = static_cast<size_t>(labels[i]);
      const size_t chosen = highest_of(std::span(values).subspan(i * classes, classes)).value_or(0);
      labelled_ += label != 0 ? 1 : 0;
      chosen_ += chosen != 0 ? 1 : 0;
      hits_ += label != 0 && chosen == label ? 1 : 0;
    }
    return Status();
  }

  Result<double> value(int /*variant*/) const override {
    if (labelled_ == 0) return bad_data("all labels are 0, outside of all classes");
    return 2 * hits_ / (labelled_ + chosen_);
  }

 private:
  Labels labels_;
  std::string output_;
  double labelled_ = 0, chosen_ = 0, hits_ = 0;
};

}  // namespace

ScorerResult open_token_f1(const ScoringOptions& options) {
  Labels labels;
  QQ_TRY(labels, Labels::read(options.request.truth_path));
  QQ_RETURN_IF_ERROR(labels.share_out(options.samples, options.is_part));
  return std::unique_ptr<Scorer>(std::make_unique<TokenF1>(std::move(labels), options.request.output));
}

ScorerResult open_f1(const ScoringOptions& options) {
  QQ_TRY(LabelledReader reader, LabelledReader::open(options));
  return std::unique_ptr<Scorer>(std::make_unique<F1>(std::move(reader)));
}

// How probable a model holds the right labels, by the softmax of its logits: perplexity, and bits per label.

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

// Top-k accuracy: how often the right class is among the k that score highest.

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
