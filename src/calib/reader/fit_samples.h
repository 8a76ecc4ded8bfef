// SPDX-License-Identifier: MIT
// Samples for a model whose inputs were converted after the samples were opened.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "calib/reader/file_tree.h"

namespace quarkq::calib {

// Samples of a language model computed from its tokens: the contents of the other inputs follow from the tokens.

/// How an input follows from the tokens [batch, length].
enum class TokenFill : uint8_t {
  kTokens,     ///< The tokens themselves.
  kMask,       ///< 1 for each token, preceded by 0 for each entry of a past input.
  kPositions,  ///< 0, 1, 2, ... along the last axis.
  kZeros,      ///< Zeros in the shape of the tokens.
  kPast,       ///< Keys and values for no past tokens; zeros if the model fixes their number.
  kNo,         ///< False.
};

/// Returns the rule of each input. Returns nullopt unless exactly one input has integers of rank 2 and the names and
/// types of all others (at least one) determine their rule.
std::optional<std::vector<TokenFill>> token_fills(const std::vector<InputSpec>& inputs);

/// Returns whether `options` name a file or folder of arrays without files for the inputs that follow from the tokens.
bool holds_tokens_alone(const FileTree& tree, const DataOptions& options, const std::vector<InputSpec>& inputs,
                        const std::vector<TokenFill>& fills);

/// Returns samples of all `inputs` from samples of the tokens. Fails with kResource if a past input has no possible
/// size.
Result<std::unique_ptr<DataReader>> fill_from_tokens(std::unique_ptr<DataReader> tokens, std::vector<InputSpec> inputs,
                                                     std::vector<TokenFill> fills);

/// Returns advice if `path` is a text or tokenizer file rather than a data set, and an empty string otherwise.
std::string tokenize_first(const std::string& path);

/// Returns samples of `reader` in the element types of `inputs`, the inputs of the converted model. Inputs in
/// `channels_last` are transposed (0, 2, 3, 1) if they have rank 4. Does not check shapes. REQUIRES: `reader` outlives
/// the result.
std::unique_ptr<DataReader> fit_samples(const DataReader& reader, std::vector<InputSpec> inputs,
                                        const std::set<std::string>& channels_last);

}  // namespace quarkq::calib
