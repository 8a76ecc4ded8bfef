// SPDX-License-Identifier: MIT
// Small text helpers used for messages and names. cat() is the only way messages are put together.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace quarkq {

namespace internal {

/// What `print` prints. Memory that runs out is thrown: a stream alone would keep it to itself and cut the text.
template <typename Print>
std::string printed(const Print& print) {
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);
  try {
    print(out);
  } catch (const std::ios_base::failure&) {  // a null pointer for characters prints nothing
  }
  return out.str();
}

}  // namespace internal

/// The arguments printed one after the other, as operator<< prints them.
template <typename... Args>
std::string cat(const Args&... args) {
  return internal::printed([&](std::ostream& out) { (out << ... << args); });
}

std::vector<std::string> split(std::string_view text, char separator);

/// The parts with `separator` between them.
template <typename Range>
std::string join(const Range& parts, std::string_view separator) {
  return internal::printed([&](std::ostream& out) {
    bool first = true;
    for (const auto& part : parts) {
      if (!first) out << separator;
      out << part;
      first = false;
    }
  });
}

/// Dimensions as "[1,3,224,224]"; negative ones print as "?".
std::string shape_text(const std::vector<long>& dims);

/// `bytes` for people: "812 B", "3.4 MB" (powers of 1000).
std::string bytes_text(double bytes);

}  // namespace quarkq
