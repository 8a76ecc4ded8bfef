// SPDX-License-Identifier: MIT
// DeformConv of two spatial dimensions: the places named by the offsets are sampled into rows [taps, channels], over
// which an ordinary 1 x taps convolution runs. Positions are taken in chunks, so that the rows stay small.
#include "exec/convolution.h"
#include "exec/kernels/image/image_ops.h"
#include "exec/kernels/shared/kernel_shapes.h"

namespace quarkq::exec {
namespace {

constexpr int64_t kChunkFloats = int64_t{1} << 21;  ///< floats of sampled rows that are alive at a time

struct DeformConv {
  ir::Shape source;  ///< [N, H, W, C]
  Window window;
  int64_t made = 0;  ///< output channels
  int64_t groups = 1, offset_groups = 1;
  bool has_bias = false, has_mask = false;

  int64_t channels() const { return source[3]; }
  int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  int64_t positions() const { return window.output[0] * window.output[1]; }
  int64_t row() const { return taps() * channels(); }
};

/// A place in the image, and what is taken of its value.
struct SamplePoint {
  float y = 0, x = 0, factor = 1;
};

/// Adds the four neighbours of the point that lie in the image.
void add_sample(const DeformConv& d, const SamplePoint& point, int64_t base, RowTaps& taps) {
  const float y = point.y, x = point.x;
  const int64_t height = d.source[1], width = d.source[2];
  if (!(y > -1.0f && x > -1.0f && y < static_cast<float>(height) && x < static_cast<float>(width))) return;
  const float top = std::floor(y), left = std::floor(x), below = y - top, right = x - left;
  const auto row = static_cast<int64_t>(top), column = static_cast<int64_t>(left);
  const float rows[2] = {1.0f - below, below}, columns[2] = {1.0f - right, right};
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < 2; ++k) {
      if (row + i < 0 || row + i >= height || column + k < 0 || column + k >= width) continue;
      taps.add(base + ((row + i) * width + column + k) * d.channels(), rows[i] * columns[k] * point.factor);
    }
  }
}

/// Collects the samples of all taps and offset groups of one output position.
void add_position(const DeformConv& d, const Run& run, int64_t image, int64_t position, RowTaps& taps) {
  const int64_t count = d.positions(), per_group = d.channels() / d.offset_groups;
  const Window& w = d.window;
  const auto top = static_cast<float>(position / w.output[1] * w.strides[0] - w.pads_begin[0]);
  const auto left = static_cast<float>(position % w.output[1] * w.strides[1] - w.pads_begin[1]);
  const int64_t base = image * d.source[1] * d.source[2] * d.channels();
  taps.expect(4 * d.taps() * d.offset_groups);
  for (int64_t tap = 0; tap < d.taps(); ++tap) {
    const auto down = static_cast<float>(tap / w.kernel[1] * w.dilations[0]);
    const auto across = static_cast<float>(tap % w.kernel[1] * w.dilations[1]);
    for (int64_t g = 0; g < d.offset_groups; ++g) {
      const int64_t entry = (image * d.offset_groups + g) * d.taps() + tap;
      const float* offset = run.in<float>(2) + 2 * entry * count + position;
      const float factor = d.has_mask ? run.in<float>(4)[entry * count + position] : 1.0f;
      add_sample(d, {top + down + offset[0], left + across + offset[count], factor}, base + g * per_group, taps);
      taps.end_row();
    }
  }
}

/// Output positions [first, first + count) of an image.
struct PositionChunk {
  int64_t image = 0, first = 0, count = 0;
};

/// Samples the rows of some positions.
void sample_rows(const DeformConv& d, const Run& run, const PositionChunk& chunk, float* rows) {
  const int64_t per_group = d.channels() / d.offset_groups;
  for_rows(chunk.count, d.taps() * (4 * d.channels() + 32 * d.offset_groups), [&](int64_t begin, int64_t end) {
    RowTaps taps;
    for (int64_t i = begin; i < end; ++i) {
      taps.clear();
      add_position(d, run, chunk.image, chunk.first + i, taps);
      QQ_DISPATCH(exec, weighted_rows)
      (taps.sums(per_group, per_group), run.in<float>(0), rows + i * d.row(), d.taps() * d.offset_groups);
    }
  });
}

Result<std::shared_ptr<Convolution>> make_deform_product(const DeformConv& d, int64_t positions, const float* weights) {
  ConvProblem problem;
  problem.source = {1, d.channels(), positions, d.taps()};
  problem.weights = {d.made, d.channels() / d.groups, 1, d.taps()};
  problem.result = {1, d.made, positions, 1};
  problem.strides = problem.dilations = {1, 1};
  problem.pads_begin = problem.pads_end = {0, 0};
  problem.groups = d.groups;
  problem.has_bias = d.has_bias;
  return Convolution::make(problem, weights);
}

