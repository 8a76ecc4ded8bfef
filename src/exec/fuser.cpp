// SPDX-License-Identifier: MIT
#include "exec/fuser.h"

#include <limits>

#include "ir/quantizing_ops.h"

namespace quarkq::exec {

namespace {

constexpr size_t kMaxPostOps = 3;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool takes_post_ops(const OpDef& op) { return op.domain.empty() && op.name == "Conv"; }

/// Returns the value of a Clip limit, `fallback` if the limit is omitted, or nullopt if it is not known now.
std::optional<float> limit(const ir::Tensor* tensor, bool present, float fallback) {
  if (!present) return fallback;
  if (tensor == nullptr || tensor->type() != ElementType::kFloat || tensor->size() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

}  // namespace

void Fusion::pop(ir::ValueId first_output) {
  if (post_ops.back().kind == PostOp::Kind::kAdd) added.pop_back();
  post_ops.pop_back();
  nodes.pop_back();
  output = nodes.empty() ? first_output : nodes.back()->outputs[0];
}

Fuser::Fuser(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const ValueTable& values,
             const std::vector<ir::ValueId>& kept)
    : graph_(graph), opsets_(opsets), values_(values), kept_(graph.value_count()) {
  for (const ir::ValueId value : kept) kept_[static_cast<size_t>(value.index)] = true;
}

std::optional<ir::Use> Fuser::only_use(ir::ValueId value) const {
  return kept_[static_cast<size_t>(value.index)] ? std::nullopt : graph_.sole_use(value);
}

Fusion Fuser::find(const ir::Node& node, const OpDef& op) const {
  Fusion fusion;
  fusion.output = node.output(0);
  if (!takes_post_ops(op)) return fusion;
  while (fusion.post_ops.size() < kMaxPostOps && extend(fusion)) {
  }
  return fusion;
}

bool Fuser::extend(Fusion& fusion) const {
  const ir::ValueId value = fusion.output;
  const std::optional<ir::Use> use = only_use(value);
  if (!use) return false;
  const ir::Node& next = graph_.node(use->node);
  if (!next.domain.empty() || next.outputs.size() != 1) return false;
  PostOp post;
  if (next.op == "Relu") {
    post = {PostOp::Kind::kClip, 0.0f, kInfinity, 0, 0};
  } else if (next.op == "LeakyRelu") {
    post = {PostOp::Kind::kLeakyRelu, 0, 0, next.float_or("alpha", 0.01f), 0};
  } else if (next.op == "Clip" && use->input == 0) {
    std::optional<float> low, high;
    if (opset_of(opsets_, next.domain) < 11) {
      low = next.float_or("min", -kInfinity);
      high = next.float_or("max", kInfinity);
    } else {
      const ir::ValueId min = next.input(1), max = next.input(2);
      low = limit(min.valid() ? values_.at(min).constant : nullptr, min.valid(), -kInfinity);
      high = limit(max.valid() ? values_.at(max).constant : nullptr, max.valid(), kInfinity);
    }
    if (!low || !high || *low > *high) return false;
    post = {PostOp::Kind::kClip, *low, *high, 0, 0};
  } else if (next.op == "Add" && next.inputs.size() == 2 && fusion.added.empty()) {
    const ir::ValueId other = next.inputs[use->input == 0 ? 1 : 0];
    if (!other.valid() || other == value || values_.at(other).when != ValueTable::When::kNow ||
        values_.at(other).constant != nullptr)
      return false;
    if (values_.at(other).native != Layout::kChannelsLast || values_.at(other).type != ElementType::kFloat)
      return false;
    post = {PostOp::Kind::kAdd, 0, 0, 0, fusion.added.size()};
    fusion.added.push_back(other);
  } else {
    return false;
  }
  fusion.post_ops.push_back(post);
  fusion.nodes.push_back(&next);
  fusion.output = next.outputs[0];
  return true;
}

std::optional<QuantizePair> Fuser::find_pair(const ir::Node& node) const {
  const auto has_all = [](const ir::Node& n) {
    return n.inputs.size() == 3 && n.inputs[0].valid() && n.inputs[1].valid() && n.inputs[2].valid();
  };
  const bool is_simulated = is_fake_quantize(node);
  if (!is_simulated && !ir::is_q(node)) return std::nullopt;
  if (!has_all(node) || values_.at(node.inputs[0]).constant != nullptr) return std::nullopt;
  if (values_.at(node.inputs[0]).type != ElementType::kFloat) return std::nullopt;
  const auto params = read_pair_params(values_.at(node.inputs[1]).constant, values_.at(node.inputs[2]).constant);
  if (!params) return std::nullopt;
  if (is_simulated) return QuantizePair{&node, *params, saturates(node)};
  const std::optional<ir::Use> use = node.output(0).valid() ? only_use(node.output(0)) : std::nullopt;
  if (!use || use->input != 0) return std::nullopt;
  const ir::Node& dequantize = graph_.node(use->node);
  if (node.int_or("precision", 0) != 0 || dequantize.find("output_dtype") != nullptr) return std::nullopt;
  if (!ir::is_dq(dequantize) || !has_all(dequantize) || dequantize.domain != node.domain) return std::nullopt;
  const auto back = read_pair_params(graph_.constant(dequantize.inputs[1]), graph_.constant(dequantize.inputs[2]));
  if (!back || !(*params == *back)) return std::nullopt;
  return QuantizePair{&dequantize, *params, node.domain != ir::kQuarkDomain};
}

}  // namespace quarkq::exec
