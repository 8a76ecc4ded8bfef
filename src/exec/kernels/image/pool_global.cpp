// SPDX-License-Identifier: MIT
// The global pools: one row of channels from each image.
#include "exec/kernels/image/image_loops.h"
#include "exec/kernels/image/pool.h"
#include "exec/kernels/shared/type_bridges.h"

namespace quarkq::exec {
namespace {

enum class GlobalKind { kMax, kAverage, kNorm };

/// Joins the rows, of which `x` is the first.
template <typename T>
void join_rows(GlobalKind kind, double power, const T* x, const StridedRows& all, T* y) {
  const int64_t width = all.channels;
  if (kind == GlobalKind::kNorm) {
    const T exponent = static_cast<T>(power);
    std::fill_n(y, width, T(0));
    QQ_DISPATCH(exec, add_powers<T>)(x, all, exponent, y);
    for (int64_t c = 0; c < width; ++c) {
      y[c] = power == 2 ? std::sqrt(y[c]) : power == 1 ? y[c] : std::pow(y[c], T(1) / exponent);
    }
    return;
  }
  std::copy_n(x, width, y);
  const StridedRows others{all.rows - 1, all.stride, width};
  if (kind == GlobalKind::kMax) return QQ_DISPATCH(exec, max_into<T>)(x + all.stride, others, y);
  QQ_DISPATCH(exec, add_rows<T>)(x + all.stride, others, y);
  for (int64_t c = 0; c < width; ++c) y[c] /= static_cast<T>(all.rows);
}

template <typename T>
Kernel global_kernel(GlobalKind kind, double power, int64_t images, int64_t rows, int64_t channels) {
  constexpr int64_t kChannelsPerTask = 64;
  const int64_t tasks = (channels + kChannelsPerTask - 1) / kChannelsPerTask;
  return [=](const Run& run) {
    for_pieces(images * tasks, 1, images * rows * channels > kParallelElements, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % tasks * kChannelsPerTask;
        join_rows(kind, power, run.in<T>(0) + i / tasks * rows * channels + first,
                  {rows, channels, std::min(kChannelsPerTask, channels - first)},
                  run.out<T>(0) + i / tasks * channels + first);
      }
    });
    return Status();
  };
}

Result<Kernel> prepare_global(Prepare& p, GlobalKind kind, double power) {
  ir::Shape dims, spatial;
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  QQ_RETURN_IF_ERROR(read_pool_image(p, dims, spatial));
  const int64_t rows = ir::checked_count(spatial);
  const ElementType type = p.in(0).type;
  ir::Shape out(dims.size(), 1);
  out[0] = dims[0];
  out[1] = dims[1];
  p.out(0, type, stored_dims(out, Layout::kChannelsLast), Layout::kChannelsLast);
  if (type == ElementType::kDouble) return global_kernel<double>(kind, power, dims[0], rows, dims[1]);
  QQ_TRY(Kernel kernel, bridged(p, global_kernel<float>(kind, power, dims[0], rows, dims[1])));
  return kernel;
}

}  // namespace

Result<double> read_pool_power(const Prepare& p) {
  double power = static_cast<double>(p.node().int_or("p", 2));
  if (const float* real = p.node().get<float>("p"); real != nullptr) power = static_cast<double>(*real);  // opset 1
  if (power >= 1 && power <= 1e6) return power;
  return p.corrupt("p is ", power, ", allowed: 1 and more");
}

Result<Kernel> prepare_global_average(Prepare& p) { return prepare_global(p, GlobalKind::kAverage, 0); }
Result<Kernel> prepare_global_max(Prepare& p) { return prepare_global(p, GlobalKind::kMax, 0); }
Result<Kernel> prepare_global_norm(Prepare& p) {
  QQ_TRY(const double power, read_pool_power(p));
  return prepare_global(p, GlobalKind::kNorm, power);
}

}  // namespace quarkq::exec
