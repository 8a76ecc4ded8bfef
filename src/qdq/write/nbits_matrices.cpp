// SPDX-License-Identifier: MIT
#include "qdq/write/nbits_matrices.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/parallel.h"
#include "ir/constants.h"

namespace quarkq::qdq {
namespace {

bool is_chosen(const pass::QdqContext& context, const ir::Node& node) {
  if (!node.is("MatMul")) return false;
  const ir::Tensor* weight = ir::stored_floats(context.model.graph, node.input(1));
  return weight != nullptr && weight->rank() == 2 && weight->size() > 0 && context.selection.takes(node);
}

/// Linear layers come as Gemm, too: the basic optimizer makes one of MatMul and Add.
void split_gemms(pass::QdqContext& context) {
  if (!context.settings.quirk(config::Quirk::kTakeGemmMatrices)) return;
  for (const ir::NodeId id : std::vector<ir::NodeId>(context.graph().order())) {
    const ir::Node& node = context.graph().node(id);
    if (is_plain_gemm(context.graph(), node) && context.selection.takes(node)) split_gemm(context.graph(), id);
  }
}

/// Operators between the last matrix and the logits: biases, scales, soft caps, casts.
constexpr std::array<std::string_view, 9> kBetweenHeadAndOutput = {"Add",      "Sub",  "Mul",     "Div",    "Cast",
                                                                   "Identity", "Tanh", "Reshape", "Squeeze"};

}  // namespace

NBitsShape LowBitMatrix::shape(const ir::Graph& graph) const {
  const ir::Shape& dims = graph.value(target.weight).constant->dims();
  return {dims[0], dims[1], format.block, format.bits};
}

std::vector<float> LowBitMatrix::scaled_values(const ir::Graph& graph) const {
  std::vector<float> values = ir::float_values(*graph.value(target.weight).constant).value();
  const NBitsShape size = shape(graph);
  parallel_for(size.depth, [&](int64_t k) {
    const float row = row_scales.empty() ? 1.0f : row_scales[static_cast<size_t>(k)];
    float* const begin = values.data() + k * size.columns;
    for (int64_t c = 0; c < size.columns; ++c)
      begin[c] *= column_scales.empty() ? row : row * column_scales[static_cast<size_t>(c)];
  });
  return values;
}

bool reaches_output(const ir::Graph& graph, const ir::Node& node) {
  constexpr int kLongestChain = 8;
  ir::ValueId at = node.output(0);
  for (int step = 0; step < kLongestChain; ++step) {
    if (graph.value(at).is_output) return true;
    const auto& uses = graph.value(at).uses;
    if (uses.size() != 1 || uses.begin()->is_capture) return false;
    const ir::Use use = *uses.begin();
    const ir::Node& next = graph.node(use.node);
    if (std::ranges::none_of(kBetweenHeadAndOutput, [&](std::string_view op) { return next.is(op); })) return false;
    for (size_t i = 0; i < next.inputs.size(); ++i) {
      const ir::ValueId other = next.input(i);
      if (i != static_cast<size_t>(use.input) && other.valid() && graph.constant(other) == nullptr) return false;
    }
    at = next.output(0);
  }
  return false;
}

std::vector<LowBitMatrix> find_matrices(pass::QdqContext& context, const config::MatMulNBitsSettings& options) {
  split_gemms(context);
  const ir::Graph& graph = context.graph();
  const auto takes = [&](const ir::Node& node) { return is_chosen(context, node); };
  std::vector<LowBitMatrix> matrices;
  std::vector<size_t> place(graph.value_count(), 0);
  for (pass::GptqTarget& target : pass::gptq_targets(graph, takes)) {
    LowBitMatrix matrix;
    matrix.name = graph.value(target.weight).name;
    place[static_cast<size_t>(target.weight.index)] = matrices.size();
    matrix.target = std::move(target);
    matrices.push_back(std::move(matrix));
  }
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!takes(node)) continue;
    LowBitMatrix& matrix = matrices[place[static_cast<size_t>(node.input(1).index)]];
    matrix.nodes.push_back(id);
    matrix.is_head = matrix.is_head || reaches_output(graph, node);
  }
  for (LowBitMatrix& matrix : matrices) matrix.format = matrix.is_head ? options.head : options.matrices;
  return matrices;
}

}  // namespace quarkq::qdq
