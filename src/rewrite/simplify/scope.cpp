// SPDX-License-Identifier: MIT
#include "rewrite/simplify/scope.h"

namespace quarkq::rewrite::simplify {
int64_t Scope::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 1 : found->second;
}

const ir::Tensor* Scope::constant(ir::ValueId id) const {
  if (!id.valid() || graph.value(id).is_input) return nullptr;
  const auto found = outer.find(id);
  return found != outer.end() ? &found->second : graph.constant(id);
}

std::optional<std::vector<int64_t>> Scope::integers(ir::ValueId id) const {
  const ir::Tensor* tensor = constant(id);
  if (tensor == nullptr || !is_integer(tensor->type())) return std::nullopt;
  Result<std::vector<int64_t>> values = ir::to_int64(*tensor);
  return values.ok() ? std::optional(std::move(values).value()) : std::nullopt;
}

std::optional<ir::Shape> Scope::static_shape(ir::ValueId id) const {
  if (!id.valid() || !graph.value(id).type.is_static()) return std::nullopt;
  return graph.value(id).type.shape();
}

bool Scope::same_shape(ir::ValueId a, ir::ValueId b) const {
  const ir::ValueType &x = graph.value(a).type, &y = graph.value(b).type;
  if (!x.has_shape || !y.has_shape || x.dims.size() != y.dims.size()) return false;
  // A graph output keeps the names that the file gives its dimensions; any other size that was found replaces a name.
  const auto is_named = [&](ir::ValueId id, const ir::Dim& dim) {
    return !dim.symbol.empty() && (!dim.known() || graph.value(id).is_output);
  };
  for (size_t i = 0; i < x.dims.size(); ++i) {
    const bool named = is_named(a, x.dims[i]);
    if (named != is_named(b, y.dims[i]) || x.dims[i].size != y.dims[i].size) return false;
    if (named ? x.dims[i].symbol != y.dims[i].symbol : !x.dims[i].known()) return false;
  }
  return true;
}

}  // namespace quarkq::rewrite::simplify
