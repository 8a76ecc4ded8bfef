// SPDX-License-Identifier: MIT
// The text that a recognizer trained with CTC reads: scores of symbols, step by step.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::metrics {

/// The symbols of the classes from 1 on; class 0 is the blank.
struct Alphabet {
  std::string path;
  std::vector<std::string> symbols;

  /// A text file with a symbol in each line. An empty one writes nothing.
  static Result<Alphabet> read(const std::string& path);
};

/// Of the class that scores highest at each step, repeats and blanks left out; a step with a NaN is a blank. `scores`:
/// [1, steps, classes] or [steps, 1, classes]; one class more than blank and lines is the space. Fails with kBadData
/// when the shape does not fit.
Result<std::string> decode_ctc(const ir::Tensor& scores, const Alphabet& alphabet);

// Texts as characters or words, and how many of them differ.

using Parts = std::vector<std::string_view>;  ///< of a text that outlives them

/// Unicode code points of UTF-8; of other bytes each that cannot go on a character begins one.
Parts characters_of(std::string_view text);
/// What stands between blanks.
Parts words_of(std::string_view text);

/// The fewest parts to insert, remove or replace that make `b` of `a`: takes time in proportion to both lengths.
size_t edits_between(std::span<const std::string_view> a, std::span<const std::string_view> b);

}  // namespace quarkq::metrics
