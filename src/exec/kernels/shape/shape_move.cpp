// SPDX-License-Identifier: MIT
// Transpose, Concat, Split, Slice, Tile, Expand: plans for the copy engine.
#include <limits>

#include "exec/kernels/shape/shape.h"
#include "ir/shape.h"
#include "numeric/small_floats.h"

namespace quarkq::exec {
namespace {

size_t index(int64_t value) { return static_cast<size_t>(value); }

/// The logical order of Transpose: output dimension i is input dimension order[i].
Result<std::vector<int64_t>> transpose_order(const Prepare& p) {
  const int64_t rank = p.in(0).rank();
  std::vector<int64_t> order;
  for (int64_t i = rank; i-- > 0;) order.push_back(i);
  order = p.node().ints_or("perm", order);
  if (!ir::check_permutation(order, rank).ok())
    return p.corrupt("perm ", shape_text(order), " is not a permutation of ", rank, " dimensions");
  return order;
}

/// True when `order` leaves every dimension longer than one in its place relative to the others.
bool moves_nothing(const ir::Shape& dims, const std::vector<int64_t>& order) {
  int64_t last = -1;
  for (const int64_t axis : order) {
    if (dims[index(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

/// The output's memory is the input's, seen in `layout`.
Kernel alias_in_layout(Prepare& p, ir::Shape stored, Layout layout) {
  p.alias(0, 0, stored);
  p.out(0, p.in(0).type, std::move(stored), layout);
  return no_kernel();
}

}  // namespace

Result<Kernel> prepare_transpose(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  if (numeric::is_packed(p.in(0).type)) return move_packed(p, prepare_transpose);
  QQ_TRY(std::vector<int64_t> order, transpose_order(p));
  const Spec& x = p.in(0);
  const int64_t rank = x.rank();
  for (int64_t& axis : order) axis = stored_axis(axis, rank, x.layout);  // from here on in memory order
  ir::Shape dims;
  for (const int64_t axis : order) dims.push_back(x.dims[index(axis)]);
  if (moves_nothing(x.dims, order)) return alias_in_layout(p, std::move(dims), Layout::kPlain);
  // [N, H, W, C] to [N, C, H, W]: the same memory, called channels-last.
  if (x.layout == Layout::kPlain && rank >= 3 && moves_nothing(x.dims, stored_dims(order, Layout::kChannelsLast))) {
    return alias_in_layout(p, stored_dims(dims, Layout::kChannelsLast), Layout::kChannelsLast);
  }
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  p.out(0, x.type, std::move(dims), Layout::kPlain);
  return copy_kernel(plan_transpose(x.dims, order, bytes));
}

Result<Kernel> prepare_concat(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  if (numeric::is_packed(p.in(0).type)) return move_packed(p, prepare_concat);
  const Spec& first = p.in(0);
  if (p.node().find("axis") == nullptr) return p.corrupt("attribute axis is missing");
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", 0), first.rank()));
  ir::Shape dims = first.dims;
  dims[index(axis)] = 0;
  for (size_t i = 0; i < p.input_count(); ++i) {
    QQ_RETURN_IF_ERROR(p.require_input(i, {first.type}));
    ir::Shape expected = p.in(i).dims;
    if (expected.size() == dims.size()) expected[index(axis)] = dims[index(axis)];
    if (expected != dims) {
      return p.corrupt("inputs ", shape_text(first.dims), " and ", shape_text(p.in(i).dims), " do not concatenate");
    }
    dims[index(axis)] += p.in(i).dims[index(axis)];
  }
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  QQ_TRY(const int64_t bytes, element_bytes(p, first.type));
  const AxisView all = axis_view(dims, axis);
  std::vector<CopyPlan> plans;
  int64_t offset = 0;
  for (size_t i = 0; i < p.input_count(); ++i) {
    const int64_t run = p.in(i).dims[index(axis)] * all.inner;
    plans.push_back(plan_copy({{all.outer, run}, {run, 1}, {all.count * all.inner, 1}, 0, offset}, bytes));
    offset += run;
  }
  p.out(0, first.type, std::move(dims));
  return Kernel([plans = std::move(plans)](const Run& run) {
    for (size_t i = 0; i < plans.size(); ++i) run_copy(plans[i], run.inputs[i], run.outputs[0]);
    return Status();
  });
}

namespace {

/// Lengths of the parts along the split axis.
Result<std::vector<int64_t>> split_lengths(const Prepare& p, int64_t length, const IntList& asked) {
  const auto count = static_cast<int64_t>(p.output_count());
  std::vector<int64_t> lengths = asked.values;
  if (!asked.present) {
    const int64_t parts = p.node().int_or("num_outputs", count);
    if (parts != count || count == 0) return p.corrupt("num_outputs is ", parts, ", outputs: ", count);
    const int64_t part = (length + parts - 1) / parts;
    if (p.opset() < 18 && length % parts != 0) return p.corrupt("splits ", length, " into ", parts, " equal parts");
    for (int64_t i = 0; i < parts; ++i) lengths.push_back(std::clamp<int64_t>(length - i * part, 0, part));
  }
  int64_t left = length;
  for (const int64_t part : lengths) {
    if (part < 0 || part > left) return p.corrupt("split ", shape_text(lengths), " does not cut a length of ", length);
    left -= part;
  }
  if (left != 0 || static_cast<int64_t>(lengths.size()) != count) {
    return p.corrupt("split ", shape_text(lengths), " does not cut a length of ", length, " into ", count, " outputs");
  }
  return lengths;
}

}  // namespace

Result<Kernel> prepare_split(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", 0), x.rank()));
  QQ_TRY(const IntList asked, read_ints(p, "split", 1, 13));
  if (!asked.known) return Prepare::defer();
  const AxisView all = axis_view(x.dims, axis);
  QQ_TRY(const std::vector<int64_t> lengths, split_lengths(p, all.count, asked));
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  std::vector<CopyPlan> plans;
  int64_t offset = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t run = lengths[i] * all.inner;
    plans.push_back(plan_copy({{all.outer, run}, {all.count * all.inner, 1}, {run, 1}, offset, 0}, bytes));
    offset += run;
    ir::Shape dims = x.dims;
    dims[index(axis)] = lengths[i];
    p.out(i, x.type, std::move(dims));
  }
  return Kernel([plans = std::move(plans)](const Run& run) {
    for (size_t i = 0; i < plans.size(); ++i) {
      if (wants_output(run, i)) run_copy(plans[i], run.inputs[0], run.outputs[i]);
    }
    return Status();
  });
}

namespace {

/// One sliced axis: first index, step, how many.
struct SliceRange {
  int64_t start = 0, step = 1, count = 0;
};

SliceRange slice_range(int64_t start, int64_t end, int64_t step, int64_t length) {
  if (start < 0) start += length;
  if (end < 0) end += length;
  // A step beyond the length takes one element at most; the bound keeps products with strides small.
  step = std::clamp(step, -std::max<int64_t>(length, 1), std::max<int64_t>(length, 1));
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, length);
    end = std::clamp<int64_t>(end, 0, length);
    return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
  }
  start = length == 0 ? -1 : std::clamp<int64_t>(start, 0, length - 1);  // never before the first element, unlike `end`
  end = std::clamp<int64_t>(end, -1, length - 1);
  return {start, step, start > end ? (start - end - 1) / -step + 1 : 0};
}

}  // namespace

Result<Kernel> prepare_slice(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  if (numeric::is_packed(p.in(0).type)) return move_packed(p, prepare_slice);
  const Spec& x = p.in(0);
  QQ_TRY(const IntList starts, read_ints(p, "starts", 1, 10));
  QQ_TRY(const IntList ends, read_ints(p, "ends", 2, 10));
  QQ_TRY(IntList axes, read_ints(p, "axes", 3, 10));
  QQ_TRY(IntList steps, read_ints(p, "steps", 4, 10));
  if (!starts.known || !ends.known || !axes.known || !steps.known) return Prepare::defer();
  if (!axes.present) {
    for (size_t i = 0; i < starts.values.size(); ++i) axes.values.push_back(static_cast<int64_t>(i));
  }
  if (!steps.present || p.opset() < 10) steps.values.assign(starts.values.size(), 1);
  const size_t count = starts.values.size();
  if (!starts.present || ends.values.size() != count || axes.values.size() != count || steps.values.size() != count) {
    return p.corrupt(count, " starts, ", ends.values.size(), " ends, ", axes.values.size(), " axes, ",
                     steps.values.size(), " steps: must be equally many");
  }
  CopySpec spec{x.dims, row_major_strides(x.dims), {}, 0, 0};
  std::vector<bool> seen(x.dims.size());
  for (size_t i = 0; i < count; ++i) {
    QQ_TRY(const int64_t axis, p.axis(axes.values[i], x.rank()));
    if (steps.values[i] == 0) return p.corrupt("a step is 0");
    if (seen[index(axis)]) return p.corrupt("axis ", axes.values[i], " is named twice");
    seen[index(axis)] = true;
    const SliceRange range = slice_range(starts.values[i], ends.values[i], steps.values[i], x.dims[index(axis)]);
    spec.from_offset += range.count > 0 ? range.start * spec.from_strides[index(axis)] : 0;
    spec.from_strides[index(axis)] *= range.step;
    spec.dims[index(axis)] = range.count;
  }
  spec.to_strides = row_major_strides(spec.dims);
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  p.out(0, x.type, spec.dims);
  return copy_kernel(plan_copy(spec, bytes));
}

Result<Kernel> prepare_tile(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(const IntList repeats, read_ints(p, "repeats", 1, 1));
  if (!repeats.known) return Prepare::defer();
  if (repeats.values.size() != x.dims.size()) {
    return p.corrupt(repeats.values.size(), " repeats for rank ", x.rank());
  }
  QQ_RETURN_IF_ERROR(check_dims(p, repeats.values));
  ir::Shape dims = x.dims;
  CopySpec spec;  // every dimension becomes two: the repetition, which moves nothing, and the dimension itself
  const std::vector<int64_t> strides = row_major_strides(x.dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats.values[i] > 0 && dims[i] > ir::kMostElements / repeats.values[i]) {
      return p.corrupt("tiles too large a tensor");
    }
    dims[i] *= repeats.values[i];
    spec.dims.insert(spec.dims.end(), {repeats.values[i], x.dims[i]});
    spec.from_strides.insert(spec.from_strides.end(), {0, strides[i]});
  }
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  spec.to_strides = row_major_strides(spec.dims);
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  p.out(0, x.type, std::move(dims));
  return copy_kernel(plan_copy(spec, bytes));
}

Result<Kernel> prepare_expand(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(const IntList shape, read_ints(p, "shape", 1, 1));
  if (!shape.known) return Prepare::defer();
  QQ_RETURN_IF_ERROR(check_dims(p, shape.values));
  QQ_TRY(ir::Shape dims, ir::broadcast(x.dims, shape.values).context(p.label()));
  QQ_RETURN_IF_ERROR(check_dims(p, dims));
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  CopySpec spec{dims, row_major_strides(x.dims), row_major_strides(dims), 0, 0};
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (x.dims[i] == 1) spec.from_strides[i] = 0;
  }
  spec.from_strides.insert(spec.from_strides.begin(), dims.size() - x.dims.size(), 0);
  p.out(0, x.type, std::move(dims));
  return copy_kernel(plan_copy(spec, bytes));
}

}  // namespace quarkq::exec
