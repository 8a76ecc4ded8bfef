// SPDX-License-Identifier: MIT
// Rules about Conv, products, recurrent and other layers, and control flow.
#include <algorithm>
#include <array>
#include <optional>

#include "ir/graph_analysis.h"
#include "ir/traversal.h"
#include "targets/rules.h"

namespace quarkq::targets {
namespace {

using Found = std::optional<std::string>;

/// Returns the type of input `i`; unknown if it is omitted.
ir::ValueType input_type(const QuantizedView& view, const ir::Node& node, size_t i) {
  return node.input(i).valid() ? view.graph().value(node.input(i)).type : ir::ValueType();
}

/// Whether height and width are known.
bool has_known_image(const ir::ValueType& type) {
  return type.has_shape && type.dims.size() > 2 &&
         std::ranges::all_of(type.dims.begin() + 2, type.dims.end(), &ir::Dim::known);
}

bool is_depthwise(const QuantizedView& view, const ir::Node& node) {
  if (!node.is("Conv")) return false;
  const ir::ValueType x = input_type(view, node, 0);
  const int64_t group = node.int_or("group", 1);
  return group > 1 && x.dims.size() > 1 && x.dims[1].size == group;
}

/// Depthwise Convs whose group has a node of type `op`: ref:targets#what-the-logs-of-x2-show
void find_depthwise_pairs(const RuleInput& input, Hits& hits, const char* op) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!is_depthwise(input.view, node)) return std::nullopt;
    const std::vector<ir::NodeId>& group = input.groups.group_of(node.id);
    const bool holds =
        std::any_of(group.begin(), group.end(), [&](ir::NodeId id) { return input.view.node(id).is(op); });
    return holds ? Found(cat("with the ", op, " that follows")) : std::nullopt;
  });
}

bool is_activation(const QuantizedView& view, ir::ValueId value) {
  return value.valid() && view.stored(value) == nullptr;
}

bool is_activation_product(const QuantizedView& view, const ir::Node& node) {
  return node.is("MatMul") && is_activation(view, node.input(0)) && is_activation(view, node.input(1));
}

}  // namespace

void rule_conv_implicit_attributes(const RuleInput& input, Hits& hits) {
  constexpr std::array<const char*, 5> kNeeded = {"strides", "pads", "dilations", "kernel_shape", "group"};
  for (const ir::NodeId id : input.view.operators) {
    const ir::Node& node = input.view.node(id);
    if (!node.is("Conv")) continue;
    std::vector<std::string> missing;
    for (const char* name : kNeeded) {
      if (node.find(name) == nullptr) missing.emplace_back(name);
    }
    if (missing.empty()) continue;
    const std::string automatic = node.string_or("auto_pad", "");
    if (automatic.starts_with("SAME_") && !has_known_image(input_type(input.view, node, 0)))  // the pads are unknown
      hits.push_back({id, cat(automatic, " of an input without a fixed size"), "static-shapes"});
    else
      hits.push_back({id, cat("without ", join(missing, ", "))});
  }
}

void rule_conv_pad_above_kernel(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!node.is("Conv")) return std::nullopt;
    const std::vector<int64_t> pads = node.ints_or("pads", {});
    const ir::ValueType w = input_type(input.view, node, 1);
    if (w.dims.size() < 3) return std::nullopt;
    const size_t spatial = w.dims.size() - 2;
    for (size_t i = 0; i < std::min(pads.size(), 2 * spatial); ++i) {
      const int64_t kernel = w.dims[2 + i % spatial].size;
      if (kernel > 0 && pads[i] >= kernel) return cat("pad ", pads[i], ", kernel ", kernel);
    }
    return std::nullopt;
  });
}

void rule_depthwise_then_clip(const RuleInput& input, Hits& hits) { find_depthwise_pairs(input, hits, "Clip"); }
void rule_depthwise_then_relu(const RuleInput& input, Hits& hits) { find_depthwise_pairs(input, hits, "Relu"); }

