// SPDX-License-Identifier: MIT
// Cast and CastLike. Integers wrap, reals are truncated towards zero and clamped (NaN becomes 0), 16-bit floats round
// to nearest even.
#include <limits>

#include "exec/kernels/elementwise.h"

namespace quarkq::exec {
namespace {

struct Bool {
  uint8_t value;
};

/// Truncated and clamped. The largest value of a wide integer is no float: it rounds up to 2^n, which compares right.
template <typename To, typename From>
To integer_from_real(From x) {
  if (std::isnan(x)) return To(0);
  if (x <= static_cast<From>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
  if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

template <typename To, typename From>
To cast_value(From x) {
  if constexpr (std::is_same_v<From, Bool>) {
    return cast_value<To>(static_cast<uint8_t>(x.value != 0));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(Compute<From>(x) != Compute<From>(0))};
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (kIsReal<From> && std::is_integral_v<To>) {
    return integer_from_real<To>(Compute<From>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <typename F>
bool visit_castable(ElementType type, F&& f) {
  if (type == ElementType::kBool) {
    f(TypeTag<Bool>());
    return true;
  }
  return visit_number(type, f);
}

template <typename From, typename To>
Kernel cast_kernel(int64_t n) {
  return [n](const Run& run) {
    const From* x = run.in<From>(0);
    To* y = run.out<To>(0);
    for_elements(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = cast_value<To>(x[i]);
    });
    return Status();
  };
}

Result<Kernel> cast_to(Prepare& p, ElementType to) {
  const Spec& x = p.in(0);
  if (x.type == to) {
    p.alias(0, 0, x.dims);
    return no_kernel();
  }
  const int64_t n = product(x.dims);
  Kernel kernel;
  visit_castable(x.type, [&](auto from_tag) {
    visit_castable(to, [&](auto to_tag) {
      kernel = cast_kernel<typename decltype(from_tag)::type, typename decltype(to_tag)::type>(n);
    });
  });
  if (kernel == nullptr) {
    return p.cannot("casts ", name(x.type), " to ", name(to), ", allowed: numbers of 8 to 64 bits, BOOL");
  }
  p.out(0, to, x.dims);
  return kernel;
}

}  // namespace

Result<Kernel> prepare_cast(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const auto* to = p.node().get<int64_t>("to");
  if (to == nullptr) return p.corrupt("attribute to is missing");
  const auto type = *to < 0 || *to > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(*to));
  if (!type) return p.corrupt("attribute to is ", *to, ", which is no element type");
  return cast_to(p, *type);
}

Result<Kernel> prepare_cast_like(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1));
  return cast_to(p, p.in(1).type);
}

}  // namespace quarkq::exec
