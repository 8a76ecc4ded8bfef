// SPDX-License-Identifier: MIT
#include "metrics/label_metrics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quarkq::metrics {

namespace {

/// Whether the last dimension above 1 has one entry per class.
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
    for (size_t i = 0; i < scores.labels.size(); ++i) {
      const auto label = static_cast<size_t>(scores.labels[i]);
      decisions_.push_back({samples_, label, highest_of(scores.of(i)).value_or(kNowhere)});
    }
    classes_ = std::max(classes_, scores.classes);
    ++samples_;
    return Status();
  }

  Result<compare::SampledScore> score(int /*variant*/) const override {
    return compare::SampledScore{[this](compare::Weights weights) { return mean(weights); },
                                 decisions_.size() + classes_};
  }

 private:
  struct Decision {
    size_t sample = 0, label = 0, chosen = 0;  ///< kNowhere: nothing was chosen.
  };
  struct Counts {
    size_t labels_and_chosen = 0, hits = 0;
  };

  double mean(compare::Weights weights) const {
    std::vector<Counts> counts(classes_);
    for (const Decision& one : decisions_) {
      const size_t weight = weights[one.sample];
      counts[one.label].labels_and_chosen += weight;
      if (one.chosen != kNowhere) counts[one.chosen].labels_and_chosen += weight;
      if (one.chosen == one.label) counts[one.label].hits += weight;
    }
    double sum = 0;
    size_t classes = 0;
    for (const Counts& one : counts) {
      if (one.labels_and_chosen == 0) continue;
      sum += 2 * static_cast<double>(one.hits) / static_cast<double>(one.labels_and_chosen);
      ++classes;
    }
    return sum / static_cast<double>(classes);
  }

  LabelledReader reader_;
  std::vector<Decision> decisions_;
  size_t classes_ = 0, samples_ = 0;
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
    compare::Parts& sample = samples_.emplace_back();
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0) continue;  // padding, and all but the first token of a word
      const auto label = static_cast<size_t>(labels[i]);
      const size_t chosen = highest_of(std::span(values).subspan(i * classes, classes)).value_or(0);
      sample.bottom += (label != 0 ? 1 : 0) + (chosen != 0 ? 1 : 0);
      sample.top += label != 0 && chosen == label ? 2 : 0;
      is_labelled_ = is_labelled_ || label != 0;
    }
    return Status();
  }

  Result<compare::SampledScore> score(int /*variant*/) const override {
    if (!is_labelled_) return bad_data("all labels are 0, outside of all classes");
    return compare::ratio_of(samples_);
  }

 private:
  Labels labels_;
  std::string output_;
  std::vector<compare::Parts> samples_;  ///< Twice the hits, and the number of labelled and of chosen tokens.
  bool is_labelled_ = false;
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

// How probable a model considers the right labels, by the softmax of its logits: perplexity, and bits per label.

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
    double sum = 0;
    for (size_t i = 0; i < scores.labels.size(); ++i)
      sum += surprise(scores.of(i), static_cast<size_t>(scores.labels[i]));
    samples_.push_back({sum, static_cast<double>(scores.labels.size())});
    return Status();
  }

  Result<compare::SampledScore> score(int variant) const override {
    const auto perplexity = [](double mean) { return std::exp(mean); };
    const auto bits = [](double mean) { return mean / std::numbers::ln2; };
    return variant == 0 ? compare::ratio_of(samples_, perplexity) : compare::ratio_of(samples_, bits);
  }

 private:
  LabelledReader reader_;
  std::vector<compare::Parts> samples_;
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
    for (size_t i = 0; i < scores.labels.size(); ++i)
      ranks_.push_back(rank_of(scores.of(i), static_cast<size_t>(scores.labels[i])));
    ends_.push_back(ranks_.size());
    return Status();
  }

  Result<compare::SampledScore> score(int variant) const override {
    std::vector<compare::Parts> samples;
    samples.reserve(ends_.size());
    size_t begin = 0;
    for (const size_t end : ends_) {
      const auto is_hit = [&](size_t rank) { return rank < static_cast<size_t>(variant); };
      const std::span ranks = std::span(ranks_).subspan(begin, end - begin);
      samples.push_back({static_cast<double>(std::ranges::count_if(ranks, is_hit)), static_cast<double>(ranks.size())});
      begin = end;
    }
    return compare::ratio_of(std::move(samples));
  }

 private:
  LabelledReader reader_;
  std::vector<size_t> ranks_;  ///< Ranks of the right classes, sample after sample.
  std::vector<size_t> ends_;   ///< Per sample, the end of its ranks.
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
