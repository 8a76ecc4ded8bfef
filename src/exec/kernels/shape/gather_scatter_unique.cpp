// SPDX-License-Identifier: MIT
// Unique: slices of an axis are sorted and equal neighbours joined. How many are left depends on the data, so all of it
// happens in prepare.
#include <numeric>

#include "exec/kernels/shape/gather_scatter.h"

#include "base/index.h"

namespace quarkq::exec {
namespace {

/// Compares slices [outer, inner] of an axis element by element. NaN is larger than everything and equal to itself.
template <typename T>
class SliceOrder {
 public:
  SliceOrder(const T* x, const AxisView& v) : x_(x), v_(v) {}

  /// Below, equal to or above zero.
  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < v_.outer; ++o) {
      for (int64_t i = 0; i < v_.inner; ++i) {
        const auto l = Compute<T>(x_[(o * v_.count + a) * v_.inner + i]);
        const auto r = Compute<T>(x_[(o * v_.count + b) * v_.inner + i]);
        if (l < r || (l == l && r != r)) return -1;
        if (l > r || (l != l && r == r)) return 1;
      }
    }
    return 0;
  }

 private:
  const T* x_;
  AxisView v_;
};

struct UniqueSlices {
  std::vector<int64_t> first;    ///< of each unique slice: where it occurs first
  std::vector<int64_t> inverse;  ///< of each slice: which unique one it is
  std::vector<int64_t> counts;
};

template <typename T>
UniqueSlices find_unique(const T* x, const AxisView& v) {
  const SliceOrder<T> slices(x, v);
  std::vector<int64_t> order(as_index(v.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return slices.compare(a, b) < 0; });
  UniqueSlices unique;
  unique.inverse.resize(order.size());
  for (const int64_t slice : order) {
    if (unique.first.empty() || slices.compare(unique.first.back(), slice) != 0) {
      unique.first.push_back(slice);
      unique.counts.push_back(0);
    }
    ++unique.counts.back();
    unique.inverse[as_index(slice)] = static_cast<int64_t>(unique.first.size()) - 1;
  }
  return unique;
}

/// Puts the unique slices into the order of their first occurrence.
void sort_by_occurrence(UniqueSlices& unique) {
  std::vector<int64_t> order(unique.first.size()), place(unique.first.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return unique.first[as_index(a)] < unique.first[as_index(b)]; });
  UniqueSlices sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    place[as_index(order[i])] = static_cast<int64_t>(i);
    sorted.first.push_back(unique.first[as_index(order[i])]);
    sorted.counts.push_back(unique.counts[as_index(order[i])]);
  }
  for (const int64_t index : unique.inverse) sorted.inverse.push_back(place[as_index(index)]);
  unique = std::move(sorted);
}

}  // namespace

Result<Kernel> prepare_unique(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  const bool flat = p.node().find("axis") == nullptr;
  QQ_TRY(const int64_t axis, flat ? Result<int64_t>(0) : p.axis(p.node().int_or("axis", 0), x.rank()));
  const AxisView view = flat ? AxisView{1, product(x.dims), 1} : axis_view(x.dims, axis);
  if (x.constant == nullptr) return Prepare::defer();
  UniqueSlices unique;
  const bool known = visit_number_or_bool(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    unique = find_unique(reinterpret_cast<const T*>(x.constant->raw()), view);
  });
  if (!known) return p.cannot("input 0 is ", name(x.type), ", allowed: numbers and BOOL");
  if (p.node().int_or("sorted", 1) == 0) sort_by_occurrence(unique);
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  const auto count = static_cast<int64_t>(unique.first.size());
  ir::Shape dims = flat ? ir::Shape{0} : x.dims;
  dims[as_index(axis)] = count;
  p.out(0, x.type, std::move(dims));
  p.out(1, ElementType::kInt64, {count});
  p.out(2, ElementType::kInt64, {view.count});
  p.out(3, ElementType::kInt64, {count});
  return Kernel([view, unit = view.inner * bytes, unique = std::move(unique)](const Run& run) {
    std::byte* to = run.outputs.empty() ? nullptr : run.outputs[0];
    for (int64_t outer = 0; to != nullptr && outer < view.outer; ++outer) {
      for (const int64_t slice : unique.first) {
        std::memcpy(to, run.inputs[0] + (outer * view.count + slice) * unit, as_index(unit));
        to += unit;
      }
    }
    const std::vector<int64_t>* const lists[] = {&unique.first, &unique.inverse, &unique.counts};
    for (size_t i = 0; i < 3; ++i) {
      if (wants_output(run, i + 1)) std::copy(lists[i]->begin(), lists[i]->end(), run.out<int64_t>(i + 1));
    }
    return Status();
  });
}

}  // namespace quarkq::exec
