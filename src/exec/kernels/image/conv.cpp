// SPDX-License-Identifier: MIT
// Conv and ConvTranspose on channels-last images. Rank 3 to 5. 16-bit floats are computed in float32 and
// rounded once; doubles have their own loops.
#include "exec/kernels/image/conv.h"

#include <cstdlib>
#include <numeric>

#include "exec/kernels/shared/kernel_shapes.h"
#include "exec/kernels/shared/support.h"
#include "exec/kernels/shared/type_bridges.h"
#include "exec/op_def.h"

namespace quarkq::exec {

namespace {

/// Checks ranks, channels, groups and bias; fills everything of the problem but the window.
Status read_problem(const Prepare& p, bool transposed, ConvProblem& problem) {
  QQ_RETURN_IF_ERROR(require_real(p, 0));
  QQ_RETURN_IF_ERROR(p.require_input(1, {p.in(0).type}));
  problem.transposed = transposed;
  problem.source = logical_dims(p.in(0).dims, p.in(0).layout);
  problem.weights = p.in(1).dims;
  problem.groups = p.node().int_or("group", 1);
  const size_t rank = problem.source.size();
  if (rank < 3 || rank > 5) return p.cannot("input is ", shape_text(problem.source), ", supported ranks are 3 to 5");
  if (problem.weights.size() != rank) {
    return p.corrupt("weights ", shape_text(problem.weights), " do not fit the input ", shape_text(problem.source));
  }
  if (problem.groups < 1 || problem.weights[0] % problem.groups != 0) {
    return p.corrupt("group ", problem.groups, " does not divide ", problem.weights[0], " channels");
  }
  const int64_t channels = transposed ? problem.weights[0] : problem.weights[1] * problem.groups;
  if (channels != problem.source[1]) {
    return p.corrupt("input has ", problem.source[1], " channels, the weights ", shape_text(problem.weights),
                     " with group ", problem.groups, " take ", channels);
  }
  const int64_t made = transposed ? problem.weights[1] * problem.groups : problem.weights[0];
  problem.result = {problem.source[0], made};
  problem.has_bias = p.has(2) && p.node().inputs.size() > 2;
  if (!problem.has_bias) return Status();
  QQ_RETURN_IF_ERROR(p.require_input(2, {p.in(0).type}));
  if (p.in(2).dims == ir::Shape{made}) return Status();
  return p.corrupt("bias is ", shape_text(p.in(2).dims), ", ", shape_text({made}), " is needed");
}

Status read_sizes(const Prepare& p, ConvProblem& problem) {
  const ir::Shape spatial(problem.source.begin() + 2, problem.source.end());
  const std::vector<int64_t> kernel(problem.weights.begin() + 2, problem.weights.end());
  const auto stated = p.node().ints_or("kernel_shape", kernel);
  if (stated != kernel) {
    return p.corrupt("kernel_shape ", shape_text(stated), " disagrees with the weights ", shape_text(problem.weights));
  }
  QQ_TRY(const Window window,
         problem.transposed ? read_transposed_window(p, spatial, kernel) : read_window(p, spatial, kernel));
  problem.result.insert(problem.result.end(), window.output.begin(), window.output.end());
  problem.strides = window.strides;
  problem.dilations = window.dilations;
  problem.pads_begin = window.pads_begin;
  problem.pads_end = window.pads_end;
  return check_dims(p, problem.result);
}

/// Takes what is fused after the node; fails when that would change the result. `added`: inputs of residual sums.
Status read_post_ops(const Prepare& p, ConvProblem& problem, std::vector<size_t>& added) {
  problem.post_ops.assign(p.post_ops().begin(), p.post_ops().end());
  if (problem.post_ops.empty()) return Status();
  const ElementType type = p.in(0).type;
  if (product(problem.source) == 0) return p.cannot("no operation can be fused after a convolution of no elements");
  for (const PostOp& post : problem.post_ops) {
    if (type == ElementType::kDouble) return p.cannot("no operation can be fused after a convolution of doubles");
    if (type != ElementType::kFloat && post.kind != PostOp::Kind::kClip) {
      return p.cannot("the result is rounded to ", name(type), " before what follows");  // a clip commutes with that
    }
    if (post.kind != PostOp::Kind::kAdd) continue;
    added.push_back(p.node().inputs.size() + post.input);
    if (p.in(added.back()).dims != stored_dims(problem.result, Layout::kChannelsLast)) {
      return p.cannot("the value added has another shape than the result");
    }
  }
  return Status();
}

/// The float32 kernel, with other types converted around it.
Result<Kernel> prepare_floats(Prepare& p, const ConvProblem& problem, const std::vector<size_t>& added) {
  const ir::Tensor weights = float_constant(p, 1);
  Result<std::shared_ptr<Convolution>> made =
      p.integers() != nullptr
          ? integer_convolution(problem, *p.integers())
          : Convolution::make(problem, weights.is_defined() ? weights.data<float>().data() : nullptr);
  if (!made.ok()) return made.status().context(p.label());
  std::shared_ptr<Convolution> convolution = std::move(made).value();
  const bool has_bias = problem.has_bias;
  Kernel kernel = [convolution, has_bias, added,
                   pointers = std::vector<const float*>(added.size())](const Run& run) mutable {
    for (size_t i = 0; i < added.size(); ++i) pointers[i] = run.in<float>(added[i]);
    convolution->run({run.in<float>(0), run.in<float>(1), has_bias ? run.in<float>(2) : nullptr, pointers,
                      run.out<float>(0), run.scratch, run.inputs[0]});
    return Status();
  };
  return bridged(p, std::move(kernel), convolution->scratch_bytes(), weights.is_defined() ? uint32_t{1} << 1 : 0);
}

/// Prepares a convolution of an image without elements: every window covers padding only, so the result is the bias, as
/// in ONNX Runtime.
Result<Kernel> prepare_bias(Prepare& p, const ConvProblem& problem) {
  const int64_t channels = problem.result[1], positions = product(problem.result) / channels;
  return bridged(p, [has_bias = problem.has_bias, channels, positions](const Run& run) {
    float* y = run.out<float>(0);
    std::fill_n(y, positions * channels, 0.0f);
    for (int64_t i = 0; has_bias && i < positions; ++i) std::copy_n(run.in<float>(2), channels, y + i * channels);
    return Status();
  });
}

Result<Kernel> prepare_convolution(Prepare& p, bool transposed) {
  ConvProblem problem;
  std::vector<size_t> added;
  QQ_RETURN_IF_ERROR(read_problem(p, transposed, problem));
  QQ_RETURN_IF_ERROR(read_sizes(p, problem));
  QQ_RETURN_IF_ERROR(read_post_ops(p, problem, added));
  p.out(0, p.in(0).type, stored_dims(problem.result, Layout::kChannelsLast), Layout::kChannelsLast);
  if (product(problem.result) == 0) return no_kernel();
  if (p.in(0).type == ElementType::kDouble) return convolve_doubles(problem);
  if (product(problem.source) == 0) return prepare_bias(p, problem);
  QQ_TRY(Kernel kernel, prepare_floats(p, problem, added));
  return kernel;
}

Result<Kernel> prepare_conv(Prepare& p) { return prepare_convolution(p, /*transposed=*/false); }
Result<Kernel> prepare_conv_transpose(Prepare& p) { return prepare_convolution(p, /*transposed=*/true); }

}  // namespace

std::span<const OpDef> conv_ops() {
  static constexpr OpDef kOps[] = {
      {"Conv", "", 1, LayoutRule::kImage, prepare_conv},
      {"ConvTranspose", "", 1, LayoutRule::kImage, prepare_conv_transpose},
  };
  return kOps;
}

namespace {

/// Places of the kernel, and of the source under them, along one dimension: evenly spaced.
struct Taps {
  int64_t kernel = 0, source = 0;
  int64_t kernel_step = 1, source_step = 1;
  int64_t count = 0;

