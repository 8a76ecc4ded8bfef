// SPDX-License-Identifier: MIT
// Texts as characters or words, and how many of them differ.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace quarkq::metrics {

using Parts = std::vector<std::string_view>;  ///< of a text that outlives them

/// Unicode code points of UTF-8; of other bytes each that cannot go on a character begins one.
Parts characters_of(std::string_view text);
/// What stands between blanks.
Parts words_of(std::string_view text);

/// The fewest parts to insert, remove or replace that make `b` of `a`: takes time in proportion to both lengths.
size_t edits_between(std::span<const std::string_view> a, std::span<const std::string_view> b);

}  // namespace quarkq::metrics
