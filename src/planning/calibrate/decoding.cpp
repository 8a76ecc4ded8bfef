// SPDX-License-Identifier: MIT
#include "planning/calibrate/decoding.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "ir/stored_floats.h"

namespace quarkq::planning {
namespace {

constexpr std::string_view kPlacing[] = {"Add", "Sub", "Mul", "Div"};
constexpr int64_t kFewestElements = 64;
constexpr int64_t kMostElements = int64_t{1} << 24;  // larger ones are no coordinates, and not worth reading
constexpr size_t kFewestValues = 16;

bool has_many_values(const ir::Tensor& constant) {
  if (constant.type() != ElementType::kFloat || constant.size() < kFewestElements || constant.size() > kMostElements)
    return false;
  const Result<std::vector<float>> values = ir::float_values(constant);
  if (!values.ok()) return false;
  std::set<float> different;
  for (const float value : values.value()) {
    if (value == value) different.insert(value);
    if (different.size() >= kFewestValues) return true;
  }
  return false;
}

}  // namespace

bool places_boxes(const ir::Graph& graph, const ir::Node& node) {
  if (!node.domain.empty() || std::ranges::find(kPlacing, node.op) == std::end(kPlacing)) return false;
  return std::ranges::any_of(node.inputs, [&](ir::ValueId input) {
    const ir::Tensor* constant = input.valid() ? graph.constant(input) : nullptr;
    return constant != nullptr && has_many_values(*constant);
  });
}

std::set<ir::NodeId> part_around(const ir::Graph& graph, const ir::Tail& tail, ir::NodeId seed) {
  std::set<ir::NodeId> part;
  std::vector<ir::NodeId> waiting = {seed};
  while (!waiting.empty()) {
    const ir::NodeId id = waiting.back();
    waiting.pop_back();
    if (!tail.nodes.contains(id) || !part.insert(id).second) continue;
    const ir::Node& node = graph.node(id);
    for (const ir::ValueId input : node.inputs) {
      const ir::Node* source = input.valid() ? graph.producer(input) : nullptr;
      if (source != nullptr) waiting.push_back(source->id);
    }
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) waiting.push_back(use.node);
    }
  }
  return part;
}

}  // namespace quarkq::planning
