// SPDX-License-Identifier: MIT
#include "pass/gate_clip.h"

#include <algorithm>
#include <string_view>

namespace quarkq::pass {
namespace {

constexpr int kDeepest = 8;  // nodes between the Clip and the product: a scaling, with Q/DQ around it

bool is_pair_node(const ir::Node& node) { return std::string_view(node.op).ends_with("uantizeLinear"); }

/// Returns the value before Q/DQ nodes.
ir::ValueId source_of(const ir::Graph& graph, ir::ValueId value) {
  const ir::Node* node = value.valid() ? graph.producer(value) : nullptr;
  while (node != nullptr && is_pair_node(*node)) {
    value = node->input(0);
    node = value.valid() ? graph.producer(value) : nullptr;
  }
  return value;
}

bool is_known(const ir::Graph& graph, ir::ValueId value) {
  const ir::ValueId source = source_of(graph, value);
  return source.valid() && graph.constant(source) != nullptr;
}

bool multiplies_a_tensor(const ir::Graph& graph, ir::ValueId value, int depth) {
  const auto& uses = graph.value(value).uses;
  return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) {
    if (use.is_capture || use.input > 1 || depth == 0) return false;
    const ir::Node& reader = graph.node(use.node);
    const bool is_product = reader.is("Mul");
    if (!is_product && !reader.is("Div") && !is_pair_node(reader)) return false;
    const ir::ValueId other = reader.input(use.input == 0 ? 1 : 0);
    if (is_product && !is_known(graph, other)) return true;
    return use.input == 0 || is_product ? multiplies_a_tensor(graph, reader.output(0), depth - 1) : false;
  });
}

}  // namespace

bool is_gate(const ir::Graph& graph, const ir::Node& clip) {
  const ir::ValueId before = source_of(graph, clip.input(0));
  const ir::Node* producer = before.valid() ? graph.producer(before) : nullptr;
  if (producer != nullptr && producer->is("Add") &&
      (is_known(graph, producer->input(0)) || is_known(graph, producer->input(1)))) {
    return true;
  }
  return multiplies_a_tensor(graph, clip.output(0), kDeepest);
}

}  // namespace quarkq::pass
