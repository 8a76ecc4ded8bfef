// SPDX-License-Identifier: MIT
#include "ir/arguments.h"

namespace quarkq::ir {

std::optional<std::vector<int64_t>> integers_of(const ir::Graph& graph, const ir::Node& node, size_t input,
                                                const char* attribute) {
  if (!node.input(input).valid()) return node.ints_or(attribute, {});
  const ir::Tensor* given = graph.constant(node.input(input));
  if (given == nullptr) return std::nullopt;
  Result<std::vector<int64_t>> values = ir::to_int64(*given);
  return values.ok() ? std::optional(std::move(values).value()) : std::nullopt;
}

std::optional<double> number_of(const ir::Graph& graph, const ir::Node& node, size_t input, const char* attribute,
                                double absent) {
  if (const auto* value = node.get<float>(attribute)) return *value;
  if (!node.input(input).valid()) return absent;
  const ir::Tensor* given = graph.constant(node.input(input));
  if (given == nullptr || given->size() != 1) return std::nullopt;
  const Result<std::vector<double>> values = ir::to_double(*given);
  return values.ok() ? std::optional(values.value()[0]) : std::nullopt;
}

}  // namespace quarkq::ir
