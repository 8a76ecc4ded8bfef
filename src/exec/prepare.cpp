// SPDX-License-Identifier: MIT
#include <algorithm>

#include "exec/memory_guard.h"

namespace quarkq::exec {

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
