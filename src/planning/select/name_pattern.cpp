// SPDX-License-Identifier: MIT
#define _GLIBCXX_REGEX_STATE_LIMIT 10000  // NOLINT: of the C++ library; its own limit is 100,000 states for each letter
#include "planning/select/name_pattern.h"

#include <regex>

namespace quarkq::planning {
namespace {

constexpr size_t kMaxPatternBytes = 1000;  // brackets nest as deep, and the C++ library parses them by recursion

/// The C++ library's other way of matching goes one call deeper with each letter, and tries all ways of repeating. This
/// one follows all states at once.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

}  // namespace

struct NamePattern::Compiled {
  std::regex regex;
};

Result<NamePattern> NamePattern::parse(const std::string& text) {
  if (text.size() > kMaxPatternBytes)
    return invalid_argument("pattern '", text.substr(0, 40), "...' has ", text.size(), " bytes, allowed are ",
                            kMaxPatternBytes);
  try {
    NamePattern pattern;
    pattern.compiled_ = std::make_shared<const Compiled>(Compiled{std::regex(text, kSyntax)});
    return pattern;
  } catch (const std::regex_error& error) {
    if (error.code() == std::regex_constants::error_complexity)
      return invalid_argument("pattern '", text, "' refers to a group, which is not supported");
    return invalid_argument("pattern '", text, "' is malformed, ", error.what());
  }
}

bool NamePattern::matches(const std::string& name) const { return std::regex_search(name, compiled_->regex); }

}  // namespace quarkq::planning
