// SPDX-License-Identifier: MIT
// Rules about shapes, types of tensors and data movement.
#include <algorithm>
#include <optional>

#include "ir/constants.h"
#include "targets/rules.h"

namespace quarkq::targets {
namespace {

using Found = std::optional<std::string>;

/// The first value that the node reads or makes and that fulfils `holds`.
template <typename Holds>
const ir::Value* find_value(const QuantizedView& view, const ir::Node& node, const Holds& holds) {
  for (const std::vector<ir::ValueId>* values : {&node.inputs, &node.outputs}) {
    for (const ir::ValueId id : *values) {
      if (id.valid() && holds(view.graph().value(id))) return &view.graph().value(id);
    }
  }
  return nullptr;
}

size_t rank_of_input(const QuantizedView& view, const ir::Node& node) {
  return node.input(0).valid() ? view.graph().value(node.input(0)).type.dims.size() : 0;
}

bool is_stored_data(const QuantizedView& view, const ir::Node& node) {
  const ir::Tensor* data = view.stored(node.input(0));
  return data != nullptr && data->rank() > 1;
}

bool is_resize(const ir::Node& node) { return node.is("Resize") || node.is("Upsample"); }

/// The only reader if it is of type `op`, else null.
const ir::Node* sole_reader(const QuantizedView& view, const ir::Node& node, const char* op) {
  const std::vector<ir::NodeId>& readers = view.readers_of(node.id);
  return readers.size() == 1 && view.node(readers[0]).is(op) ? &view.node(readers[0]) : nullptr;
}

}  // namespace

void rule_rank_above(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    const ir::Value* value = find_value(input.view, node, [&](const ir::Value& one) {
      return static_cast<double>(one.type.dims.size()) > input.limit;
    });
    return value != nullptr ? Found(cat("tensor ", value->name, " has rank ", value->type.dims.size())) : std::nullopt;
  });
}

void rule_bfloat16_tensor(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    const ir::Value* value =
        find_value(input.view, node, [](const ir::Value& one) { return one.type.element == ElementType::kBFloat16; });
    return value != nullptr ? Found(cat("tensor ", value->name, " is bfloat16")) : std::nullopt;
  });
}

void rule_large_activation(const RuleInput& input, Hits& hits) {
  const ir::Value* largest = nullptr;
  double most = input.limit;
  for (const ir::NodeId id : input.view.operators) {
    for (const ir::ValueId output : input.view.node(id).outputs) {
      if (!output.valid() || !input.view.graph().value(output).type.is_static()) continue;
      const Result<int64_t> count = ir::element_count(input.view.graph().value(output).type.shape());
      if (!count.ok() || static_cast<double>(count.value()) <= most) continue;
      most = static_cast<double>(count.value());
      largest = &input.view.graph().value(output);
    }
  }
  if (largest != nullptr) hits.push_back({{}, cat("tensor ", largest->name, " has ", most / 1024, " Ki elements")});
}

void rule_integer_node(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    return input.groups.integer(node.id) ? Found("computes integers at run time") : std::nullopt;
  });
}

void rule_reshape_amid_convs(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    constexpr size_t kImageRank = 4;
    const auto index = static_cast<size_t>(node.id.index);
    const bool is_flat =
        find_value(input.view, node, [](const ir::Value& one) { return one.type.dims.size() > kImageRank; }) == nullptr;
    const bool is_amid = input.view.has_conv_before[index] && input.view.has_conv_after[index];
    return node.is("Reshape") && is_flat && is_amid ? Found("Convs before and after it") : std::nullopt;
  });
}

void rule_resize_linear(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [](const ir::Node& node) -> Found {
    const std::string mode = node.string_or("mode", "nearest");
    const bool is_aligned = node.string_or("coordinate_transformation_mode", "") == "align_corners";
    return is_resize(node) && mode != "nearest" && !is_aligned ? Found("mode " + mode) : std::nullopt;
  });
}

