// SPDX-License-Identifier: MIT
#include "pass/pass_info.h"

#include <algorithm>

#include "base/parse_text.h"
#include "base/strings.h"

namespace quarkq::pass {

const char* name(Phase phase) {
  static constexpr const char* kNames[] = {"select",    "convert",     "prepare",   "equalize", "adapt", "mark",
                                           "calibrate", "restructure", "constrain", "tune",     "write", "legalize"};
  return kNames[static_cast<size_t>(phase)];
}

namespace {

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

Result<std::vector<std::string>> list_parts(std::string_view text) {
  const std::string whole = trimmed(text);
  std::vector<std::string> parts;
  if (whole.empty()) return parts;
  if (whole.front() != '[') return std::vector<std::string>{whole};
  int depth = 0;
  std::string part;
  for (size_t i = 0; i < whole.size(); ++i) {
    const char c = whole[i];
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const bool is_end = depth == 0;
    if (depth < 0 || (is_end && i + 1 != whole.size()))
      return invalid_argument("found ", whole, ", whose brackets do not match, allowed is [a, b]");
    if ((c == ',' && depth == 1) || is_end) {
      parts.push_back(trimmed(part));
      part.clear();
    } else if (i > 0) {
      part += c;
    }
  }
  if (depth != 0) return invalid_argument("found ", whole, ", whose brackets do not match, allowed is [a, b]");
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

Result<ConversionOptions> ConversionOptions::read(std::string_view declared,
                                                  const std::map<std::string, std::string>& given) {
  ConversionOptions options;
  std::vector<std::string> names;
  QQ_TRY(const std::vector<std::string> entries, list_parts(cat("[", declared, "]")));
  for (const std::string& text : entries) {
    const size_t equals = text.find('=');
    names.push_back(text.substr(0, equals));
    const auto user = given.find(names.back());
    if (user != given.end()) {
      options.values_[names.back()] = user->second;
    } else if (equals == std::string::npos) {
      return invalid_argument("option ", names.back(), " is missing, it has no default");
    } else {
      options.values_[names.back()] = text.substr(equals + 1);
    }
  }
  for (const auto& [name, value] : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return invalid_argument("found option ", name, did_you_mean(name, names),
                            names.empty() ? ", this pass has no options" : cat(", allowed are ", join(names, ", ")));
  }
  return options;
}

Result<double> ConversionOptions::number(const std::string& name) const {
  const std::optional<double> value = parse_finite(text(name));
  if (value) return *value;
  return invalid_argument("option ", name, ": found ", text(name), ", allowed is a finite number");
}

Result<bool> ConversionOptions::flag(const std::string& name) const {
  if (text(name) == "true") return true;
  if (text(name) == "false") return false;
  return invalid_argument("option ", name, ": found ", text(name), ", allowed are true and false");
}

Result<std::vector<std::string>> ConversionOptions::list(const std::string& name) const {
  return list_parts(text(name)).context("option " + name);
}

}  // namespace quarkq::pass
