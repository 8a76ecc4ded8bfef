// SPDX-License-Identifier: MIT
#include "base/suggest.h"

#include <algorithm>
#include <numeric>

#include "base/strings.h"

namespace quarkq {
namespace {

/// Levenshtein distance, by rows.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = lower_case(name);
  std::string best;
  size_t best_distance = name.size() / 3 + 2;  // names that differ by more than a third are unrelated
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(wanted, lower_case(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = nearest_name(name, candidates);
  return best.empty() ? "" : ", did you mean " + best + "?";
}

}  // namespace quarkq
