// SPDX-License-Identifier: MIT
// Language models by the ids of their own samples, which need no labels.
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "compare/language_model.h"
#include "metrics/scorer.h"

namespace quarkq::metrics {

namespace {

class NextTokens : public Scorer {
 public:
  explicit NextTokens(const compare::LanguageModel& model) : model_(model) {}

  Status add(const SampleResults& results) override {
    if (results.inputs == nullptr || model_.logits >= results.values.size())
      return bad_data("the ids of the samples are not there");
    QQ_TRY(const std::optional<compare::Passage> passage,
           compare::read_passage(model_, {results.name, *results.inputs, {}}));
    if (!passage) return bad_data("needs ids [batch, length] below ", model_.vocabulary);
    QQ_TRY(const std::optional<compare::NextIds> next,
           compare::next_ids(results.values[model_.logits], *passage, passage->ids, model_.vocabulary));
    if (!next) return bad_data("its logits are not [batch, length, ", model_.vocabulary, "]");
    compare::Parts surprise, likeliest;
    passage->for_each_predicted([&](size_t at) {
      surprise.top += next->surprise[at];
      likeliest.top += next->likeliest[at] == passage->ids[at] ? 1 : 0;
      ++surprise.bottom, ++likeliest.bottom;
    });
    surprise_.push_back(surprise);
    likeliest_.push_back(likeliest);
    return Status();
  }

  Result<compare::SampledScore> score(int variant) const override {
    if (std::ranges::all_of(surprise_, [](const compare::Parts& one) { return one.bottom == 0; }))
      return bad_data("the samples have no ids to predict: rows of one id, or only padding");
    return variant == 0 ? compare::ratio_of(surprise_, [](double mean) { return std::exp(mean); })
                        : compare::ratio_of(likeliest_);
  }

 private:
  compare::LanguageModel model_;
  std::vector<compare::Parts> surprise_, likeliest_;  ///< Per sample, with the number of predicted ids.
};

}  // namespace

ScorerResult open_next_tokens(const ScoringOptions& options) {
  if (!options.text) {
    return invalid_argument(
        "--metric text_perplexity, next_token: need a language model with its samples, of an input of ",
        "token ids and an output [batch, length, vocabulary]; labels of other results: perplexity");
  }
  return std::unique_ptr<Scorer>(std::make_unique<NextTokens>(*options.text));
}

}  // namespace quarkq::metrics
