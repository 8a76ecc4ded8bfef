// SPDX-License-Identifier: MIT
// Pad: index tables by mode.
#include <array>

#include "base/index.h"
#include "exec/kernels/shape/shape_prepare.h"
#include "exec/kernels/shared/index_copy.h"

namespace quarkq::exec {
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
