// SPDX-License-Identifier: MIT
// Which operators after a convolution or product are computed inside it: clamps, leaky clamps and residual sums whose
// input nothing else reads, taps or fetches. Fusing changes no bits (measured: ADR 0001).
#include <algorithm>
#include <limits>

#include "exec/compiler.h"
#include "exec/quantize_pair.h"
#include "ir/quantizing_ops.h"

namespace quarkq::exec {

namespace {

constexpr size_t kMaxPostOps = 3;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool takes_post_ops(const OpDef& op) { return op.domain.empty() && op.name == "Conv"; }

/// The number a Clip limit holds; `fallback` when it is absent, nothing when it is not known now.
std::optional<float> limit(const ir::Tensor* tensor, bool present, float fallback) {
  if (!present) return fallback;
  if (tensor == nullptr || tensor->type() != ElementType::kFloat || tensor->size() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

}  // namespace

void Compiler::Fusion::pop(ir::ValueId first_output) {
  if (post_ops.back().kind == PostOp::Kind::kAdd) added.pop_back();
  post_ops.pop_back();
  nodes.pop_back();
  output = nodes.empty() ? first_output : nodes.back()->outputs[0];
}

Compiler::Fusion Compiler::find_fusion(const ir::Node& node, const OpDef& op) const {
  Fusion fusion;
  fusion.output = node.output(0);
  if (!takes_post_ops(op)) return fusion;
  while (fusion.post_ops.size() < kMaxPostOps && extend_fusion(fusion)) {
  }
  return fusion;
}

bool Compiler::extend_fusion(Fusion& fusion) const {
  const ir::ValueId value = fusion.output;
  if (is_tapped(value) || is_fetched(value)) return false;
  const std::optional<ir::Use> use = graph_.sole_use(value);
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
    if (opset_of(next) < 11) {
      low = next.float_or("min", -kInfinity);
      high = next.float_or("max", kInfinity);
    } else {
      const ir::ValueId min = next.input(1), max = next.input(2);
      low = limit(min.valid() ? held(min).constant : nullptr, min.valid(), -kInfinity);
      high = limit(max.valid() ? held(max).constant : nullptr, max.valid(), kInfinity);
    }
    if (!low || !high || *low > *high) return false;
    post = {PostOp::Kind::kClip, *low, *high, 0, 0};
  } else if (next.op == "Add" && next.inputs.size() == 2 && fusion.added.empty()) {
    const ir::ValueId other = next.inputs[use->input == 0 ? 1 : 0];
    if (!other.valid() || other == value || held(other).when != When::kNow || held(other).constant != nullptr)
      return false;
    if (held(other).native != Layout::kChannelsLast || held(other).type != ElementType::kFloat) return false;
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

// A Q node whose codes only its DQ reads, both with the same constant parameters, becomes one step: the codes are never
// stored. Bit for bit the result of the two nodes (ref:operators#quantize, ref:operators#dequantize).

bool Compiler::add_quantize_pair(const ir::Node& node) {
  const auto has_all = [](const ir::Node& n) {
    return n.inputs.size() == 3 && n.inputs[0].valid() && n.inputs[1].valid() && n.inputs[2].valid();
  };
  if (!ir::is_q(node) || !has_all(node) || held(node.inputs[0]).constant != nullptr) return false;
  const ir::ValueId codes = node.output(0);
  if (!codes.valid() || is_tapped(codes) || is_fetched(codes)) return false;
  const std::optional<ir::Use> use = graph_.sole_use(codes);
  if (!use || use->input != 0) return false;
  const ir::Node& dequantize = graph_.node(use->node);
  if (node.int_or("precision", 0) != 0 || dequantize.find("output_dtype") != nullptr) return false;
  if (!ir::is_dq(dequantize) || !has_all(dequantize) || dequantize.domain != node.domain) return false;
  if (held(node.inputs[0]).type != ElementType::kFloat) return false;
  const auto params = read_pair_params(held(node.inputs[1]).constant, held(node.inputs[2]).constant);
  const auto back = read_pair_params(graph_.constant(dequantize.inputs[1]), graph_.constant(dequantize.inputs[2]));
  if (!params || !back || !(*params == *back)) return false;

  const Held source = held(node.inputs[0]);
  const int slot = new_slot(slots_[static_cast<size_t>(source.slot)].bytes);
  const int step_index = static_cast<int>(program_.steps_.size());
  Step step;
  step.kernel = fake_quantize_kernel(*params, node.domain != ir::kQuarkDomain, ir::checked_count(source.dims));
  step.inputs = {source.slot};
  step.outputs = {slot};
  step.label = graph_.label(node.id) + " + DequantizeLinear";
  program_.steps_.push_back(std::move(step));
  in_place_.push_back({step_index, slot, source.slot});
  done_[static_cast<size_t>(dequantize.id.index)] = true;
  held(dequantize.outputs[0]) = {When::kNow, ElementType::kFloat, source.dims, source.native, slot, nullptr};
  tap(dequantize.outputs[0], step_index);
  return true;
}

}  // namespace quarkq::exec
