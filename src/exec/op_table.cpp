// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <string>

#include "exec/op_def.h"
#include "exec/op_families.h"
#include "onnx_io/arity.h"

namespace quarkq::exec {
namespace {

using Families = std::span<const OpDef> (*)();
constexpr Families kFamilies[] = {
    control_flow_ops,   sequence_ops, activation_ops,    conv_ops,           elementwise_ops,
    gather_scatter_ops, image_ops,    matmul_ops,        norm_ops,           pool_ops,
    recurrent_ops,      reduce_ops,   quant_dequant_ops, quantized_ops,      resize_ops,
    shape_ops,          bitwise_ops,  detection_ops,     einsum_ops,         fused_ops,
    random_ops,         signal_ops,   rotary_ops,        linear_algebra_ops, tfidf_ops};

/// Rows by "domain:name", newest first.
const std::map<std::string, std::vector<const OpDef*>, std::less<>>& index_by_name() {
  static const auto rows = [] {
    std::map<std::string, std::vector<const OpDef*>, std::less<>> by_name;
    for (const OpDef* op : all_ops()) by_name[cat(op->domain, ":", op->name)].push_back(op);
    for (auto& [name, list] : by_name) {
      std::stable_sort(list.begin(), list.end(), [](const OpDef* a, const OpDef* b) { return a->since > b->since; });
    }
    return by_name;
  }();
  return rows;
}

}  // namespace

std::vector<const OpDef*> all_ops() {
  std::vector<const OpDef*> all;
  for (const Families family : kFamilies) {
    for (const OpDef& op : family()) all.push_back(&op);
  }
  return all;
}

Status check_arity(const ir::Node& node, int64_t opset, const std::string& label) {
  const std::optional<onnx_io::Arity> arity = onnx_io::arity_of(node.op, node.domain, opset);
  if (!arity) return Status();
  const auto inputs = static_cast<int64_t>(node.inputs.size()), outputs = static_cast<int64_t>(node.outputs.size());
  if (inputs > arity->max_inputs || inputs < arity->min_inputs) {
    return corrupt_model(label, ": ", inputs, " inputs, allowed: ", arity->min_inputs, " to ", arity->max_inputs);
  }
  if (outputs > arity->max_outputs) {
    return corrupt_model(label, ": ", outputs, " outputs, allowed: ", arity->min_outputs, " to ", arity->max_outputs);
  }
  return Status();
}

const OpDef* find_op(std::string_view name, std::string_view domain, int64_t opset) {
  const auto found = index_by_name().find(cat(domain, ":", name));
  if (found == index_by_name().end()) return nullptr;
  for (const OpDef* op : found->second) {
    if (op->since <= opset) return op;
  }
  return nullptr;
}

}  // namespace quarkq::exec
