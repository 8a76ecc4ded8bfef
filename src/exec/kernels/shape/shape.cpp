// SPDX-License-Identifier: MIT
// Operators that read or change shapes. Those here move no element: they write small integers or are aliases.
#include "exec/kernels/shape/shape.h"

#include <array>

#include "base/index.h"
#include "exec/kernels/shared/tensor_copy.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

/// A kernel that writes integers known now. It reads no input.
Kernel write_kernel(std::vector<int64_t> values) {
  return [values = std::move(values)](const Run& run) {
    std::copy(values.begin(), values.end(), run.out<int64_t>(0));
    return Status();
  };
}

Result<Kernel> prepare_shape(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const ir::Shape dims = logical_dims(p.in(0).dims, p.in(0).layout);
  const int64_t rank = p.in(0).rank();
  const auto bounded = [rank](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank); };
  const int64_t start = bounded(p.node().int_or("start", 0));
  const int64_t end = std::max(start, bounded(p.node().int_or("end", rank)));
  p.out(0, ElementType::kInt64, {end - start}, Layout::kPlain);
  return write_kernel({dims.begin() + start, dims.begin() + end});
}

Result<Kernel> prepare_size(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  p.out(0, ElementType::kInt64, {}, Layout::kPlain);
  return write_kernel({product(p.in(0).dims)});
}

Result<Kernel> alias_as(Prepare& p, ir::Shape dims) {
  p.alias(0, 0, std::move(dims));
  return no_kernel();
}

/// Replaces 0 and -1 of a Reshape request by what they stand for.
Result<ir::Shape> resolve_reshape(const Prepare& p, std::vector<int64_t> shape) {
  const ir::Shape& dims = p.in(0).dims;
  const int64_t count = product(dims);
  const bool zero_is_zero = p.node().int_or("allowzero", 0) != 0;
  const std::string wanted = shape_text(shape);
  size_t open = shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zero_is_zero) {
      if (i >= dims.size()) return p.corrupt("shape ", wanted, " copies dimension ", i, " of ", shape_text(dims));
      shape[i] = dims[i];
    }
    if (shape[i] != -1) continue;
    if (open != shape.size()) return p.corrupt("shape ", wanted, " has more than one -1");
    open = i;
  }
  ir::Shape known = shape;
  if (open != shape.size()) known[open] = 1;
  QQ_TRY(const int64_t rest, ir::element_count(known).context(p.label()));
  if (open != shape.size()) known[open] = rest == 0 ? 0 : count / rest;
  if (rest == 0 ? count != 0 : product(known) != count) {
    return p.corrupt("shape ", wanted, " does not match the number of elements of ", shape_text(dims));
  }
  return known;
}

Result<Kernel> prepare_reshape(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_TRY(const IntList shape, read_ints(p, "shape", 1, 5));
  if (!shape.known) return Prepare::defer();
  if (!shape.present) return p.corrupt("shape is missing");
  QQ_TRY(ir::Shape dims, resolve_reshape(p, shape.values));
  return alias_as(p, std::move(dims));
}

/// Axes as a mask over `rank` dimensions; fails on repeated ones.
Result<std::vector<bool>> axis_mask(const Prepare& p, const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<bool> mask(static_cast<size_t>(rank));
  for (const int64_t axis : axes) {
    QQ_TRY(const int64_t at, ir::normalize_axis(axis, rank).context(p.label()));
    if (mask[static_cast<size_t>(at)]) return p.corrupt("axis ", axis, " is named twice");
    mask[static_cast<size_t>(at)] = true;
  }
  return mask;
}

Result<Kernel> prepare_squeeze(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_TRY(const IntList axes, read_ints(p, "axes", 1, 13));
  if (!axes.known) return Prepare::defer();
  const ir::Shape& x = p.in(0).dims;
  QQ_TRY(const std::vector<bool> mask, axis_mask(p, axes.values, p.in(0).rank()));
  ir::Shape dims;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool drop = axes.present ? mask[i] : x[i] == 1;
    if (drop && x[i] != 1) return p.corrupt("squeezes dimension ", i, " of ", shape_text(x), ", must be 1");
    if (!drop) dims.push_back(x[i]);
  }
  return alias_as(p, std::move(dims));
}

