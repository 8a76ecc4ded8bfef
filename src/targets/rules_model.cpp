// SPDX-License-Identifier: MIT
// Rules about the model as a whole.
#include <algorithm>
#include <set>

#include "targets/regions.h"
#include "targets/rules.h"

namespace quarkq::targets {
namespace {

std::string input_text(const ir::Value& value, size_t dim) {
  const ir::Dim& found = value.type.dims[dim];
  return cat("dimension ", dim, " of input ", value.name, " is ",
             found.known()          ? cat(found.size)
             : found.symbol.empty() ? "unknown"
                                    : found.symbol);
}

/// The first input whose dimension fulfils `holds(index of the dimension, dimension)`.
template <typename Holds>
void find_input_dim(const RuleInput& input, Hits& hits, const Holds& holds) {
  const ir::Graph& graph = input.view.graph();
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::Value& value = graph.value(id);
    for (size_t dim = 0; dim < value.type.dims.size(); ++dim) {
      if (!holds(dim, value.type.dims[dim])) continue;
      hits.push_back({{}, input_text(value, dim)});
      return;
    }
  }
}

bool is_product_of_activations(const QuantizedView& view, const ir::Node& node) {
  return node.is("MatMul") && view.stored(node.input(0)) == nullptr && view.stored(node.input(1)) == nullptr;
}

}  // namespace

void rule_regions_above(const RuleInput& input, Hits& hits) {
  if (input.plan == nullptr || static_cast<double>(input.plan->counts.regions) <= input.limit) return;
  hits.push_back({{}, cat(input.plan->counts.regions, " regions")});
}

void rule_not_quantized(const RuleInput& input, Hits& hits) {
  if (!input.view.has_pairs) hits.push_back({{}, "the model is float"});
}

void rule_quantized_model(const RuleInput& input, Hits& hits) {
  if (input.view.has_pairs) hits.push_back({{}, cat("the model has ", input.view.parameters.size(), " Q/DQ")});
}

void rule_opset_above(const RuleInput& input, Hits& hits) {
  const int64_t opset = input.view.model->opset();
  if (static_cast<double>(opset) > input.limit)
    hits.push_back({{}, cat("opset ", opset, ", the limit is ", input.limit)});
}

void rule_opset_other(const RuleInput& input, Hits& hits) {
  const int64_t opset = input.view.model->opset();
  if (static_cast<double>(opset) != input.limit)
    hits.push_back({{}, cat("opset ", opset, ", required is ", input.limit)});
}

void rule_symbolic_shape(const RuleInput& input, Hits& hits) {
  find_input_dim(input, hits, [](size_t dim, const ir::Dim& found) { return dim > 0 && !found.known(); });
}

void rule_symbolic_batch(const RuleInput& input, Hits& hits) {
  Hits others;
  rule_symbolic_shape(input, others);
  if (others.empty())
    find_input_dim(input, hits, [](size_t dim, const ir::Dim& found) { return dim == 0 && !found.known(); });
}

void rule_batch_above_1(const RuleInput& input, Hits& hits) {
  const ir::Graph& graph = input.view.graph();
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::Value& value = graph.value(id);
    if (value.type.dims.size() < 2 || value.type.dims[0].size <= 1) continue;  // a vector has no batch
    hits.push_back({{}, input_text(value, 0)});
    return;
  }
}

void rule_several_outputs(const RuleInput& input, Hits& hits) {
  const size_t outputs = input.view.graph().outputs().size();
  if (outputs > 1) hits.push_back({{}, cat(outputs, " outputs")});
}

void rule_too_few_convs(const RuleInput& input, Hits& hits) {
  const auto convs = std::count_if(input.view.operators.begin(), input.view.operators.end(),
                                   [&](ir::NodeId id) { return input.view.node(id).is("Conv"); });
  if (static_cast<double>(convs) < input.limit) hits.push_back({{}, cat(convs, " Convs, the limit is ", input.limit)});
}

void rule_transformer(const RuleInput& input, Hits& hits) {
  size_t attentions = 0, convs = 0;
  for (const ir::NodeId id : input.view.operators) {
    const ir::Node& node = input.view.node(id);
    convs += node.is("Conv") ? 1 : 0;
    if (!node.is("Softmax")) continue;
    const std::vector<ir::NodeId>& readers = input.view.readers_of(id);
    attentions +=
        std::any_of(readers.begin(), readers.end(),
                    [&](ir::NodeId reader) { return is_product_of_activations(input.view, input.view.node(reader)); })
            ? 1
            : 0;
  }
  if (attentions > convs) hits.push_back({{}, cat(attentions, " blocks of attention, ", convs, " Convs")});
}

void rule_not_sorted(const RuleInput& input, Hits& hits) {
  if (input.view.order == input.view.graph().order()) return;
  hits.push_back({{}, "the nodes of the file are not in execution order"});
}

void rule_names_not_unique(const RuleInput& input, Hits& hits) {
  std::set<std::string> names;
  size_t without = 0, repeated = 0;
  for (const ir::NodeId id : input.view.order) {
    const std::string& name = input.view.node(id).name;
    if (name.empty()) {
      ++without;
    } else if (!names.insert(name).second) {
      ++repeated;
    }
  }
  if (without + repeated > 0)
    hits.push_back({{}, cat(without, " nodes without a name, ", repeated, " with a repeated one")});
}

void rule_islands(const RuleInput& input, Hits& hits) {
  std::vector<bool> seen(input.view.kinds.size(), false);
  size_t islands = 0;
  for (const ir::NodeId start : input.view.operators) {
    if (!input.groups.left_float(start) || seen[static_cast<size_t>(start.index)]) continue;
    ++islands;
    std::vector<ir::NodeId> open = {start};
    seen[static_cast<size_t>(start.index)] = true;
    while (!open.empty()) {
      const ir::NodeId id = open.back();
      open.pop_back();
      for (const auto* next : {&input.view.sources_of(id), &input.view.readers_of(id)}) {
        for (const ir::NodeId other : *next) {
          if (!input.groups.left_float(other) || seen[static_cast<size_t>(other.index)]) continue;
          seen[static_cast<size_t>(other.index)] = true;
          open.push_back(other);
        }
      }
    }
  }
  if (static_cast<double>(islands) > input.limit) hits.push_back({{}, cat(islands, " separate float parts")});
}

}  // namespace quarkq::targets
