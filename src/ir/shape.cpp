// SPDX-License-Identifier: MIT
#include "ir/shape.h"

#include <algorithm>

#include "base/error.h"

namespace quarkq::ir {

bool ValueType::is_static() const {
  return has_shape && std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.known(); });
}

Shape ValueType::shape() const {
  Shape shape;
  for (const Dim& dim : dims) shape.push_back(dim.size);
  return shape;
}

Result<int64_t> element_count(const Shape& shape) {
  int64_t count = 1;
  bool has_zero = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return resource_error("shape ", shape_text(shape), ": negative dimension");
    if (dim == 0) {
      has_zero = true;
      continue;
    }
    if (count > kMostElements / dim) return resource_error("shape ", shape_text(shape), ": more than 2^48 elements");
    count *= dim;
  }
  return has_zero ? int64_t{0} : count;
}

int64_t checked_count(const Shape& shape) {
  const Result<int64_t> count = element_count(shape);
  QQ_CHECK(count.ok());
  return count.value();
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1) {
      return corrupt_model("shapes ", shape_text(a), " and ", shape_text(b), " do not broadcast");
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Result<int64_t> normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return corrupt_model("axis ", axis, " is outside of [", -rank, ",", rank - 1, "]");
  }
  return axis < 0 ? axis + rank : axis;
}

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
