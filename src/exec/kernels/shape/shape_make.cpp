// SPDX-License-Identifier: MIT
// Operators that make tensors out of parameters: Constant, ConstantOfShape, Range, EyeLike, Trilu.
#include "exec/kernels/shape/shape.h"

namespace quarkq::exec {
namespace {

Result<ir::Tensor> constant_value(const Prepare& p) {
  const ir::Node& node = p.node();
  if (const auto* tensor = node.get<ir::Tensor>("value")) return *tensor;
  if (const auto* real = node.get<float>("value_float")) return ir::Tensor::scalar(*real);
  if (const auto* integer = node.get<int64_t>("value_int")) return ir::Tensor::scalar(*integer);
  if (const auto* reals = node.get<std::vector<float>>("value_floats")) {
    return ir::Tensor::from<float>({static_cast<int64_t>(reals->size())}, *reals);
  }
  if (const auto* integers = node.get<std::vector<int64_t>>("value_ints")) {
    return ir::Tensor::from<int64_t>({static_cast<int64_t>(integers->size())}, *integers);
  }
  return p.cannot("no value that can be computed with; allowed: value, value_float(s), value_int(s)");
}

}  // namespace

Result<Kernel> prepare_constant(Prepare& p) {
  QQ_TRY(ir::Tensor value, constant_value(p));
  QQ_TRY(const int64_t bytes, element_bytes(p, value.type()));
  p.out(0, value.type(), value.dims());
  return Kernel([value = std::move(value), bytes](const Run& run) {
    std::memcpy(run.outputs[0], value.raw(), static_cast<size_t>(value.size() * bytes));
    return Status();
  });
}

Result<Kernel> prepare_constant_of_shape(Prepare& p) {
  QQ_TRY(const IntList shape, read_ints(p, "shape", 0, 1));
  if (!shape.present) return p.corrupt("input 0 is missing");
  if (!shape.known) return Prepare::defer();
  QQ_RETURN_IF_ERROR(check_dims(p, shape.values));
  const auto* given = p.node().get<ir::Tensor>("value");
  const ir::Tensor value = given == nullptr ? ir::Tensor::scalar(0.0f) : *given;
  if (value.size() != 1) return p.corrupt("value has ", value.size(), " elements, allowed: 1");
  QQ_TRY(const int64_t bytes, element_bytes(p, value.type()));
  p.out(0, value.type(), shape.values);
  CopySpec spec{shape.values, std::vector<int64_t>(shape.values.size()), row_major_strides(shape.values), 0, 0};
  return Kernel([value, plan = plan_copy(spec, bytes)](const Run& run) {
    run_copy(plan, value.raw(), run.outputs[0]);
    return Status();
  });
}

namespace {

/// How many of start, start + delta, ... come before limit. Integers are counted as such: doubles round those above
/// 2^53.
template <typename T>
double range_size(T start, T limit, T delta) {
  if constexpr (std::is_integral_v<T>) {
    if (delta > 0 ? limit <= start : limit >= start) return 0;
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit),
               step = static_cast<uint64_t>(delta);
    return static_cast<double>(delta > 0 ? (to - from - 1) / step + 1 : (from - to - 1) / (0 - step) + 1);
  } else {
    return std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  }
}

/// Steps are computed in `T`, elements are stored as `Stored`.
template <typename T, typename Stored = T>
Result<Kernel> range_kernel(Prepare& p) {
  T given[3];
  for (size_t i = 0; i < 3; ++i) given[i] = static_cast<T>(p.constant(i)->data<Stored>()[0]);
  const T start = given[0], limit = given[1], delta = given[2];
  if (delta == T(0) || delta != delta) return p.corrupt("delta is ", delta, ", allowed: other numbers");
  const double steps = range_size(start, limit, delta);
  if (!(steps < 281474976710656.0)) return p.corrupt("makes more than 2^48 elements");
  const auto count = static_cast<int64_t>(std::max(steps, 0.0));
  p.out(0, p.in(0).type, {count});
  return Kernel([start, delta, count](const Run& run) {
    for (int64_t i = 0; i < count; ++i) run.out<Stored>(0)[i] = static_cast<Stored>(start + static_cast<T>(i) * delta);
    return Status();
  });
}

/// Elements of 16 bits, computed in the type that attribute stash_type names.
template <typename Half>
Result<Kernel> half_range(Prepare& p) {
  const int64_t stash = p.node().int_or("stash_type", static_cast<int64_t>(ElementType::kFloat));
  if (stash == static_cast<int64_t>(ElementType::kFloat)) return range_kernel<float, Half>(p);
  if (stash == static_cast<int64_t>(ElementType::kDouble)) return range_kernel<double, Half>(p);
  return p.corrupt("stash_type is ", stash, ", allowed: 1 (FLOAT), 11 (DOUBLE)");
}

}  // namespace

