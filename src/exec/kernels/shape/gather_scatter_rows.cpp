// SPDX-License-Identifier: MIT
// Operators that move whole rows to places that depend on the batch entry: ReverseSequence, TensorScatter.
#include "exec/kernels/shape/gather_scatter.h"

#include "base/index.h"

namespace quarkq::exec {

Result<Kernel> prepare_reverse_sequence(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(require_indices(p, 1));
  const Spec& x = p.in(0);
  if (x.rank() < 2) return p.corrupt("input 0 has rank ", x.rank(), ", allowed: 2 and more");
  const int64_t batch_axis = p.node().int_or("batch_axis", 1), time_axis = p.node().int_or("time_axis", 0);
  const bool batch_first = batch_axis == 0 && time_axis == 1, time_first = batch_axis == 1 && time_axis == 0;
  if (!batch_first && !time_first) {
    return p.corrupt("batch_axis is ", batch_axis, " and time_axis ", time_axis, ", allowed: 0 and 1");
  }
  const int64_t batch = x.dims[as_index(batch_axis)], time = x.dims[as_index(time_axis)];
  if (p.in(1).dims != ir::Shape{batch}) {
    return p.corrupt("sequence_lens is ", shape_text(p.in(1).dims), ", must be [", batch, "]");
  }
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  const int64_t unit = product(x.dims, 2, x.rank()) * bytes;
  p.out(0, x.type, x.dims);
  return Kernel([=, label = p.label(), wide = is_wide(p, 1)](const Run& run) {
    const IndexReader lengths{run.inputs[1], wide};
    for (int64_t b = 0; b < batch; ++b) {
      if (lengths[b] >= 0 && lengths[b] <= time) continue;
      return bad_data(label, ": sequence length ", lengths[b], " is outside of [0,", time, "]");
    }
    for_rows(batch * time, unit / 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = batch_axis == 0 ? i / time : i % batch, t = batch_axis == 0 ? i % time : i / batch;
        const int64_t source = t < lengths[b] ? lengths[b] - 1 - t : t;
        const int64_t from = batch_axis == 0 ? b * time + source : source * batch + b;
        std::memcpy(run.outputs[0] + i * unit, run.inputs[0] + from * unit, as_index(unit));
      }
    });
    return Status();
  });
}

namespace {

/// Fails unless input 1 has the dims of input 0, but for a shorter `axis`.
Status check_update(const Prepare& p, int64_t axis) {
  QQ_RETURN_IF_ERROR(p.require_input(1, {p.in(0).type}));
  const ir::Shape &cache = p.in(0).dims, &update = p.in(1).dims;
  bool fits = cache.size() == update.size();
  for (size_t d = 0; fits && d < cache.size(); ++d) {
    fits = d == as_index(axis) ? update[d] <= cache[d] : update[d] == cache[d];
  }
  if (fits) return Status();
  return p.corrupt("update ", shape_text(update), " does not fit inside ", shape_text(cache), " along axis ", axis);
}

}  // namespace

/// Inputs: past_cache, update, write_indices (one for each batch entry, zero without them).
Result<Kernel> prepare_tensor_scatter(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  const Spec& x = p.in(0);
  QQ_TRY(const int64_t axis, p.axis(p.node().int_or("axis", -2), x.rank()));
  if (axis == 0) return p.corrupt("axis is 0, which is the batch");
  QQ_RETURN_IF_ERROR(check_update(p, axis));
  const std::string mode = p.node().string_or("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return p.corrupt("mode is '", mode, "', allowed: linear, circular");
  }
  const int64_t batch = x.dims[0];
  if (p.has(2)) {
    QQ_RETURN_IF_ERROR(require_indices(p, 2));
    if (p.in(2).dims != ir::Shape{batch}) {
      return p.corrupt("write_indices is ", shape_text(p.in(2).dims), ", must be [", batch, "]");
    }
  }
  QQ_TRY(const int64_t bytes, element_bytes(p, x.type));
  const AxisView v = axis_view(x.dims, axis);
  const int64_t rows = p.in(1).dims[as_index(axis)], unit = v.inner * bytes,
                prefixes = batch == 0 ? 0 : v.outer / batch;
  p.out(0, x.type, x.dims);
  return Kernel([=, label = p.label(), circular = mode == "circular",
                 wide = p.has(2) && is_wide(p, 2)](const Run& run) {
    for (int64_t b = 0; has_input(run, 2) && b < batch; ++b) {
      const int64_t first = IndexReader{run.inputs[2], wide}[b];
      if (first >= 0 && (circular ? first < std::max<int64_t>(v.count, 1) : first <= v.count - rows)) continue;
      return bad_data(label, ": write index ", first, " does not fit ", rows, " rows into ", v.count);
    }
    std::memcpy(run.outputs[0], run.inputs[0], as_index(v.outer * v.count * unit));
    for (int64_t o = 0; o < v.outer; ++o) {
      const int64_t first = has_input(run, 2) ? IndexReader{run.inputs[2], wide}[o / prefixes] : 0;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t to = (first + i) % v.count;
        std::memcpy(run.outputs[0] + (o * v.count + to) * unit, run.inputs[1] + (o * rows + i) * unit, as_index(unit));
      }
    }
    return Status();
  });
}

}  // namespace quarkq::exec
