// SPDX-License-Identifier: MIT
#include "ir/axes.h"

#include <algorithm>

namespace quarkq::ir {

Result<std::vector<int64_t>> normalize_axes(std::span<const int64_t> axes, int64_t rank) {
  std::vector<int64_t> normalized;
  for (const int64_t axis : axes) {
    QQ_TRY(const int64_t place, normalize_axis(axis, rank));
    if (std::find(normalized.begin(), normalized.end(), place) != normalized.end()) {
      return corrupt_model("axis ", axis, " is named twice");
    }
    normalized.push_back(place);
  }
  return normalized;
}

bool is_permutation(std::span<const int64_t> order) {
  std::vector<bool> seen(order.size(), false);
  for (const int64_t place : order) {
    if (place < 0 || place >= static_cast<int64_t>(order.size()) || seen[static_cast<size_t>(place)]) return false;
    seen[static_cast<size_t>(place)] = true;
  }
  return true;
}

Status check_permutation(std::span<const int64_t> order, int64_t rank) {
  if (static_cast<int64_t>(order.size()) == rank && is_permutation(order)) return Status();
  return corrupt_model("[", join(order, ","), "] does not name each of ", rank, " dimensions once");
}

std::optional<int64_t> checked_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

}  // namespace quarkq::ir
