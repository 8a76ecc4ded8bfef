// SPDX-License-Identifier: MIT
// Operators whose output depends on what the values are: OneHot, NonZero, TopK, CumSum, CumProd,
// Compress.
#include <bit>
#include <functional>
#include <numeric>

#include "exec/kernels/shape/gather_scatter.h"
#include "exec/kernels/shared/tensor_copy.h"

namespace quarkq::exec {
namespace {

/// Element `i` of a tensor of any number type, as an integer.
Result<std::vector<int64_t>> one_known(const Prepare& p, size_t i, std::string_view what) {
  QQ_RETURN_IF_ERROR(p.require_input(i));
  if (product(p.in(i).dims) != 1) return p.corrupt(what, " is ", shape_text(p.in(i).dims), ", allowed: one element");
  QQ_TRY(const auto values, p.known_ints(i));
  return values ? *values : std::vector<int64_t>();
}

}  // namespace

Result<Kernel> prepare_one_hot(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_TRY(const std::vector<int64_t> depths, one_known(p, 1, "depth"));
  QQ_RETURN_IF_ERROR(p.require_input(2));
  if (depths.empty()) return Prepare::defer();
  const int64_t depth = depths.front();
  if (depth < 1) return p.corrupt("depth is ", depth, ", allowed: 1 and more");
  if (product(p.in(2).dims) != 2) return p.corrupt("values are ", shape_text(p.in(2).dims), ", allowed: [2]");
  ir::Shape dims = p.in(0).dims;
  QQ_TRY(const int64_t axis, ir::normalize_axis(p.node().int_or("axis", -1), p.in(0).rank() + 1).context(p.label()));
  dims.insert(dims.begin() + axis, depth);
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  QQ_TRY(const int64_t bytes, element_bytes(p, p.in(2).type));
  const AxisView view = axis_view(dims, axis);
  const CopyPlan all_off = plan_copy({{product(dims)}, {0}, {1}, 0, 0}, bytes);
  p.out(0, p.in(2).type, std::move(dims));
  Kernel kernel;
  visit_number(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [view, bytes, all_off](const Run& run) {
      const std::byte* off = run.inputs[2];
      const auto unit = static_cast<size_t>(bytes);
      run_copy(all_off, off, run.outputs[0]);
      for (int64_t i = 0; i < view.outer * view.inner; ++i) {
        const double wanted = static_cast<double>(Compute<T>(run.in<T>(0)[i]));
        const double hot = wanted < 0 ? wanted + static_cast<double>(view.count) : wanted;
        if (!(hot >= 0 && hot < static_cast<double>(view.count))) continue;  // outside: all off
        const int64_t to = (i / view.inner * view.count + static_cast<int64_t>(hot)) * view.inner + i % view.inner;
        std::memcpy(run.outputs[0] + to * bytes, off + bytes, unit);
      }
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("indices are ", name(p.in(0).type), ", allowed: numbers");
  return kernel;
}

namespace {

/// Positions of the non-zero elements.
template <typename T>
std::vector<int64_t> non_zero_positions(const T* x, int64_t n) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < n; ++i) {
    if (Compute<T>(x[i]) != Compute<T>(0)) positions.push_back(i);
  }
  return positions;
}

}  // namespace

Result<Kernel> prepare_non_zero(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  if (x.constant == nullptr) return Prepare::defer();
  std::vector<int64_t> positions;
  const bool known = visit_number_or_bool(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    positions = non_zero_positions(reinterpret_cast<const T*>(x.constant->raw()), product(x.dims));
  });
  if (!known) return p.cannot("input 0 is ", name(x.type), ", allowed: numbers and BOOL");
  // A scalar counts as one dimension.
  const ir::Shape dims = x.dims.empty() ? ir::Shape{1} : x.dims;
  const auto count = static_cast<int64_t>(positions.size());
  p.out(0, ElementType::kInt64, {static_cast<int64_t>(dims.size()), count});
  return Kernel([dims, positions = std::move(positions), count](const Run& run) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = positions[static_cast<size_t>(i)];
      for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) {
        run.out<int64_t>(0)[static_cast<int64_t>(d) * count + i] = rest % dims[d];
      }
    }
    return Status();
  });
}

namespace {

struct TopKPlan {
  AxisView view;
  int64_t k = 0;
  bool largest = true;
};

/// The value as a number that orders as values do: NaN above all, both zeros equal.
template <typename T>
uint32_t order_key(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint32_t>(static_cast<int32_t>(value)) ^ (std::is_signed_v<T> ? 0x80000000u : 0u);
  } else {
    const float x = static_cast<float>(value) + 0.0f;
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t key = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    return x != x ? 0xFFFFFFFFu : key;
  }
}

