// SPDX-License-Identifier: MIT
#include "ir/macs.h"

#include <algorithm>
#include <ranges>

namespace quarkq::ir {
namespace {

double size_of(const Dim& dim) { return dim.known() ? static_cast<double>(dim.size) : 1; }

double elements_of(const ValueType& type) {
  double count = 1;
  for (const Dim& dim : type.dims) count *= size_of(dim);
  return count;
}

/// The dimension `back` places from the last one.
double dim_from_back(const ValueType& type, size_t back) {
  return back < type.dims.size() ? size_of(type.dims[type.dims.size() - 1 - back]) : 1;
}

}  // namespace

double macs_of(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !node.input(0).valid() || !node.input(1).valid() || !node.output(0).valid()) return 0;
  const ValueType &x = graph.value(node.input(0)).type, &w = graph.value(node.input(1)).type;
  const ValueType& y = graph.value(node.output(0)).type;
  // The first dimension of the weights: output channels of Conv, input channels of ConvTranspose.
  if (node.is("Conv") && !w.dims.empty()) return elements_of(y) * elements_of(w) / size_of(w.dims[0]);
  if (node.is("ConvTranspose") && !w.dims.empty()) return elements_of(x) * elements_of(w) / size_of(w.dims[0]);
  if (node.is("MatMul")) return elements_of(y) * dim_from_back(x, 0);
  if (node.is("Gemm")) return elements_of(y) * dim_from_back(x, node.int_or("transA", 0) != 0 ? 1 : 0);
  return 0;
}

double macs_of(const Graph& graph) {
  double sum = 0;
  for (const NodeId id : graph.order()) sum += macs_of(graph, graph.node(id));
  return sum;
}

size_t count_unsized_macs(const Graph& graph) {
  return static_cast<size_t>(std::ranges::count_if(graph.order(), [&](NodeId id) {
    const Node& node = graph.node(id);
    if (macs_of(graph, node) == 0) return false;
    const ValueType& type = graph.value(node.output(0)).type;
    return !type.has_shape || std::ranges::any_of(type.dims | std::views::drop(1), [](const Dim& dim) { return !dim.known(); });
  }));
}

double mac_share(const Graph& graph, const std::set<NodeId>& nodes) {
  const double all = macs_of(graph);
  double chosen = 0;
  for (const NodeId id : graph.order()) {
    if (nodes.contains(id)) chosen += macs_of(graph, graph.node(id));
  }
  return all > 0 ? chosen / all : 0;
}

}  // namespace quarkq::ir
