// SPDX-License-Identifier: MIT
// MaxUnpool: maxima go back to where MaxPool found them.
#include "exec/kernels/image/pool.h"
#include "exec/kernels/shared/support.h"

namespace quarkq::exec {
namespace {

/// The shape that a MaxPool with these attributes would have read.
Result<ir::Shape> unpooled_shape(const Prepare& p) {
  const ir::Shape& x = p.in(0).dims;
  const size_t rank = x.size() - 2;
  const auto kernel = p.node().ints_or("kernel_shape", {});
  const auto strides = p.node().ints_or("strides", std::vector<int64_t>(rank, 1));
  const auto pads = p.node().ints_or("pads", std::vector<int64_t>(2 * rank, 0));
  if (kernel.size() != rank || strides.size() != rank || pads.size() != 2 * rank) {
    return p.corrupt("kernel_shape ", shape_text(kernel), ", strides ", shape_text(strides), " and pads ",
                     shape_text(pads), " do not fit ", rank, " spatial dimensions");
  }
  constexpr int64_t kLimit = 1 << 30;
  ir::Shape out = {x[0], x[1]};
  for (size_t i = 0; i < rank; ++i) {
    for (const int64_t value : {kernel[i], strides[i], x[i + 2]}) {
      if (value < 1 || value > kLimit) {
        return p.corrupt("kernel_shape, strides or input hold ", value, ", allowed: 1 to ", kLimit);
      }
    }
    if (pads[i] < 0 || pads[i] > kLimit || pads[rank + i] < 0 || pads[rank + i] > kLimit) {
      return p.corrupt("pads is ", shape_text(pads), ", entries must be in [0,", kLimit, "]");
    }
    out.push_back((x[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i]);
  }
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  return out;
}

}  // namespace

Result<Kernel> prepare_max_unpool(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0));
  QQ_RETURN_IF_ERROR(p.require_input(1, {ElementType::kInt64}));
  const ir::Shape& x = p.in(0).dims;
  if (x.size() < 3) return p.corrupt("input is ", shape_text(x), ", rank 3 and more is needed");
  if (p.in(1).dims != x) return p.corrupt("indices are ", shape_text(p.in(1).dims), ", the input is ", shape_text(x));
  QQ_TRY(const int64_t size, element_bytes(p, p.in(0).type));
  ir::Shape out;
  if (p.has(2)) {
    QQ_RETURN_IF_ERROR(p.require_input(2, {ElementType::kInt64}));
    QQ_TRY(const auto stated, p.known_ints(2));
    if (!stated) return Prepare::defer();
    out = *stated;
    if (out.size() != x.size())
      return p.corrupt("output_shape is ", shape_text(out), ", rank ", x.size(), " is needed");
    QQ_RETURN_IF_ERROR(check_dims(p, out));
  } else {
    QQ_TRY(out, unpooled_shape(p));
  }
  p.out(0, p.in(0).type, out);
  const int64_t from = product(x), to = product(out);
  return Kernel([from, to, size](const Run& run) {
    std::memset(run.outputs[0], 0, static_cast<size_t>(to * size));
    for (int64_t i = 0; i < from; ++i) {
      const int64_t index = run.in<int64_t>(1)[i];
      if (index < 0 || index >= to)
        return bad_data("index ", index, " is outside of the ", to, " elements of the output");
      std::memcpy(run.outputs[0] + index * size, run.inputs[0] + i * size, static_cast<size_t>(size));
    }
    return Status();
  });
}

}  // namespace quarkq::exec
