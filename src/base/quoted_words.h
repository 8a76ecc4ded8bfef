// SPDX-License-Identifier: MIT
// Lines of list files: words between spaces, quotes that keep spaces, comments from '#' on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace quarkq {

/// Returns the words of a line. A quote may begin anywhere in a word: name="a b.npy". Fails with kBadData for control
/// characters and for a quote without its end.
Result<std::vector<std::string>> quoted_words(std::string_view line);

}  // namespace quarkq