/// keys[i]: the order of x[i * step], turned around by `flip`, above the index, turned around.
template <typename T>
void fill_keys(const T* x, int64_t count, int64_t step, uint32_t flip, uint64_t* keys) {
  const auto key = [flip](T value, int64_t i) {
    return uint64_t{order_key(value) ^ flip} << 32 | (0xFFFFFFFFu - static_cast<uint32_t>(i));
  };
  if (step == 1) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) keys[i] = key(x[i], i);
    return;
  }
  for (int64_t i = 0; i < count; ++i) keys[i] = key(x[i * step], i);
}

/// top_k_rows() for values of up to 32 bits, by such keys.
template <typename T>
void top_k_keys(const TopKPlan& plan, const Run& run) {
  const AxisView& v = plan.view;
  for_rows(v.outer * v.inner, 8 * v.count, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> keys(static_cast<size_t>(v.count));
    const auto last = keys.begin() + plan.k;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t base = row / v.inner, column = row % v.inner;
      const T* x = run.in<T>(0) + base * v.count * v.inner + column;
      fill_keys(x, v.count, v.inner, plan.largest ? 0 : 0xFFFFFFFFu, keys.data());
      if (plan.k > v.count / 16) {  // a heap of many is slower than a partition
        std::nth_element(keys.begin(), last, keys.end(), std::greater<>());
        std::sort(keys.begin(), last, std::greater<>());
      } else {
        std::partial_sort(keys.begin(), last, keys.end(), std::greater<>());
      }
      for (int64_t i = 0; i < plan.k; ++i) {
        const int64_t to = (base * plan.k + i) * v.inner + column;
        const auto best = static_cast<int64_t>(0xFFFFFFFFu - static_cast<uint32_t>(keys[static_cast<size_t>(i)]));
        if (wants_output(run, 0)) run.out<T>(0)[to] = x[best * v.inner];
        if (wants_output(run, 1)) run.out<int64_t>(1)[to] = best;
      }
    }
  });
}

/// Best first; of equal values the lower index first. NaN counts as larger than everything.
template <typename T>
void top_k_rows(const TopKPlan& plan, const Run& run, std::vector<int64_t>& order) {
  using C = Compute<T>;
  const AxisView& v = plan.view;
  for (int64_t row = 0; row < v.outer * v.inner; ++row) {
    const T* x = run.in<T>(0) + row / v.inner * v.count * v.inner + row % v.inner;
    const auto better = [&](int64_t a, int64_t b) {
      const C left = C(x[a * v.inner]), right = C(x[b * v.inner]);
      if (left == right || (left != left && right != right)) return a < b;
      const bool greater = left != left || left > right;
      return (greater && !(right != right)) == plan.largest;
    };
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + plan.k, order.end(), better);
    for (int64_t i = 0; i < plan.k; ++i) {
      const int64_t to = (row / v.inner * plan.k + i) * v.inner + row % v.inner;
      const int64_t best = order[static_cast<size_t>(i)];
      if (wants_output(run, 0)) run.out<T>(0)[to] = x[best * v.inner];
      if (wants_output(run, 1)) run.out<int64_t>(1)[to] = best;
    }
  }
}

}  // namespace