void rule_grouped_conv(const RuleInput& input, Hits& hits) {
  const auto convs = std::count_if(input.view.operators.begin(), input.view.operators.end(), [&](ir::NodeId id) {
    return input.view.node(id).is("Conv") && input.view.node(id).int_or("group", 1) > 1;
  });
  if (convs > 0) hits.push_back({{}, cat(convs, " Convs with groups")});
}

void rule_product_of_activations(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    return is_activation_product(input.view, node) ? Found("neither side is stored") : std::nullopt;
  });
}

void rule_attention_amid_convs(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    const auto index = static_cast<size_t>(node.id.index);
    const bool is_amid = input.view.has_conv_before[index] && input.view.has_conv_after[index];
    return is_amid && is_activation_product(input.view, node) ? Found("Convs before and after it") : std::nullopt;
  });
}

void rule_product_with_float_bias(const RuleInput& input, Hits& hits) {
  const QuantizedView& view = input.view;
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!view.has_pairs || !node.is("Add")) return std::nullopt;
    for (const size_t side : {0u, 1u}) {
      const ir::ValueId bias = node.input(side), other = node.input(1 - side);
      if (!bias.valid() || !other.valid() || view.graph().constant(bias) == nullptr) continue;
      const ir::Node* product = view.graph().producer(view.before_pairs(other));
      if (product != nullptr && product->is("MatMul")) return cat("bias ", view.graph().value(bias).name, " is float");
    }
    return std::nullopt;
  });
}

void rule_large_product(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!node.is("MatMul") && !node.is("Gemm")) return std::nullopt;
    const double macs = ir::macs_of(input.view.graph(), node);
    return macs > input.limit ? Found(cat(macs / 1e9, " G multiply-accumulates")) : std::nullopt;
  });
}

void rule_lstm(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [](const ir::Node& node) { return node.is("LSTM") ? Found("") : std::nullopt; });
}

void rule_dynamic_weight(const RuleInput& input, Hits& hits) {
  const ir::Graph& graph = input.view.graph();
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!takes_bias(node)) return std::nullopt;
    if (!node.input(1).valid()) return std::nullopt;
    const ir::Value& weight = graph.value(input.view.before_pairs(node.input(1)));
    return weight.is_input ? Found(cat("weight ", weight.name, " is a graph input")) : std::nullopt;
  });
}

void rule_instance_norm_diamond(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!node.is("InstanceNormalization")) return std::nullopt;
    for (const ir::NodeId source : input.view.sources_of(node.id)) {
      if (input.view.readers_of(source).size() > 1) return "its input has other readers";
    }
    return std::nullopt;
  });
}

void rule_prelu(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!node.is("PRelu")) return std::nullopt;
    const ir::Tensor* slope = input.view.stored(node.input(1));
    return slope == nullptr || slope->size() > 1 ? Found("slopes per channel") : std::nullopt;
  });
}

void rule_data_dependent_if(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    return node.is("If") && is_activation(input.view, node.input(0)) ? Found("its condition is computed")
                                                                     : std::nullopt;
  });
}

void rule_loop(const RuleInput& input, Hits& hits) {
  for_operators(input, hits,
                [](const ir::Node& node) { return node.is("Loop") || node.is("Scan") ? Found("") : std::nullopt; });
}

void rule_softplus_net(const RuleInput& input, Hits& hits) {
  constexpr std::array<const char*, 5> kAll = {"Softplus", "Tanh", "Div", "ReduceSum", "ReduceMax"};
  const auto is_there = [&](const char* op) {
    return std::any_of(input.view.operators.begin(), input.view.operators.end(),
                       [&](ir::NodeId id) { return input.view.node(id).is(op); });
  };
  if (std::all_of(kAll.begin(), kAll.end(), is_there)) hits.push_back({{}, "all of these operators are there"});
}

}  // namespace quarkq::targets
