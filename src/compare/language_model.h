// SPDX-License-Identifier: MIT
// Language models by their structure: ids of tokens go in, and logits of the next token come out for each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calib/data_reader.h"
#include "compare/run_models.h"
#include "ir/graph.h"

namespace quarkq::compare {

/// Positions among the required inputs and the outputs of a graph.
struct LanguageModel {
  size_t ids = 0;          ///< Input of token ids, [batch, length].
  size_t logits = 0;       ///< Output [batch, length, vocabulary].
  int64_t vocabulary = 0;  ///< Rows of the embedding table.
  bool operator==(const LanguageModel&) const = default;
};

/// Returns the integer input that a Gather of a constant table reads, and the floating-point output of rank 3 whose
/// last dimension is the number of rows of that table. Tables may be quantized (DequantizeLinear,
/// GatherBlockQuantized). Returns nullopt if there are none.
std::optional<LanguageModel> find_language_model(const ir::Graph& graph);

/// The part of a row that holds text: from `begin` up to `end`, without padding.
struct TextSpan {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end - begin; }
  /// First position that a continuation of the first half fills in.
  int64_t middle() const { return begin + (length() + 1) / 2; }
  bool operator==(const TextSpan&) const = default;
};

/// A sample of a language model.
struct Passage {
  std::string name;
  int64_t length = 0;           ///< Ids of a row.
  std::vector<int64_t> ids;     ///< [rows, length]
  std::vector<TextSpan> spans;  ///< One per row.

  /// Calls `use` with the place in [rows, length] of each id that the ids before it predict.
  template <typename Use>
  void for_each_predicted(const Use& use) const {
    for (size_t row = 0; row < spans.size(); ++row)
      for (int64_t i = spans[row].begin + 1; i < spans[row].end; ++i)
        use(row * static_cast<size_t>(length) + static_cast<size_t>(i));
  }
};

/// Returns the inputs of a sample with these ids instead. REQUIRES: read_passage() accepted the sample, and `ids` has
/// the size of its ids.
Tensors with_ids(Tensors inputs, const LanguageModel& model, const std::vector<int64_t>& ids);

/// Returns the sample as rows of text. An input of zeros and ones as long as the ids, or longer by a past, masks what
/// is padding; names do not matter. Returns nullopt if the ids are not [batch, length] or not below the vocabulary.
Result<std::optional<Passage>> read_passage(const LanguageModel& model, const calib::Sample& sample);

/// Judgement of each id after the first by the logits before it.
struct NextIds {
  std::vector<double> surprise;  ///< -ln of the probability of the id at this position, [rows, length]; 0 at the first.
  std::vector<int64_t> likeliest;  ///< Most likely id for this position, [rows, length]; -1 at the first and for NaN.
};

/// Returns nullopt if the logits do not have the dimensions [rows, length, vocabulary] of the passage.
Result<std::optional<NextIds>> next_ids(const ir::Tensor& logits, const Passage& passage,
                                        const std::vector<int64_t>& ids, int64_t vocabulary);

}  // namespace quarkq::compare
