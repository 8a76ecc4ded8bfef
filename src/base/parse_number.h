// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace quarkq {

/// The finite number that `text` is as a whole, without blanks or sign +. Nothing when it is not.
inline std::optional<double> parse_finite(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace quarkq