Result<Kernel> prepare_range(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  for (size_t i = 0; i < 3; ++i) {
    QQ_RETURN_IF_ERROR(p.require_input(i, {p.in(0).type}));
    if (product(p.in(i).dims) != 1) return p.corrupt("input ", i, " is not a scalar");
    if (p.constant(i) == nullptr) return Prepare::defer();
  }
  switch (p.in(0).type) {
    case ElementType::kFloat: return range_kernel<float>(p);
    case ElementType::kDouble: return range_kernel<double>(p);
    case ElementType::kInt16: return range_kernel<int16_t>(p);
    case ElementType::kInt32: return range_kernel<int32_t>(p);
    case ElementType::kInt64: return range_kernel<int64_t>(p);
    case ElementType::kFloat16: return half_range<Float16>(p);
    case ElementType::kBFloat16: return half_range<BFloat16>(p);
    default:
      return p.cannot("input 0 is ", name(p.in(0).type), ", allowed: FLOAT, FLOAT16, BFLOAT16, DOUBLE, INT16 to INT64");
  }
}

Result<Kernel> prepare_eye_like(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  if (p.in(0).rank() != 2) return p.corrupt("input 0 has rank ", p.in(0).rank(), ", allowed: 2");
  const int64_t rows = p.in(0).dims[0], columns = p.in(0).dims[1];
  const int64_t k = std::clamp(p.node().int_or("k", 0), -rows, columns);
  const int64_t wire = p.node().int_or("dtype", static_cast<int64_t>(p.in(0).type));
  const auto type = wire < 0 || wire > 1000 ? std::nullopt : element_type_from_wire(static_cast<int32_t>(wire));
  if (!type) return p.corrupt("dtype is ", wire, ", which is not an element type");
  Kernel kernel;
  visit_number_or_bool(*type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    kernel = [rows, columns, k](const Run& run) {
      std::fill_n(run.out<T>(0), rows * columns, T(0));
      for (int64_t r = std::max<int64_t>(0, -k); r < rows && r + k < columns; ++r) {
        run.out<T>(0)[r * columns + r + k] = T(1);
      }
      return Status();
    };
  });
  if (kernel == nullptr) return p.cannot("makes ", name(*type), ", allowed: numbers and BOOL");
  p.out(0, *type, p.in(0).dims);
  return kernel;
}

Result<Kernel> prepare_trilu(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  if (x.rank() < 2) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 2 and more");
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  QQ_TRY(const IntList shift, read_ints(p, "k", 1, 1));
  if (!shift.known) return Prepare::defer();
  const bool upper = p.node().int_or("upper", 1) != 0;
  const int64_t rows = x.dims[x.dims.size() - 2], columns = x.dims.back();
  const int64_t k = std::clamp(shift.values.empty() ? 0 : shift.values.front(), -rows - 1, columns + 1);
  const int64_t all_rows = product(x.dims, 0, x.rank() - 1);
  p.out(0, x.type, x.dims);
  return Kernel([=](const Run& run) {
    const auto row_bytes = static_cast<size_t>(columns * bytes);
    for (int64_t r = 0; r < all_rows; ++r) {
      const int64_t diagonal = std::clamp<int64_t>(r % rows + k + (upper ? 0 : 1), 0, columns);
      const auto cut = static_cast<size_t>(diagonal * bytes);
      std::byte* to = run.outputs[0] + static_cast<size_t>(r) * row_bytes;
      std::memcpy(to, run.inputs[0] + static_cast<size_t>(r) * row_bytes, row_bytes);
      upper ? std::memset(to, 0, cut) : std::memset(to + cut, 0, row_bytes - cut);
    }
    return Status();
  });
}

}  // namespace quarkq::exec