Result<DeformConv> read_deform_problem(const Prepare& p) {
  for (size_t i = 0; i < 3; ++i) QQ_RETURN_IF_ERROR(require_real(p, i));
  QQ_RETURN_IF_ERROR(require_image(p, 4, 4));
  const ir::Shape& weights = p.in(1).dims;
  DeformConv d;
  d.source = p.in(0).dims;
  d.groups = p.node().int_or("group", 1);
  d.offset_groups = p.node().int_or("offset_group", 1);
  if (weights.size() != 4) return p.corrupt("weights ", shape_text(weights), " have another rank than 4");
  d.made = weights[0];
  if (d.groups < 1 || d.groups > d.channels() || d.made < 1 || d.made % d.groups != 0 || d.channels() % d.groups != 0 ||
      weights[1] != d.channels() / d.groups) {
    return p.corrupt("weights ", shape_text(weights), " with group ", d.groups, " do not fit ", d.channels(),
                     " channels");
  }
  if (d.offset_groups < 1 || d.offset_groups > d.channels() || d.channels() % d.offset_groups != 0) {
    return p.corrupt("offset_group ", d.offset_groups, " does not divide ", d.channels(), " channels");
  }
  const std::vector<int64_t> kernel(weights.begin() + 2, weights.end());
  if (p.node().ints_or("kernel_shape", kernel) != kernel) return p.corrupt("kernel_shape disagrees with the weights");
  QQ_TRY(d.window, read_window(p, {d.source[1], d.source[2]}, kernel));
  d.has_bias = p.has(3);
  d.has_mask = p.has(4);
  return d;
}

/// Checks offset, bias and mask against the window.
Status check_operands(const Prepare& p, const DeformConv& d) {
  ir::Shape wanted = {d.source[0], d.offset_groups * d.taps() * 2, d.window.output[0], d.window.output[1]};
  if (p.in(2).dims != wanted) {
    return p.corrupt("offset is ", shape_text(p.in(2).dims), ", must be ", shape_text(wanted));
  }
  wanted[1] /= 2;
  if (d.has_mask) {
    QQ_RETURN_IF_ERROR(require_real(p, 4));
    if (p.in(4).dims != wanted) {
      return p.corrupt("mask is ", shape_text(p.in(4).dims), ", must be ", shape_text(wanted));
    }
  }
  if (!d.has_bias) return Status();
  QQ_RETURN_IF_ERROR(require_real(p, 3));
  if (p.in(3).dims == ir::Shape{d.made}) return Status();
  return p.corrupt("bias is ", shape_text(p.in(3).dims), ", must be [", d.made, "]");
}

}  // namespace

Result<Kernel> prepare_deform_conv(Prepare& p) {
  QQ_TRY(const DeformConv d, read_deform_problem(p));
  QQ_RETURN_IF_ERROR(check_operands(p, d));
  const ir::Shape out = {d.source[0], d.window.output[0], d.window.output[1], d.made};
  QQ_RETURN_IF_ERROR(check_dims(p, out));
  QQ_RETURN_IF_ERROR(check_dims(p, {d.taps(), d.channels()}));
  p.out(0, p.in(0).type, out, Layout::kChannelsLast);
  if (product(out) == 0) return no_kernel();
  const int64_t chunk = std::min(d.positions(), std::max<int64_t>(16, kChunkFloats / d.row()));
  const int64_t rest = d.positions() % chunk;
  const bool known = p.constant(1) != nullptr && p.in(1).type == ElementType::kFloat;
  const float* weights = known ? p.constant(1)->data<float>().data() : nullptr;
  QQ_TRY(const auto whole, make_deform_product(d, chunk, weights).context(p.label()));
  std::shared_ptr<Convolution> last;
  if (rest != 0) {
    QQ_TRY(last, make_deform_product(d, rest, weights).context(p.label()));
  }
  const size_t own = (std::max(whole->scratch_bytes(), last ? last->scratch_bytes() : 0) + 63) / 64 * 64;
  const auto rows_bytes = static_cast<size_t>(chunk * d.row()) * sizeof(float);
  return bridged(
      p,
      [d, whole, last, own, chunk](const Run& run) {
        auto* rows = reinterpret_cast<float*>(run.scratch + own);
        for (int64_t image = 0; image < d.source[0]; ++image) {
          for (int64_t first = 0; first < d.positions(); first += chunk) {
            const int64_t count = std::min(chunk, d.positions() - first);
            sample_rows(d, run, {image, first, count}, rows);
            (count == chunk ? whole : last)
                ->run({.source = rows,
                       .weights = run.in<float>(1),
                       .bias = d.has_bias ? run.in<float>(3) : nullptr,
                       .result = run.out<float>(0) + (image * d.positions() + first) * d.made,
                       .scratch = run.scratch});
          }
        }
        return Status();
      },
      own + rows_bytes);
}

}  // namespace quarkq::exec
