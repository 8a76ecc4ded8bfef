// SPDX-License-Identifier: MIT
// Conv and ConvTranspose on channels-last images through oneDNN. Rank 3 to 5. 16-bit floats are computed in float32 and
// rounded once; doubles have their own loops.
#include "exec/kernels/image/conv.h"
#include "exec/kernels/shared/float_bridge.h"
#include "exec/kernels/shared/window.h"
#include "exec/op_families.h"

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
      Convolution::make(problem, weights.is_defined() ? weights.data<float>().data() : nullptr);
  if (!made.ok()) return made.status().context(p.label());
  std::shared_ptr<Convolution> convolution = std::move(made).value();
  const bool has_bias = problem.has_bias;
  Kernel kernel = [convolution, has_bias, added,
                   pointers = std::vector<const float*>(added.size())](const Run& run) mutable {
    for (size_t i = 0; i < added.size(); ++i) pointers[i] = run.in<float>(added[i]);
    convolution->run({run.in<float>(0), run.in<float>(1), has_bias ? run.in<float>(2) : nullptr, pointers,
                      run.out<float>(0), run.scratch});
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

}  // namespace quarkq::exec
