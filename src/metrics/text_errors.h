// SPDX-License-Identifier: MIT
// The text read by a recognizer trained with CTC, from scores of symbols per step.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::metrics {

/// The symbols of classes 1 and higher; class 0 is the blank.
struct Alphabet {
  std::string path;
  std::vector<std::string> symbols;

  /// Reads a text file with one symbol per line. An empty line produces no text.
  static Result<Alphabet> read(const std::string& path);
};

/// Returns the text of the highest-scoring class at each step, without repeats and blanks; a step with a NaN is a
/// blank. `scores` is [1, steps, classes] or [steps, 1, classes]; one class more than blank and lines is the space.
/// Fails with kBadData if the shape does not match.
Result<std::string> decode_ctc(const ir::Tensor& scores, const Alphabet& alphabet);

// Division of texts into characters or words, and the number of differences.

using Parts = std::vector<std::string_view>;  ///< Views of a text that outlives them.

/// Returns the Unicode code points of UTF-8. Each invalid byte starts a new character.
Parts characters_of(std::string_view text);
/// Returns the words, separated by blanks.
Parts words_of(std::string_view text);

/// Returns the smallest number of parts to insert, remove or replace that converts `a` to `b`. Takes time proportional
/// to the product of both lengths.
size_t edits_between(std::span<const std::string_view> a, std::span<const std::string_view> b);

}  // namespace quarkq::metrics
