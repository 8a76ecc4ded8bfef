// SPDX-License-Identifier: MIT
#include "exec/nested_graphs.h"

#include <algorithm>

namespace quarkq::exec {

NestedGraphs::NestedGraphs(const ir::Node& node, const std::map<std::string, int64_t>& opsets, const RunLimits& limits,
                           const std::vector<Constant>& constants)
    : limits_(limits) {
  for (const ir::Attribute& attribute : node.attributes) {
    const auto* graph = std::get_if<ir::GraphPtr>(&attribute.value);
    if (graph != nullptr) add(node, attribute.name, **graph, opsets, constants);
  }
}

void NestedGraphs::add(const ir::Node& node, const std::string& attribute, const ir::Graph& graph,
                       const std::map<std::string, int64_t>& opsets, const std::vector<Constant>& constants) {
  Entry entry;
  entry.attribute = attribute;
  entry.graph = &graph;
  SessionOptions options;
  options.limits = limits_;
  options.fetches = graph.outputs();
  options.feeds = graph.inputs();
  for (const ir::ValueId inner : graph.captured()) {
    const std::string& name = graph.value(inner).name;
    const auto capture = std::find_if(node.captures.begin(), node.captures.end(),
                                      [&](const ir::Capture& candidate) { return candidate.name == name; });
    if (capture == node.captures.end()) continue;  // compile() names the node that lacks it
    const auto known = std::find_if(constants.begin(), constants.end(),
                                    [&](const Constant& constant) { return constant.value == capture->outer; });
    if (known != constants.end()) {
      options.constants.push_back({inner, known->tensor});
    } else {
      options.feeds.push_back(inner);
      entry.captured.push_back(capture->outer);
    }
  }
  entry.feeds = options.feeds;
  entry.constants = options.constants;
  entry.session = std::make_unique<Session>(graph, opsets, std::move(options), Nesting::kNested);
  entries_.push_back(std::move(entry));
}

const ir::Graph* NestedGraphs::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.attribute == name) return entry.graph;
  }
  return nullptr;
}

Status NestedGraphs::announce(const Entry& entry, std::span<const ir::Operand> operands) const {
  std::vector<ir::ValueId> values = entry.feeds;
  std::vector<ir::Operand> held(operands.begin(), operands.end());
  for (const Constant& constant : entry.constants) {
    values.push_back(constant.value);
    held.emplace_back(constant.tensor);
  }
  return limits_.body_sink->on_call(*entry.graph, values, held);
}

Result<std::vector<ir::Operand>> NestedGraphs::run(std::string_view name, std::span<const ir::Operand> inputs) {
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& known) { return known.attribute == name; });
  std::vector<ir::Operand> operands(inputs.begin(), inputs.end());
  for (const ir::ValueId outer : entry->captured) operands.push_back((*outer_)[static_cast<size_t>(outer.index)]);
  if (limits_.body_sink != nullptr) QQ_RETURN_IF_ERROR(announce(*entry, operands));
  QQ_TRY(const std::vector<ir::Operand>* const results, entry->session->run_operands(operands));
  return *results;
}

}  // namespace quarkq::exec