Result<Kernel> prepare_top_k(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  int64_t k = p.node().int_or("k", -1);
  if (p.opset() >= 10) {
    QQ_TRY(const std::vector<int64_t> known, one_known(p, 1, "k"));
    if (known.empty()) return Prepare::defer();
    k = known.front();
  }
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", -1), x.rank()));
  const TopKPlan plan{axis_view(x.dims, axis), k, p.node().int_or("largest", 1) != 0};
  if (k < 0 || k > plan.view.count) return p.corrupt("k is ", k, ", allowed: 0 to ", plan.view.count);
  ir::Shape dims = x.dims;
  dims[static_cast<size_t>(axis)] = k;
  p.out(0, x.type, dims);
  p.out(1, ElementType::kInt64, dims);
  Kernel kernel;
  visit_number(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [plan](const Run& run) {
      if constexpr (sizeof(T) <= sizeof(uint32_t)) {
        if (plan.view.count < int64_t{1} << 32) {
          top_k_keys<T>(plan, run);
          return Status();
        }
      }
      std::vector<int64_t> order(static_cast<size_t>(plan.view.count));
      top_k_rows<T>(plan, run, order);
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(x.type), ", allowed: numbers");
  return kernel;
}

namespace {

struct Sum {
  static constexpr int kNeutral = 0;
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Product {
  static constexpr int kNeutral = 1;
  template <typename T>
  T operator()(T a, T b) const {
    return a * b;
  }
};

/// Combines `a` and `b` as `T` is computed; integers wrap.
template <typename T, typename Join>
Compute<T> join(Compute<T> a, Compute<T> b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(Join()(static_cast<Wrapping>(a), static_cast<Wrapping>(b)));
  } else {
    return Join()(a, b);
  }
}

/// Whole rows at a time, for types that are computed as they are stored.
template <typename T, typename Join>
void cumulate_rows(const T* x, T* y, const AxisView& v, bool exclusive, bool reverse) {
  for (int64_t outer = 0; outer < v.outer; ++outer) {
    for (int64_t i = 0; i < v.count; ++i) {
      const int64_t step = (reverse ? -1 : 1) * v.inner;
      const int64_t place = (outer * v.count + (reverse ? v.count - 1 - i : i)) * v.inner;
      const T* joined = x + (exclusive ? place - step : place);
      if (i == 0) {
        exclusive ? std::fill_n(y + place, v.inner, T(Join::kNeutral)) : std::copy_n(joined, v.inner, y + place);
        continue;
      }
      const T* before = y + place - step;
      T* to = y + place;
#pragma omp simd
      for (int64_t c = 0; c < v.inner; ++c) to[c] = join<T, Join>(before[c], joined[c]);
    }
  }
}

template <typename T, typename Join>
void cumulate(const T* x, T* y, const AxisView& v, bool exclusive, bool reverse) {
  if constexpr (!kIsHalf<T>) {
    if (v.inner >= 8) return cumulate_rows<T, Join>(x, y, v, exclusive, reverse);
  }
  for (int64_t row = 0; row < v.outer * v.inner; ++row) {
    const int64_t base = row / v.inner * v.count * v.inner + row % v.inner;
    Compute<T> total = Join::kNeutral;
    for (int64_t i = 0; i < v.count; ++i) {
      const int64_t place = base + (reverse ? v.count - 1 - i : i) * v.inner;
      const Compute<T> before = total;
      total = join<T, Join>(total, static_cast<Compute<T>>(x[place]));
      y[place] = static_cast<T>(exclusive ? before : total);
    }
  }
}

template <typename Join>
Result<Kernel> prepare_cumulation(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(const std::vector<int64_t> known, one_known(p, 1, "axis"));
  if (known.empty()) return Prepare::defer();
  QQ_TRY(const int64_t axis, p.axis(known.front(), x.rank()));
  const AxisView view = axis_view(x.dims, axis);
  const bool exclusive = p.node().int_or("exclusive", 0) != 0, reverse = p.node().int_or("reverse", 0) != 0;
  Kernel kernel;
  visit_number(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [=](const Run& run) {
      cumulate<T, Join>(run.in<T>(0), run.out<T>(0), view, exclusive, reverse);
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(x.type), ", allowed: numbers");
  p.out(0, x.type, x.dims);
  return kernel;
}

}  // namespace

Result<Kernel> prepare_cum_sum(Prepare& p) { return prepare_cumulation<Sum>(p); }
Result<Kernel> prepare_cum_prod(Prepare& p) { return prepare_cumulation<Product>(p); }

Result<Kernel> prepare_compress(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1, {ElementType::kBool}));
  const Spec& x = p.in(0);
  QQ_TRY(const auto condition, p.known_ints(1));
  if (!condition) return Prepare::defer();
  const bool flat = p.node().find("axis") == nullptr;
  QQ_TRY(const int64_t axis, flat ? Result<int64_t>(0) : p.axis(p.node().int_or("axis", 0), x.rank()));
  const AxisView view = flat ? AxisView{1, product(x.dims), 1} : axis_view(x.dims, axis);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < condition->size(); ++i) {
    if ((*condition)[i] == 0) continue;
    if (static_cast<int64_t>(i) >= view.count) return p.corrupt("condition keeps element ", i, " of ", view.count);
    kept.push_back(static_cast<int64_t>(i));
  }
  ir::Shape dims = flat ? ir::Shape{0} : x.dims;
  dims[static_cast<size_t>(axis)] = static_cast<int64_t>(kept.size());
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  p.out(0, x.type, std::move(dims));
  return Kernel([=, kept = std::move(kept), unit = view.inner * bytes](const Run& run) {
    std::byte* to = run.outputs[0];
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      for (const int64_t i : kept) {
        std::memcpy(to, run.inputs[0] + (outer * view.count + i) * unit, static_cast<size_t>(unit));
        to += unit;
      }
    }
    return Status();
  });
}

}  // namespace quarkq::exec
