// SPDX-License-Identifier: MIT
// Small text helpers used for messages and names. cat() is the only way messages are put together.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace quarkq {

/// The arguments printed one after the other, as operator<< prints them.
template <typename... Args>
std::string cat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

std::vector<std::string> split(std::string_view text, char separator);

/// The parts with `separator` between them.
template <typename Range>
std::string join(const Range& parts, std::string_view separator) {
  std::ostringstream out;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) out << separator;
    out << part;
    first = false;
  }
  return out.str();
}

/// Dimensions as "[1,3,224,224]"; negative ones print as "?".
std::string shape_text(const std::vector<long>& dims);

/// `bytes` for people: "812 B", "3.4 MB" (powers of 1000).
std::string bytes_text(double bytes);

}  // namespace quarkq
