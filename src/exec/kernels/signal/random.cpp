// SPDX-License-Identifier: MIT
// Random tensors. The numbers depend on nothing but the node's `seed` (0 when it has none) and the element's position:
// every run gives the same ones, so that calibration can be repeated. They are not those of other executors.
#include <bit>
#include <numbers>

#include "base/random.h"
#include "exec/kernels/shared/support.h"
#include "exec/op_def.h"

namespace quarkq::exec {
namespace {

uint32_t seed_of(const ir::Node& node) { return std::bit_cast<uint32_t>(node.float_or("seed", 0.0f)); }

/// Attribute `dtype`, or `fallback`.
Result<ElementType> type_of(const Prepare& p, ElementType fallback) {
  const int64_t wire = p.node().int_or("dtype", static_cast<int64_t>(fallback));
  const auto type = wire < 0 || wire > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(wire));
  if (!type) return p.corrupt("dtype is ", wire, ", which is not an element type");
  return *type;
}

/// Two independent numbers with mean 0 and deviation 1 out of two uniform ones (Box and Muller).
struct NormalPair {
  double first, second;
};
NormalPair normal_pair(NumpyRandom& random) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
  const double angle = 2.0 * std::numbers::pi * random.uniform();
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// `offset` and `scale`: of uniform numbers in [0, 1), or of normal ones.
template <bool kNormal>
Result<Kernel> random_kernel(Prepare& p, ElementType type, const ir::Shape& dims) {
  const ir::Node& node = p.node();
  const double offset = node.float_or(kNormal ? "mean" : "low", 0.0f);
  const double scale = kNormal ? node.float_or("scale", 1.0f) : node.float_or("high", 1.0f) - offset;
  Kernel kernel;
  visit_real(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [offset, scale, n = product(dims), seed = seed_of(node)](const Run& run) {
      NumpyRandom random(seed);
      const auto put = [&](int64_t i, double value) {
        if (i < n) run.out<T>(0)[i] = static_cast<T>(static_cast<Compute<T>>(offset + scale * value));
      };
      for (int64_t i = 0; i < n; i += kNormal ? 2 : 1) {
        if constexpr (kNormal) {
          const NormalPair pair = normal_pair(random);
          put(i, pair.first);
          put(i + 1, pair.second);
        } else {
          put(i, random.uniform());
        }
      }
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("makes ", name(type), ", allowed: FLOAT, FLOAT16, BFLOAT16, DOUBLE");
  p.out(0, type, dims);
  return kernel;
}

template <bool kNormal>
Result<Kernel> prepare_random(Prepare& p) {
  const auto* shape = p.node().get<std::vector<int64_t>>("shape");
  if (shape == nullptr) return p.corrupt("attribute shape is missing");
  QQ_RETURN_IF_ERROR(check_dims(p, *shape));
  QQ_TRY(const ElementType type, type_of(p, ElementType::kFloat));
  return random_kernel<kNormal>(p, type, *shape);
}

template <bool kNormal>
Result<Kernel> prepare_random_like(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_TRY(const ElementType type, type_of(p, p.in(0).type));
  return random_kernel<kNormal>(p, type, p.in(0).dims);
}

// ---- Multinomial ----------------------------------------------------------------------------------------------------

/// Running sums of exp(x - largest); the last one is the total.
template <typename T>
std::vector<double> running_weights(const T* x, int64_t classes) {
  double largest = static_cast<double>(x[0]);
  for (int64_t i = 1; i < classes; ++i) largest = std::max(largest, static_cast<double>(x[i]));
  std::vector<double> sums;
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i) {
    sum += std::exp(static_cast<double>(x[i]) - largest);
    sums.push_back(sum);
  }
  return sums;
}

template <typename T, typename Index>
Kernel multinomial_kernel(int64_t rows, int64_t classes, int64_t samples, uint32_t seed) {
  return [=](const Run& run) {
    NumpyRandom random(seed);
    for (int64_t r = 0; r < rows; ++r) {
      const std::vector<double> sums = running_weights(run.in<T>(0) + r * classes, classes);
      for (int64_t i = 0; i < samples; ++i) {
        const double drawn = random.uniform() * sums.back();
        const auto found = std::upper_bound(sums.begin(), sums.end() - 1, drawn) - sums.begin();
        run.out<Index>(0)[r * samples + i] = static_cast<Index>(found);
      }
    }
    return Status();
  };
}

/// Input: unnormalized logarithms of probabilities [rows, classes].
Result<Kernel> prepare_multinomial(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  if (x.rank() != 2 || x.dims[1] < 1) return p.corrupt("input 0 is ", shape_text(x.dims), ", must be [rows, classes]");
  const int64_t samples = p.node().int_or("sample_size", 1);
  if (samples < 1) return p.corrupt("sample_size is ", samples, ", allowed: 1 and more");
  QQ_TRY(const ElementType type, type_of(p, ElementType::kInt32));
  if (type != ElementType::kInt32 && type != ElementType::kInt64) {
    return p.cannot("makes ", name(type), ", allowed: INT32, INT64");
  }
  const ir::Shape dims = {x.dims[0], samples};
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  Kernel kernel;
  visit_real(x.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const uint32_t seed = seed_of(p.node());
    kernel = type == ElementType::kInt32 ? multinomial_kernel<T, int32_t>(x.dims[0], x.dims[1], samples, seed)
                                         : multinomial_kernel<T, int64_t>(x.dims[0], x.dims[1], samples, seed);
  });
  if (kernel == nullptr) return p.cannot("input 0 is ", name(x.type), ", allowed: FLOAT, FLOAT16, BFLOAT16, DOUBLE");
  p.out(0, type, dims);
  return kernel;
}

}  // namespace

std::span<const OpDef> random_ops() {
  static constexpr OpDef kOps[] = {
      {"Multinomial", "", 7, LayoutRule::kPlain, prepare_multinomial},
      {"RandomNormal", "", 1, LayoutRule::kPlain, prepare_random<true>},
      {"RandomNormalLike", "", 1, LayoutRule::kPlain, prepare_random_like<true>},
      {"RandomUniform", "", 1, LayoutRule::kPlain, prepare_random<false>},
      {"RandomUniformLike", "", 1, LayoutRule::kPlain, prepare_random_like<false>},
  };
  return kOps;
}

}  // namespace quarkq::exec
