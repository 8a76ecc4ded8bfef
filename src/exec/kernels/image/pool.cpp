// SPDX-License-Identifier: MIT
// MaxPool, AveragePool and LpPool on channels-last images. Own loops rather than oneDNN's: they cover ceil_mode,
// dilations and every padding rule alike, and a window over channels-last rows is one short vector loop. 16-bit floats
// are computed in float32 and rounded once.
#include "exec/kernels/image/pool.h"

#include <limits>

#include "exec/kernels/image/image_loops.h"
#include "exec/kernels/shared/support.h"
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

enum class PoolKind { kMax, kAverage, kNorm };

struct PoolPlan {
  PoolKind kind = PoolKind::kMax;
  std::shared_ptr<const PoolTaps> taps;
  int64_t images = 0, channels = 0, in_rows = 0, positions = 0;
  ir::Shape spatial;          ///< of the input
  double power = 2;           ///< kNorm
  bool column_major = false;  ///< storage_order 1: how the index of a maximum counts the spatial positions
};

/// The index of an element of the input in ONNX order, or with the spatial dimensions turned around.
int64_t element_index(const PoolPlan& plan, int64_t image, int64_t channel, int64_t row) {
  int64_t place = row;
  if (plan.column_major) {
    int64_t rest = row, stride = plan.in_rows;
    place = 0;
    for (size_t d = plan.spatial.size(); d-- > 0;) {
      stride /= plan.spatial[d];
      place += rest % plan.spatial[d] * stride;
      rest /= plan.spatial[d];
    }
  }
  return (image * plan.channels + channel) * plan.in_rows + place;
}

/// What lies under one output position.
struct PoolWindow {
  int64_t image = 0;  ///< its number
  ScatteredRows rows;
  double factor = 1;
};

/// All channels of one output position that has taps.
template <typename T>
void pool_position(const PoolPlan& plan, const T* image, const PoolWindow& w, T* y) {
  if (plan.kind == PoolKind::kMax) return QQ_DISPATCH(exec, max_rows<T>)(image, w.rows, y);
  if constexpr (std::is_floating_point_v<T>) {
    if (plan.kind == PoolKind::kAverage) {
      const T factor = static_cast<T>(w.factor);
      return QQ_DISPATCH(exec, average_rows<T>)(image, w.rows, factor, y);
    }
    QQ_DISPATCH(exec, norm_rows<T>)(image, w.rows, static_cast<T>(plan.power), y);
  }
}

template <typename T>
void place_maxima(const PoolPlan& plan, const T* image, const PoolWindow& w, T* y, int64_t* indices) {
  QQ_DISPATCH(exec, max_rows_placed<T>)(image, w.rows, y, indices);
  for (int64_t c = 0; c < plan.channels; ++c) indices[c] = element_index(plan, w.image, c, indices[c]);
}

template <typename T>
Kernel pool_kernel(const PoolPlan& plan) {
  return [plan](const Run& run) {
    const PoolTaps& taps = *plan.taps;
    const int64_t channels = plan.channels;
    for_rows(plan.images * plan.positions, 2 * channels, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto position = static_cast<size_t>(i % plan.positions);
        const T* image = run.in<T>(0) + i / plan.positions * plan.in_rows * channels;
        T* y = run.out<T>(0) + i * channels;
        int64_t* indices = wants_output(run, 1) ? run.out<int64_t>(1) + i * channels : nullptr;
        const int64_t first = taps.begin[position];
        const PoolWindow window = {i / plan.positions,
                                   {taps.offsets.data() + first, taps.begin[position + 1] - first, channels},
                                   taps.factor[position]};
        if (window.rows.count == 0) {  // a window wholly in the padding
          std::fill_n(y, channels, plan.kind == PoolKind::kMax ? std::numeric_limits<T>::lowest() : T(0));
          if (indices != nullptr) std::fill_n(indices, channels, int64_t{-1});
        } else if (indices != nullptr) {
          place_maxima(plan, image, window, y, indices);
        } else {
          pool_position(plan, image, window, y);
        }
      }
    });
    return Status();
  };
}

Result<Kernel> choose_kernel(Prepare& p, const PoolPlan& plan) {
  switch (p.in(0).type) {
    case ElementType::kInt8: return pool_kernel<int8_t>(plan);
    case ElementType::kUInt8: return pool_kernel<uint8_t>(plan);
    case ElementType::kDouble: return pool_kernel<double>(plan);
    default: return bridged(p, pool_kernel<float>(plan));
  }
}

Result<Kernel> prepare_pool(Prepare& p, PoolPlan plan) {
  ir::Shape dims;
  QQ_RETURN_IF_ERROR(read_pool_image(p, dims, plan.spatial));
  QQ_TRY(const Window window, read_window(p, plan.spatial, p.node().ints_or("kernel_shape", {})));
  const bool count_pad = p.node().int_or("count_include_pad", 0) != 0;
  ir::Shape out = {dims[0], dims[1]};
  out.insert(out.end(), window.output.begin(), window.output.end());
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  QQ_TRY(plan.taps, collect_taps(p, plan.spatial, window, dims[1], count_pad));
  plan.images = dims[0];
  plan.channels = dims[1];
  plan.in_rows = product(plan.spatial);
  plan.positions = product(window.output);
  const ir::Shape stored = stored_dims(out, Layout::kChannelsLast);
  p.out(0, p.in(0).type, stored, Layout::kChannelsLast);
  if (plan.kind == PoolKind::kMax) p.out(1, ElementType::kInt64, stored, Layout::kChannelsLast);
  QQ_TRY(Kernel kernel, choose_kernel(p, plan));
  return kernel;
}

Result<Kernel> prepare_max_pool(Prepare& p) {
  QQ_RETURN_IF_ERROR(p.require_input(0, {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16,
                                         ElementType::kDouble, ElementType::kInt8, ElementType::kUInt8}));
  PoolPlan plan;
  plan.kind = PoolKind::kMax;
  plan.column_major = p.node().int_or("storage_order", 0) != 0;
  return prepare_pool(p, std::move(plan));
}

Result<Kernel> prepare_average_pool(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  PoolPlan plan;
  plan.kind = PoolKind::kAverage;
  return prepare_pool(p, std::move(plan));
}

Result<Kernel> prepare_norm_pool(Prepare& p) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  PoolPlan plan;
  plan.kind = PoolKind::kNorm;
  QQ_TRY(plan.power, read_pool_power(p));
  return prepare_pool(p, std::move(plan));
}

using enum LayoutRule;
constexpr OpDef kPoolOps[] = {
    {"AveragePool", "", 1, kImage, prepare_average_pool},
    {"GlobalAveragePool", "", 1, kImage, prepare_global_average},
    {"GlobalLpPool", "", 1, kImage, prepare_global_norm},
    {"GlobalMaxPool", "", 1, kImage, prepare_global_max},
    {"LpPool", "", 1, kImage, prepare_norm_pool},
    {"MaxPool", "", 1, kImage, prepare_max_pool},
    {"MaxUnpool", "", 9, LayoutRule::kPlain, prepare_max_unpool},
};

}  // namespace

std::span<const OpDef> pool_ops() { return kPoolOps; }

// MaxUnpool: maxima go back to where MaxPool found them.

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
        return p.corrupt("kernel_shape, strides or input contain ", value, ", allowed: 1 to ", kLimit);
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
