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

// Samples of a language model from its tokens alone: what its other inputs hold follows from them.

/// How an input follows from the tokens [batch, length].
enum class TokenFill : uint8_t {
  kTokens,     ///< it is the tokens
  kMask,       ///< 1 for each token, 0 before them for what an input of the past holds
  kPositions,  ///< 0, 1, 2, ... along the last axis
  kZeros,      ///< the shape of the tokens
  kPast,       ///< keys and values of no tokens; zeros where the model fixes how many
  kNo,         ///< false
};

/// By input. Nothing unless one input takes integers of rank 2 and all others, at least one, have names and types that
/// say how they follow.
std::optional<std::vector<TokenFill>> token_fills(const std::vector<InputSpec>& inputs);

/// Whether `options` name a file or folder of arrays that has nothing for the inputs which follow from the tokens.
bool holds_tokens_alone(const FileTree& tree, const DataOptions& options, const std::vector<InputSpec>& inputs,
                        const std::vector<TokenFill>& fills);

/// Samples of all `inputs` from those of the tokens. kResource where an input of the past has no possible size.
Result<std::unique_ptr<DataReader>> fill_from_tokens(std::unique_ptr<DataReader> tokens, std::vector<InputSpec> inputs,
                                                     std::vector<TokenFill> fills);

/// What to do with `path`, a text or the files of a tokenizer, which is no data set; empty for other files.
std::string tokenize_first(const std::string& path);

/// Samples of `reader` with the inputs named in `channels_last` transposed (0, 2, 3, 1) where they have rank 4, and all
/// of them in the element types of `inputs`, which are those of the converted model. Shapes are not checked.
/// REQUIRES: `reader` outlives the result.
std::unique_ptr<DataReader> fit_samples(const DataReader& reader, std::vector<InputSpec> inputs,
                                        const std::set<std::string>& channels_last);

}  // namespace quarkq::calib
