// SPDX-License-Identifier: MIT
// Language models by the ids of their own samples, which need no labels.
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
    passage->for_each_predicted([&](size_t at) {
      surprise_ += next->surprise[at];
      likeliest_ += next->likeliest[at] == passage->ids[at] ? 1 : 0;
      ++ids_;
    });
    return Status();
  }

  Result<double> value(int variant) const override {
    if (ids_ == 0) return bad_data("the samples have no ids to predict: rows of one id, or only padding");
    const auto ids = static_cast<double>(ids_);
    return variant == 0 ? std::exp(surprise_ / ids) : static_cast<double>(likeliest_) / ids;
  }

 private:
  compare::LanguageModel model_;
  double surprise_ = 0;
  size_t likeliest_ = 0, ids_ = 0;
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
