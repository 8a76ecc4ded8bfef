// SPDX-License-Identifier: MIT
// Agreement of a quantized language model with its float model, by text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quarkq {

/// A figure over all samples and the ends of its 95 % interval, from resampled samples.
struct IntervalFigure {
  double value = 0, low = 0, high = 0;
};

/// Greedy continuations of one prompt, the first half of a sample, by both models.
struct Continuation {
  std::string sample;
  size_t prompt = 0;                            ///< Number of ids of the prompt.
  size_t length = 0;                            ///< Number of ids that both models appended and that are compared.
  size_t same = 0;                              ///< Positions where both appended the same id.
  std::optional<size_t> first_difference = {};  ///< Position after the prompt, from 0; absent if all ids are equal.
};

/// Agreement of a language model with the float model on samples of token ids. docs/report.md has the limits.
struct TextAgreement {
  std::string output;                       ///< Name of the logits.
  size_t samples = 0, ids = 0;              ///< Number of samples, and of the ids that are predicted in them.
  IntervalFigure expected, found;           ///< Perplexity of the float and of the quantized model.
  IntervalFigure ratio;                     ///< `found` over `expected`.
  double same_next = 0;                     ///< Share of the positions where both predict the same next id.
  std::vector<Continuation> continuations;  ///< At most 16.
};

}  // namespace quarkq