  int64_t tap(int64_t i) const { return kernel + i * kernel_step; }
  int64_t place(int64_t i) const { return source + i * source_step; }
};

/// Returns the taps whose source position is within [0, extent).
Taps inside(const Taps& taps, int64_t extent) {
  const int64_t step = std::abs(taps.source_step);
  const int64_t first =
      taps.source_step > 0 ? taps.source : extent - 1 - taps.source;  // counted from the side it leaves
  const int64_t skipped = first < 0 ? (step - 1 - first) / step : 0;
  const int64_t end = first < extent ? std::min(taps.count, (extent - 1 - first) / step + 1) : 0;
  if (end <= skipped) return {};
  return {taps.tap(skipped), taps.place(skipped), taps.kernel_step, taps.source_step, end - skipped};
}

struct DoubleConvolution {
  bool transposed = false, has_bias = false;
  int64_t groups = 1, in_channels = 0, out_channels = 0;
  Grid source, kernel, result;
  Position strides, dilations, pads;

  int64_t group_inputs() const { return in_channels / groups; }
  int64_t group_outputs() const { return out_channels / groups; }

  /// The taps of dimension `d` for position `y` of the result.
  Taps taps(size_t d, int64_t y) const {
    Taps all{.kernel = 0, .source = y * strides[d] - pads[d], .source_step = dilations[d], .count = kernel.extent[d]};
    if (transposed) {  // every stride-th place has a source; of places `dilation` apart every kernel_step-th
      const int64_t common = std::gcd(strides[d], dilations[d]), limit = std::min(strides[d] / common, all.count);
      const auto place = [&](int64_t k) { return y + pads[d] - k * dilations[d]; };
      while (all.kernel < limit && place(all.kernel) % strides[d] != 0) ++all.kernel;
      if (all.kernel == limit) return {};
      all.source = place(all.kernel) / strides[d];
      all.kernel_step = strides[d] / common;
      all.source_step = -dilations[d] / common;
      all.count = (all.count - all.kernel + all.kernel_step - 1) / all.kernel_step;
    }
    return inside(all, source.extent[d]);
  }

