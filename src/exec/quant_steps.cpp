// SPDX-License-Identifier: MIT
// A Q node whose codes only its DQ reads, both with the same constant parameters, becomes one step: the codes are never
// stored. Bit for bit the result of the two nodes (ref:operators#quantize, ref:operators#dequantize).
#include "exec/compiler.h"
#include "exec/quantize_pair.h"
#include "ir/qdq_nodes.h"

namespace quarkq::exec {

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
