// SPDX-License-Identifier: MIT
// ConvTranspose with stride s computes s * s interleaved images, each by a Conv with some of the kernel's weights. One
// Conv computes them as channels, and DepthToSpace interleaves them.
#include <algorithm>

#include "base/index.h"
#include "ir/constants.h"
#include "rewrite/driver.h"
#include "rewrite/hardware/axis_moves.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kOpsetOfCrd = 11;    // DepthToSpace has the mode CRD
constexpr int64_t kMostStride = 8;     // bounds the channels of the Conv
constexpr int64_t kMostKernel = 1024;  // keeps the sums below in range

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

/// One spatial axis. Output position s * q + r sums input positions q + j times kernel[r + pad - s * j].
struct TransposedAxis {
  int64_t input = 0, output = 0, kernel = 0, stride = 0, pad = 0;

  int64_t first() const { return ceil_div(pad - kernel + 1, stride); }                  // Smallest j.
  int64_t length() const { return floor_div(stride - 1 + pad, stride) - first() + 1; }  // Size of the Conv's kernel.
  int64_t steps() const { return ceil_div(output, stride); }                            // Number of values of q.
  int64_t pad_before() const { return -first(); }
  int64_t pad_after() const { return steps() - 1 + first() + length() - 1 - (input - 1); }
  /// The weight of offset `tap` for phase `r`; -1 for none.
  int64_t weight_at(int64_t r, int64_t tap) const {
    const int64_t place = r + pad - stride * (first() + tap);
    return place >= 0 && place < kernel ? place : -1;
  }
  bool fits() const {
    const auto is_small = [](int64_t value) { return value >= 0 && value <= kMostKernel; };
    return stride >= 1 && stride <= kMostStride && kernel >= 1 && is_small(kernel) && is_small(pad) && input > 0 &&
           output > 0 && pad_before() >= 0 && pad_after() >= 0;
  }
};

struct TransposedConv {
  TransposedAxis rows, columns;
  int64_t groups = 1, inputs = 0, outputs = 0;  ///< Channels of all groups.
  int64_t stride() const { return rows.stride; }
};

std::optional<TransposedConv> read_transposed(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("ConvTranspose") || !node.input(1).valid()) return std::nullopt;
  const ir::ValueType &x = graph.value(node.input(0)).type, &y = graph.value(node.output(0)).type;
  const ir::Tensor* weights = ir::stored_float32(graph, node.input(1));
  const std::vector<int64_t> ones = {1, 1}, strides = node.ints_or("strides", ones);
  const std::vector<int64_t> pads = node.ints_or("pads", {0, 0, 0, 0});
  const std::string automatic = node.string_or("auto_pad", "NOTSET");
  if (weights == nullptr || weights->rank() != 4) return std::nullopt;
  if (!x.is_static() || !y.is_static() || x.dims.size() != 4 || y.dims.size() != 4) return std::nullopt;
  if (node.ints_or("dilations", ones) != ones || (automatic != "NOTSET" && automatic != "VALID")) return std::nullopt;
  if (strides.size() != 2 || pads.size() != 4 || strides[0] != strides[1] || strides[0] < 2) return std::nullopt;
  if (node.find("output_shape") != nullptr) return std::nullopt;  // pads follow from it
  const ir::Shape from = x.shape(), to = y.shape(), kernel = weights->dims();
  TransposedConv conv{{from[2], to[2], kernel[2], strides[0], pads[0]},
                      {from[3], to[3], kernel[3], strides[1], pads[1]},
                      node.int_or("group", 1),
                      from[1],
                      to[1]};
  const bool is_whole = conv.groups > 0 && conv.inputs == kernel[0] && conv.inputs % conv.groups == 0 &&
                        conv.outputs == kernel[1] * conv.groups;
  return is_whole && conv.rows.fits() && conv.columns.fits() ? std::optional(conv) : std::nullopt;
}

/// Weights [outputs * s * s, inputs / groups, height, width]; the phases of an output channel are neighbours.
ir::Tensor phase_weights(const TransposedConv& conv, std::span<const float> from) {
  const int64_t stride = conv.stride(), depth = conv.inputs / conv.groups, outputs = conv.outputs / conv.groups;
  const int64_t height = conv.rows.length(), width = conv.columns.length();
  ir::Tensor weights =
      ir::Tensor::allocate(ElementType::kFloat, {conv.outputs * stride * stride, depth, height, width});
  const std::span<float> to = weights.mutable_data<float>();
  size_t at = 0;
  for (int64_t channel = 0; channel < conv.outputs * stride * stride; ++channel) {
    const int64_t output = channel / (stride * stride), r = channel / stride % stride, c = channel % stride;
    for (int64_t i = 0; i < depth * height * width; ++i) {
      const int64_t input = output / outputs * depth + i / (height * width);
      const int64_t row = conv.rows.weight_at(r, i / width % height), column = conv.columns.weight_at(c, i % width);
      const int64_t kernel = (input * outputs + output % outputs) * conv.rows.kernel + row;
      to[at++] = row < 0 || column < 0 ? 0.0f : from[as_index(kernel * conv.columns.kernel + column)];
    }
  }
  return weights;
}