  /// Element of the weights for tap 0: [O, I/G, kernel] or, transposed, [I, O/G, kernel].
  int64_t weight(int64_t out, int64_t in) const {
    const int64_t group = out / group_outputs();
    const int64_t place = transposed ? (group * group_inputs() + in) * group_outputs() + out % group_outputs()
                                     : out * group_inputs() + in;
    return place * kernel.size();
  }

  /// Returns `start` plus the sum over the taps `at`. `channels` and `weights` point to place 0; `next` is the distance
  /// between the weights of two channels.
  double sum(const std::array<Taps, 3>& at, const double* channels, const double* weights, int64_t next,
             double start) const {
    const int64_t inputs = group_inputs();
    for (int64_t a = 0; a < at[0].count; ++a) {
      for (int64_t b = 0; b < at[1].count; ++b) {
        const double* x = channels + in_channels * source.index({at[0].place(a), at[1].place(b), at[2].source});
        const double* w = weights + kernel.index({at[0].tap(a), at[1].tap(b), at[2].kernel});
        for (int64_t c = 0; c < at[2].count; ++c) {
          const int64_t from = c * at[2].source_step * in_channels, tap = c * at[2].kernel_step;
          double of_tap = 0;
          for (int64_t i = 0; i < inputs; ++i) of_tap += x[from + i] * w[tap + i * next];
          start += of_tap;
        }
      }
    }
    return start;
  }

  /// All channels of one result position.
  void make(const double* x, const double* w, const double* b, int64_t position, double* y) const {
    const Position at = result.at(position);
    const std::array<Taps, 3> met = {taps(0, at[0]), taps(1, at[1]), taps(2, at[2])};
    for (int64_t o = 0; o < out_channels; ++o) {
      const double* channels = x + o / group_outputs() * group_inputs();
      y[o] = sum(met, channels, w + weight(o, 0), weight(o, 1) - weight(o, 0), has_bias ? b[o] : 0.0);
    }
  }
};

}  // namespace

Kernel convolve_doubles(const ConvProblem& problem) {
  DoubleConvolution c;
  c.transposed = problem.transposed;
  c.has_bias = problem.has_bias;
  c.groups = problem.groups;
  c.in_channels = problem.source[1];
  c.out_channels = problem.result[1];
  c.source.extent = three_axes(problem.source, 2, 1);
  c.kernel.extent = three_axes(problem.weights, 2, 1);
  c.result.extent = three_axes(problem.result, 2, 1);
  c.strides = three_axes(problem.strides, 0, 1);
  c.dilations = three_axes(problem.dilations, 0, 1);
  c.pads = three_axes(problem.pads_begin, 0, 0);
  return [c, images = problem.source[0]](const Run& run) {
    const int64_t positions = c.result.size();
    const int64_t cost = c.kernel.size() * c.group_inputs() * c.out_channels;
    for_rows(images * positions, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double* x = run.in<double>(0) + i / positions * c.source.size() * c.in_channels;
        const double* b = c.has_bias ? run.in<double>(2) : nullptr;
        c.make(x, run.in<double>(1), b, i % positions, run.out<double>(0) + i * c.out_channels);
      }
    });
    return Status();
  };
}

}  // namespace quarkq::exec