void rule_resize_align_corners(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [](const ir::Node& node) -> Found {
    const bool is_aligned = node.string_or("coordinate_transformation_mode", "") == "align_corners";
    return is_resize(node) && is_aligned ? Found("align_corners") : std::nullopt;
  });
}

void rule_resize_of_rank_3(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!is_resize(node) || rank_of_input(input.view, node) != 3) return std::nullopt;
    const ir::Value& value = input.view.graph().value(node.input(0));
    const bool is_odd = std::any_of(value.type.dims.begin() + 1, value.type.dims.end(), [](const ir::Dim& dim) {
      return dim.known() && dim.size > 1 && dim.size % 2 == 1;
    });
    return is_odd ? Found(cat("input ", value.name, " has rank 3 and an odd length")) : std::nullopt;
  });
}

void rule_gather_of_constant(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!node.is("Gather") || !is_stored_data(input.view, node)) return std::nullopt;
    const ir::Tensor* indices = input.view.stored(node.input(1));
    return indices == nullptr || indices->rank() > 0 ? Found("from stored weights") : std::nullopt;
  });
}

void rule_select_of_bool(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    const bool is_bool = node.is("Where") && node.input(1).valid() &&
                         input.view.graph().value(node.input(1)).type.element == ElementType::kBool;
    return is_bool ? Found("selects between bools") : std::nullopt;
  });
}

namespace {

bool counts_from_the_end(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Slice")) return false;
  const auto is_negative = [](int64_t bound) { return bound < 0; };
  for (const auto& [place, attribute] : {std::pair<size_t, const char*>{1, "starts"}, {2, "ends"}}) {
    const std::optional<std::vector<int64_t>> bounds = ir::integers_of(graph, node, place, attribute);
    if (bounds && std::ranges::any_of(*bounds, is_negative)) return true;
  }
  return false;
}

bool is_normalization(const ir::Node& node) {
  constexpr std::string_view kNormalizations[] = {"InstanceNormalization", "LayerNormalization", "RMSNormalization",
                                                  "SimplifiedLayerNormalization"};
  return node.domain.empty() && std::ranges::find(kNormalizations, node.op) != std::end(kNormalizations);
}

}  // namespace

void rule_negative_slice_bounds(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!node.is("Concat")) return std::nullopt;
    const std::vector<ir::NodeId>& sources = input.view.sources_of(node.id);
    const auto slices = std::ranges::count_if(
        sources, [&](ir::NodeId id) { return counts_from_the_end(input.view.graph(), input.view.node(id)); });
    return slices > 1 ? Found(cat("joins ", slices, " Slices with negative bounds")) : std::nullopt;
  });
}

void rule_depth_to_space_tail(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    const bool is_last = !input.view.has_conv_after[static_cast<size_t>(node.id.index)];
    return node.is("DepthToSpace") && is_last ? Found("after the last Conv") : std::nullopt;
  });
}

void rule_normalization_of_rank_3(const RuleInput& input, Hits& hits) {
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!is_normalization(node) || rank_of_input(input.view, node) != 3) return std::nullopt;
    return Found(cat("input ", input.view.graph().value(node.input(0)).name, " has rank 3"));
  });
}

void rule_channel_shuffle(const RuleInput& input, Hits& hits) {
  constexpr size_t kShuffleRank = 5;
  for_operators(input, hits, [&](const ir::Node& node) -> Found {
    if (!node.is("Transpose") || rank_of_input(input.view, node) != kShuffleRank) return std::nullopt;
    const std::vector<ir::NodeId>& sources = input.view.sources_of(node.id);
    const bool is_reshaped = sources.size() == 1 && input.view.node(sources[0]).is("Reshape");
    return is_reshaped && sole_reader(input.view, node, "Reshape") != nullptr ? Found("between two Reshapes")
                                                                              : std::nullopt;
  });
}

}  // namespace quarkq::targets