ir::Tensor repeated_bias(const ir::Tensor& bias, int64_t times) {
  ir::Tensor repeated = ir::Tensor::allocate(ElementType::kFloat, {bias.size() * times});
  for (int64_t i = 0; i < repeated.size(); ++i)
    repeated.mutable_data<float>()[as_index(i)] = bias.data<float>()[as_index(i / times)];
  return repeated;
}

/// Adds DepthToSpace, and a Slice if the interleaved image is larger than the output.
void interleave(ir::GraphPatch& patch, const TransposedConv& conv, ir::PatchValue phases, const ir::Value& output,
                const std::string& node_name) {
  const ir::Shape whole = {output.type.dims[0].size, conv.outputs, conv.rows.steps() * conv.stride(),
                           conv.columns.steps() * conv.stride()};
  const std::vector<ir::Attribute> attributes = {{"blocksize", conv.stride(), {}, {}},
                                                 {"mode", std::string("CRD"), {}, {}}};
  if (whole[2] == conv.rows.output && whole[3] == conv.columns.output) {
    patch.node({"DepthToSpace", "", node_name, {phases}, {output.id}, attributes});
    return;
  }
  const std::string name = output.name + "_interleaved";
  const ir::PatchValue large = patch.value(name, static_type(ElementType::kFloat, whole));
  patch.node({"DepthToSpace", "", name, {phases}, {large}, attributes});
  const auto list = [&](const char* suffix, const std::vector<int64_t>& values) {
    return patch.initializer(output.name + suffix, ir::Tensor::from<int64_t>({2}, values));
  };
  patch.node(
      {"Slice",
       "",
       node_name,
       {large, list("_starts", {0, 0}), list("_ends", {conv.rows.output, conv.columns.output}), list("_axes", {2, 3})},
       {output.id},
       {}});
}

std::optional<ir::GraphPatch> convolved(const ir::Graph& graph, const ir::Node& node) {
  const std::optional<TransposedConv> conv = read_transposed(graph, node);
  const ir::Tensor* bias = ir::stored_float32(graph, node.input(2));
  const bool has_bias = bias != nullptr && bias->size() == (conv ? conv->outputs : 0);
  if (!conv || (node.input(2).valid() && !has_bias)) return std::nullopt;
  const ir::Value& output = graph.value(node.output(0));
  const int64_t phases = conv->stride() * conv->stride();
  const std::string name = output.name + "_phases";
  ir::GraphPatch patch;
  patch.remove(node.id);
  ir::GraphPatch::PatchNode made{"Conv", "", name, {node.input(0)}, {}, {}};
  const ir::Tensor& weights = *ir::stored_float32(graph, node.input(1));
  made.inputs.push_back(patch.initializer(name + "_weights", phase_weights(*conv, weights.data<float>())));
  if (has_bias) made.inputs.push_back(patch.initializer(name + "_bias", repeated_bias(*bias, phases)));
  made.outputs.push_back(
      patch.value(name, static_type(ElementType::kFloat, {output.type.dims[0].size, conv->outputs * phases,
                                                          conv->rows.steps(), conv->columns.steps()})));
  const std::vector<int64_t> pads = {conv->rows.pad_before(), conv->columns.pad_before(), conv->rows.pad_after(),
                                     conv->columns.pad_after()};
  const std::vector<int64_t> kernel = {conv->rows.length(), conv->columns.length()};
  made.attributes = {{"group", conv->groups, {}, {}}, {"kernel_shape", kernel, {}, {}}, {"pads", pads, {}, {}}};
  const ir::PatchValue images = made.outputs[0];
  patch.node(std::move(made));
  interleave(patch, *conv, images, output, node.name);
  return patch;
}

}  // namespace

Result<Changed> conv_transpose_to_conv(pass::FloatContext& context) {
  if (context.model.opset() < kOpsetOfCrd) return Changed::kNo;
  return run_rule(context, "conv-transpose-to-conv",
                  [](const ir::Graph& graph, const ir::Node& node) -> Proposal { return convolved(graph, node); });
}

}  // namespace quarkq::rewrite
