// SPDX-License-Identifier: MIT
#include "onnx_io/check_shapes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace quarkq::onnx_io {
namespace {

using Dims = std::vector<int64_t>;
constexpr int64_t kUnknown = -1;  ///< which shape_text() prints as "?"

class Shapes {
 public:
  explicit Shapes(const onnx::GraphProto& graph) {
    for (const onnx::ValueInfoProto& info : graph.input()) add(info);
    for (const onnx::ValueInfoProto& info : graph.value_info()) add(info);
    for (const onnx::ValueInfoProto& info : graph.output()) add(info);
    for (const onnx::TensorProto& tensor : graph.initializer())
      dims_[tensor.name()] = Dims(tensor.dims().begin(), tensor.dims().end());
  }

  /// Of an input of the node, kUnknown for dimensions that are not known; nothing when the rank is not.
  std::optional<Dims> of(const onnx::NodeProto& node, int input) const {
    if (input >= node.input_size()) return std::nullopt;
    const auto found = dims_.find(node.input(input));
    return found == dims_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void add(const onnx::ValueInfoProto& info) {
    if (!info.type().tensor_type().has_shape()) return;
    Dims& dims = dims_[info.name()];
    dims.clear();
    for (const auto& dim : info.type().tensor_type().shape().dim())
      dims.push_back(dim.has_dim_value() ? dim.dim_value() : kUnknown);
  }

  std::unordered_map<std::string, Dims> dims_;
};

int64_t attribute(const onnx::NodeProto& node, const char* name, int64_t otherwise) {
  for (const onnx::AttributeProto& one : node.attribute())
    if (one.name() == name && one.type() == onnx::AttributeProto::INT) return one.i();
  return otherwise;
}

bool differ(int64_t a, int64_t b) { return a != kUnknown && b != kUnknown && a != b; }

/// What does not fit; empty when all does, as far as is known.
using Problem = std::string;

Problem gemm(const onnx::NodeProto& node, const Shapes& shapes) {
  const auto a = shapes.of(node, 0), b = shapes.of(node, 1);
  if (!a || !b || a->size() != 2 || b->size() != 2) return {};  // ranks: the library's inference
  const bool turn_a = attribute(node, "transA", 0) != 0, turn_b = attribute(node, "transB", 0) != 0;
  if (!differ((*a)[turn_a ? 0 : 1], (*b)[turn_b ? 1 : 0])) return {};
  return cat("inner dimensions differ: ", shape_text(*a), " times ", shape_text(*b), " with transA ", turn_a,
             ", transB ", turn_b);
}

Problem matmul_nbits(const onnx::NodeProto& node, const Shapes& shapes) {
  const auto a = shapes.of(node, 0);
  const int64_t inner = attribute(node, "K", kUnknown);
  if (!a || a->empty() || !differ(a->back(), inner)) return {};
  return cat("inner dimensions differ: the input is ", shape_text(*a), ", K is ", inner);
}

/// x: [N, channels, ...], w: [outputs, channels / group, ...]
Problem conv(const onnx::NodeProto& node, const Shapes& shapes, int weights) {
  const auto x = shapes.of(node, 0), w = shapes.of(node, weights);
  const int64_t group = attribute(node, "group", 1);
  if (!x || !w || x->size() < 2 || w->size() < 2 || group < 1) return {};
  const int64_t channels = (*x)[1], outputs = (*w)[0], part = (*w)[1];
  if (channels != kUnknown && part != kUnknown && (channels % group != 0 || channels / group != part)) {
    return cat("the input ", shape_text(*x), " has ", channels, " channels, the weights ", shape_text(*w),
               " with group ", group, " are for ", part, " in each group");
  }
  if (outputs != kUnknown && outputs % group != 0)
    return cat("group ", group, " does not divide ", outputs, " outputs");
  return {};
}

Problem plain_conv(const onnx::NodeProto& node, const Shapes& shapes) { return conv(node, shapes, 1); }
Problem quantized_conv(const onnx::NodeProto& node, const Shapes& shapes) { return conv(node, shapes, 3); }

/// x: [N, channels, ...], w: [channels, outputs / group, ...]
Problem conv_transpose(const onnx::NodeProto& node, const Shapes& shapes) {
  const auto x = shapes.of(node, 0), w = shapes.of(node, 1);
  const int64_t group = attribute(node, "group", 1);
  if (!x || !w || x->size() < 2 || w->size() < 2 || group < 1) return {};
  const int64_t channels = (*x)[1];
  if (differ(channels, (*w)[0])) {
    return cat("the input ", shape_text(*x), " has ", channels, " channels, the weights are ", shape_text(*w));
  }
  if (channels != kUnknown && channels % group != 0)
    return cat("group ", group, " does not divide ", channels, " channels");
  return {};
}

struct Rule {
  std::string_view op, domain;
  Problem (*problem)(const onnx::NodeProto&, const Shapes&);
};

/// The library's inference compares what MatMul, Concat and broadcasting operators read; not what these do.
constexpr Rule kRules[] = {
    {"Gemm", "", gemm},
    {"Conv", "", plain_conv},
    {"ConvInteger", "", plain_conv},
    {"QLinearConv", "", quantized_conv},
    {"ConvTranspose", "", conv_transpose},
    {"MatMulNBits", "com.microsoft", matmul_nbits},
};

}  // namespace

Status check_shapes(const onnx::GraphProto& graph) {
  const Shapes shapes(graph);
  for (const onnx::NodeProto& node : graph.node()) {
    const auto* const rule = std::ranges::find_if(
        kRules, [&](const Rule& one) { return node.op_type() == one.op && node.domain() == one.domain; });
    if (rule == std::end(kRules)) continue;
    const Problem problem = rule->problem(node, shapes);
    if (problem.empty()) continue;
    const std::string& name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    return corrupt_model("node ", name, " (", node.op_type(), "): ", problem);
  }
  return Status();
}

}  // namespace quarkq::onnx_io
