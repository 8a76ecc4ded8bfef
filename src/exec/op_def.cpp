// SPDX-License-Identifier: MIT
#include "exec/op_def.h"

#include <algorithm>
#include <map>
#include <string>

#include "exec/environment.h"
#include "onnx_io/schemas.h"

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

int64_t opset_of(const std::map<std::string, int64_t>& opsets, const std::string& domain) {
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 1 : found->second;
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

void Prepare::out(size_t i, ElementType type, ir::Shape dims, std::optional<Layout> layout) {
  if (i >= outputs_.size()) return;  // an output the node does not name
  Output& output = outputs_[i];
  output.spec = {type, std::move(dims), layout.value_or(layout_), nullptr};
  output.declared = true;
}

void Prepare::alias(size_t i, size_t from, ir::Shape dims) {
  if (i >= outputs_.size()) return;
  out(i, inputs_[from].type, std::move(dims), inputs_[from].layout);
  outputs_[i].alias_of = static_cast<int>(from);
}

Result<int64_t> Prepare::axis(int64_t value, int64_t rank) const {
  Result<int64_t> normalized = ir::normalize_axis(value, rank);
  if (!normalized.ok()) return std::move(normalized).context(label_);
  return stored_axis(normalized.value(), rank, layout_);
}

Status Prepare::require_input(size_t i, std::initializer_list<ElementType> types) const {
  if (!has(i)) return corrupt("input ", i, " is missing");
  if (types.size() == 0 || std::find(types.begin(), types.end(), in(i).type) != types.end()) return Status();
  std::vector<std::string_view> allowed;
  for (const ElementType type : types) allowed.push_back(name(type));
  return cannot("input ", i, " is ", name(in(i).type), ", allowed: ", join(allowed, ", "));
}

Result<std::optional<std::vector<int64_t>>> Prepare::known_ints(size_t i) const {
  if (constant(i) == nullptr) return std::optional<std::vector<int64_t>>();
  QQ_TRY(auto values, ir::to_int64(*constant(i)).context(label_));
  return std::optional<std::vector<int64_t>>(std::move(values));
}

Result<std::vector<ir::Tensor>> run_prepared(const Prepare& prepare, const Kernel& kernel, int64_t max_memory) {
  QQ_RETURN_IF_ERROR(check_memory(prepare, allowed_memory(max_memory)));
  std::vector<const std::byte*> inputs(prepare.input_count());
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = prepare.constant(i) != nullptr ? prepare.constant(i)->raw() : nullptr;
  std::vector<ir::Tensor> results(prepare.output_count());
  std::vector<std::byte*> outputs(results.size());
  bool runs = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const Prepare::Output& output = prepare.output(i);
    if (!output.declared) continue;
    if (output.alias_of >= 0) {
      results[i] = prepare.constant(static_cast<size_t>(output.alias_of))->reshaped(output.spec.dims);
      continue;
    }
    results[i] = ir::Tensor::allocate(output.spec.type, output.spec.dims);
    outputs[i] = results[i].mutable_raw();
    runs = true;
  }
  if (!runs) return results;
  const auto scratch = ir::Tensor::allocate(ElementType::kUInt8, {static_cast<int64_t>(prepare.scratch_bytes())});
  QQ_RETURN_IF_ERROR(kernel({inputs, outputs, const_cast<std::byte*>(scratch.raw())}).context(prepare.label()));
  return results;
}

}  // namespace quarkq::exec
