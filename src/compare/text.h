// SPDX-License-Identifier: MIT
// Language models judged by text: perplexity, the next token, and greedy continuations of both models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/run_models.h"
#include "ir/graph.h"
#include "quarkq/quantize_report.h"
#include "quarkq/text_agreement.h"

namespace quarkq::compare {

/// Sums of one sample.
struct TextSums {
  double expected = 0, found = 0;  ///< Sums of -ln of the probability of each id by the float and the quantized model.
  size_t ids = 0, same = 0;        ///< Predicted ids, and those where the most likely id is the same.
};

/// Returns the figures without continuations. Intervals come from 1000 draws of the samples with replacement, from a
/// fixed seed. REQUIRES: the samples have ids.
TextAgreement summarize_text(const std::vector<TextSums>& samples);

/// Returns the grade of the perplexities: within 2 % is good, within 5 % fair.
TaskAgreement text_task(const TextAgreement& text);

struct ComparedText {
  std::optional<TextAgreement> agreement = {};
  std::string why_not = {};  ///< Why a language model has no agreement; empty if the model is none.
};

/// Compares two models with the same inputs and outputs on samples of token ids. A model whose logits depend on later
/// ids, such as a masked encoder, is not a language model. `prepare` is applied to copies of both.
Result<ComparedText> compare_text(const ir::Model& reference, const ir::Model& quantized, Prepare prepare,
                                  const ChosenSamples& samples);

}  // namespace quarkq::compare
