// SPDX-License-Identifier: MIT
#include "tuning/goal.h"

#include <cmath>

#include "base/parse_number.h"

namespace quarkq::tuning {
namespace {

/// What is left of the sign, the sign, and what is right of it.
struct Parts {
  std::string left;
  bool is_at_most = false;
  double bound = 0;
  bool is_percent = false;
};

std::optional<Parts> parts_of(std::string text) {
  const size_t sign = text.find('=');
  if (sign == std::string::npos || sign == 0 || (text[sign - 1] != '<' && text[sign - 1] != '>')) return std::nullopt;
  Parts parts{text.substr(0, sign - 1), text[sign - 1] == '<'};
  text.erase(0, sign + 1);
  parts.is_percent = text.ends_with('%');
  if (parts.is_percent) text.pop_back();
  const std::optional<double> bound = parse_finite(text);
  if (!bound) return std::nullopt;
  parts.bound = *bound;
  return parts;
}

}  // namespace

bool Scale::is_better(double a, double b) const {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  return higher_is_better ? a > b : a < b;
}

Result<Goal> Goal::read(const std::string& text, const Scale& scale) {
  constexpr double kPercent = 100;
  Goal goal;
  goal.scale_ = scale;
  if (text.empty()) return goal;
  const std::optional<Parts> parts = parts_of(text);
  const bool is_drop = parts && parts->left == "drop" && parts->is_at_most && parts->bound >= 0;
  const bool is_share = scale.unit == "share";
  const bool is_value = parts && (parts->left == "value" || parts->left == scale.name) &&
                        parts->is_at_most != scale.higher_is_better && (!parts->is_percent || is_share);
  if (!is_drop && !is_value) {
    return invalid_argument("--goal: found ", text, ", allowed is drop<=X, drop<=X% or value",
                            scale.higher_is_better ? ">=X" : "<=X", " (", scale.name,
                            scale.higher_is_better ? ": higher" : ": lower", " is better)");
  }
  goal.kind_ = is_drop ? Kind::kDrop : Kind::kValue;
  goal.bound_ = parts->is_percent ? parts->bound / kPercent : parts->bound;
  goal.is_relative_ = is_drop && parts->is_percent && !is_share;
  return goal;
}

bool Goal::is_met(double value, std::optional<double> float_value) const {
  if (kind_ == Kind::kNone || std::isnan(value)) return false;
  if (kind_ == Kind::kValue) return scale_.higher_is_better ? value >= bound_ : value <= bound_;
  constexpr double kRounding = 1e-9;  // 0.8125 - 0.8075 is more than 0.005 in binary
  const double drop = scale_.higher_is_better ? *float_value - value : value - *float_value;
  return drop <= (is_relative_ ? bound_ * std::abs(*float_value) : bound_) + kRounding;
}

}  // namespace quarkq::tuning
