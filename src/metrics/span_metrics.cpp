// SPDX-License-Identifier: MIT
// Answers as spans of positions (SQuAD): exact match and F1 of the positions.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "metrics/scorer.h"
#include "metrics/truth/relations.h"

namespace quarkq::metrics {
namespace {

constexpr size_t kLongest = 30;  // Positions of an answer, as in the usual evaluation of SQuAD.

/// The first and the last position.
struct Span {
  double first = 0, last = -1;

  double size() const { return last - first + 1; }
};

double f1_of(const Span& found, const Span& wanted) {
  const double shared = std::min(found.last, wanted.last) - std::max(found.first, wanted.first) + 1;
  return shared <= 0 ? 0 : 2 * shared / (found.size() + wanted.size());
}

/// The span with the highest sum of logits. Empty if there are only NaN.
Span best_span(const double* starts, const double* ends, size_t length) {
  Span best;
  double most = -INFINITY;
  for (size_t first = 0; first < length; ++first) {
    for (size_t last = first; last < std::min(first + kLongest, length); ++last) {
      if (!(starts[first] + ends[last] > most)) continue;
      most = starts[first] + ends[last];
      best = {static_cast<double>(first), static_cast<double>(last)};
    }
  }
  return best;
}

class Spans : public Scorer {
 public:
  explicit Spans(std::vector<Relation> truth) : truth_(std::move(truth)) {}

  Status add(const SampleResults& results) override {
    QQ_TRY(const ir::Tensor* starts, output_with(results, "start"));
    QQ_TRY(const ir::Tensor* ends, output_with(results, "end"));
    ir::Shape dims = starts->dims();
    if (dims.size() == 3 && dims.back() == 1) dims.pop_back();
    if (dims != ends->dims() && starts->dims() != ends->dims())
      return bad_data("logits of starts and ends have other shapes: ", shape_text(starts->dims()), " and ",
                      shape_text(ends->dims()));
    if (dims.empty() || dims.size() > 2 || starts->size() == 0)
      return bad_data("found shape ", shape_text(dims), ", needed are logits [rows, length]");
    QQ_TRY(const std::vector<double> first, ir::to_double(*starts));
    QQ_TRY(const std::vector<double> last, ir::to_double(*ends));
    const auto length = static_cast<size_t>(dims.back());
    for (size_t begin = 0; begin < first.size(); begin += length)
      found_.push_back(best_span(first.data() + begin, last.data() + begin, length));
    lengths_.resize(found_.size(), length);
    names_.add(results.name, first.size() / length);
    return Status();
  }

  /// The best of the answers to a row counts.
  Result<compare::SampledScore> score(int variant) const override {
    std::map<size_t, double> scores;
    for (const Relation& one : truth_) {
      QQ_TRY(const size_t row, names_.find(one.rows[0], one.place));
      const Span wanted{one.numbers[0], one.numbers[1]};
      if (wanted.last >= static_cast<double>(lengths_[row]))
        return bad_data(one.place, ": the last position is ", wanted.last, ", the result has ", lengths_[row],
                        " positions, from 0");
      const bool is_same = found_[row].first == wanted.first && found_[row].last == wanted.last;
      double& score = scores[row];
      score = std::max(score, variant == 1 ? static_cast<double>(is_same) : f1_of(found_[row], wanted));
    }
    std::vector<compare::Parts> samples(names_.samples());
    for (const auto& [row, score] : scores) {
      compare::Parts& sample = samples[names_.sample_of(row)];
      sample.top += score;
      ++sample.bottom;
    }
    return compare::ratio_of(std::move(samples));
  }

 private:
  static Result<const ir::Tensor*> output_with(const SampleResults& results, const std::string& part) {
    const ir::Tensor* found = nullptr;
    for (size_t i = 0; i < results.outputs.size(); ++i) {
      if (lower_case(results.outputs[i]).find(part) == std::string::npos) continue;
      if (found != nullptr) return bad_data("several outputs have '", part, "' in their names");
      found = &results.values[i];
    }
    if (found != nullptr) return found;
    return bad_data("no output has '", part, "' in its name, found are ", join(results.outputs, ", "));
  }

  std::vector<Relation> truth_;
  std::vector<Span> found_;
  RowNames names_;
  std::vector<size_t> lengths_;  ///< Number of positions of each row.
};

}  // namespace

ScorerResult open_spans(const ScoringOptions& options) {
  const std::string& path = options.request.truth_path;
  QQ_TRY(std::vector<Relation> truth, read_relations(path, {1, 2, "name,first,last"}));
  for (const Relation& one : truth) {
    const bool is_whole = one.numbers[0] >= 0 && std::trunc(one.numbers[0]) == one.numbers[0] &&
                          std::trunc(one.numbers[1]) == one.numbers[1];
    if (!is_whole)
      return bad_data(one.place, ": found positions ", one.numbers[0], " and ", one.numbers[1],
                      ", allowed are whole numbers from 0");
    if (!(one.numbers[1] >= one.numbers[0]))
      return bad_data(one.place, ": the last position ", one.numbers[1], " is before the first, ", one.numbers[0]);
  }
  return std::unique_ptr<Scorer>(std::make_unique<Spans>(std::move(truth)));
}

}  // namespace quarkq::metrics
