// SPDX-License-Identifier: MIT
// What the names in a list of passes (pass_list.h) mean: each is a conversion, or several (pass/conversions.def).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/pass_list.h"

namespace quarkq::config {

struct ListedPassInfo {
  std::string name, conversion;
  std::vector<std::string> parameters;  ///< the one that switches the pass on first
};
/// The names that a list may hold, in the order of `quarkq list listed-passes`.
std::vector<ListedPassInfo> listed_passes();

/// A conversion by name, and its options as `quarkq convert --pass` takes them.
struct ListedConversion {
  std::string name;
  std::map<std::string, std::string> options;
};

/// The conversions of a list, in its order. A pass that is not switched on is left out with a warning ("pass-not-on").
/// kInvalidArgument, with the line, for names and parameters that there are not, and for values of another kind.
Result<std::vector<ListedConversion>> conversions_of(const std::vector<ListedPass>& passes, Diagnostics& diagnostics);

}  // namespace quarkq::config