Result<Kernel> prepare_unsqueeze(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_TRY(const IntList axes, read_ints(p, "axes", 1, 13));
  if (!axes.known) return Prepare::defer();
  if (!axes.present) return p.corrupt("axes are missing");
  const ir::Shape& x = p.in(0).dims;
  QQ_TRY(const std::vector<bool> mask, axis_mask(p, axes.values, static_cast<int64_t>(x.size() + axes.values.size())));
  ir::Shape dims;
  auto next = x.begin();
  for (const bool inserted : mask) dims.push_back(inserted ? 1 : *next++);
  return alias_as(p, std::move(dims));
}

Result<Kernel> prepare_flatten(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const int64_t rank = p.in(0).rank();
  int64_t axis = p.node().int_or("axis", 1);
  if (axis < -rank || axis > rank) return p.corrupt("axis ", axis, " is outside of [", -rank, ",", rank, "]");
  if (axis < 0) axis += rank;
  return alias_as(p, {product(p.in(0).dims, 0, axis), product(p.in(0).dims, axis, rank)});
}

using enum LayoutRule;
constexpr OpDef kShapeOps[] = {
    {"Concat", "", 4, kFollow, prepare_concat},
    {"Constant", "", 1, kPlain, prepare_constant},
    {"ConstantOfShape", "", 9, kPlain, prepare_constant_of_shape},
    {"Expand", "", 8, kPlain, prepare_expand},
    {"EyeLike", "", 9, kPlain, prepare_eye_like},
    {"Flatten", "", 1, kPlain, prepare_flatten},
    {"Pad", "", 2, kFollow, prepare_pad},
    {"Range", "", 11, kPlain, prepare_range},
    {"Reshape", "", 5, kPlain, prepare_reshape},
    {"Shape", "", 1, kFollow, prepare_shape, /*shapes_only=*/true},
    {"Size", "", 1, kFollow, prepare_size, /*shapes_only=*/true},
    {"Slice", "", 1, kFollow, prepare_slice},
    {"Split", "", 2, kFollow, prepare_split},
    {"Squeeze", "", 1, kPlain, prepare_squeeze},
    {"Tile", "", 6, kPlain, prepare_tile},
    {"Transpose", "", 1, kFollow, prepare_transpose},
    {"Trilu", "", 14, kPlain, prepare_trilu},
    {"Unsqueeze", "", 1, kPlain, prepare_unsqueeze},
};

}  // namespace

std::span<const OpDef> shape_ops() { return kShapeOps; }

// Pad: index tables by mode.

namespace {

/// Input index of output index `at`, `before` of which lie in front of the input.
int64_t source_index(std::string_view mode, int64_t at, int64_t before, int64_t length) {
  int64_t i = at - before;
  if (i >= 0 && i < length) return i;
  if (mode == "constant") return kFillIndex;
  if (mode == "edge") return std::clamp<int64_t>(i, 0, length - 1);
  const int64_t period = mode == "wrap" ? length : std::max<int64_t>(2 * (length - 1), 1);
  i = (i % period + period) % period;
  return i < length ? i : period - i;  // the second half of a reflected period runs backwards
}

/// Pads by memory axis: [before of each axis, after of each axis].
struct Pads {
  std::vector<int64_t> before, after;
};

Result<Pads> spread_pads(const Prepare& p, const std::vector<int64_t>& values, const IntList& axes) {
  const int64_t rank = p.in(0).rank();
  std::vector<int64_t> named = axes.values;
  for (int64_t i = 0; !axes.present && i < rank; ++i) named.push_back(i);
  if (values.size() != 2 * named.size()) return p.corrupt(values.size(), " pads for ", named.size(), " axes");
  Pads pads{std::vector<int64_t>(static_cast<size_t>(rank)), std::vector<int64_t>(static_cast<size_t>(rank))};
  for (size_t i = 0; i < named.size(); ++i) {
    QQ_TRY(const int64_t axis, p.axis(named[i], rank));
    pads.before[static_cast<size_t>(axis)] = values[i];
    pads.after[static_cast<size_t>(axis)] = values[i + named.size()];
  }
  return pads;
}

/// Output dims; refuses what no table could hold or no mode can fill.
Result<ir::Shape> padded_dims(const Prepare& p, const Pads& pads, std::string_view mode) {
  constexpr int64_t kMost = int64_t{1} << 40;
  ir::Shape dims = p.in(0).dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t before = pads.before[i], after = pads.after[i];
    if (std::max(before, after) > kMost || std::min(before, after) < -kMost || dims[i] + before + after < 0) {
      return p.corrupt("pads ", before, " and ", after, " on a length of ", dims[i]);
    }
    if (mode != "constant" && dims[i] == 0 && before + after > 0) {
      return p.corrupt("mode ", mode, " pads an empty axis");
    }
    dims[i] += before + after;
    if (dims[i] > kLongestTable) return p.cannot("pads an axis to ", dims[i], ", allowed: ", kLongestTable);
  }
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  return dims;
}

std::vector<std::vector<int64_t>> pad_tables(const ir::Shape& in, const ir::Shape& out, const Pads& pads,
                                             std::string_view mode) {
  std::vector<std::vector<int64_t>> tables(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    tables[i].reserve(as_index(out[i]));
    for (int64_t at = 0; at < out[i]; ++at) tables[i].push_back(source_index(mode, at, pads.before[i], in[i]));
  }
  return tables;
}

using Element = std::array<std::byte, 16>;

/// What older opsets pad with, an attribute, in the input's type.
Result<Element> attribute_value(const Prepare& p) {
  Element bytes{};
  const float value = p.opset() < 11 ? p.node().float_or("value", 0.0f) : 0.0f;
  if (value == 0.0f) return bytes;
  const bool is_real = visit_real(p.in(0).type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T element;
    from_floats(&value, &element, 1);
    std::memcpy(bytes.data(), &element, sizeof(element));
  });
  if (!is_real) return p.cannot("pads ", name(p.in(0).type), " with ", value);
  return bytes;
}

}  // namespace

Result<Kernel> prepare_pad(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  const std::string mode = p.node().string_or("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return p.corrupt("mode is '", mode, "', allowed: constant, reflect, edge, wrap");
  }
  QQ_TRY(const IntList values, read_ints(p, "pads", 1, 11));
  IntList axes;
  if (p.opset() >= 18) {
    QQ_TRY(axes, read_ints(p, "axes", 3, 18));
  }
  if (!values.known || !axes.known) return Prepare::defer();
  if (p.opset() >= 11 && p.has(2) && (p.in(2).type != x.type || product(p.in(2).dims) != 1)) {
    return p.corrupt("constant_value is ", name(p.in(2).type), shape_text(p.in(2).dims), ", allowed: one ",
                     name(x.type));
  }
  QQ_TRY(const Pads pads, spread_pads(p, values.values, axes));
  QQ_TRY(ir::Shape dims, padded_dims(p, pads, mode));
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  if (x.dims.empty()) {
    p.out(0, x.type, {});
    return copy_kernel(plan_copy({}, bytes));
  }
  QQ_TRY(const auto fill, attribute_value(p));
  p.out(0, x.type, dims);
  if (product(dims) == 0) return no_kernel();  // without tables, which would be as long as its other axes
  IndexPlan plan = plan_index_copy(x.dims, pad_tables(x.dims, dims, pads, mode), bytes);
  const bool has_value = p.opset() >= 11 && p.has(2);
  return Kernel([plan = std::move(plan), fill, has_value](const Run& run) {
    run_index_copy(plan, run.inputs[0], has_value ? run.inputs[2] : fill.data(), run.outputs[0]);
    return Status();
  });
}

}  // namespace quarkq::exec
