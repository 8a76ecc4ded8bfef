// SPDX-License-Identifier: MIT
#include "ir/check_graph.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/edit.h"

namespace quarkq::ir {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
constexpr int kUnknown = -1;

/// One node "n" whose first input has this rank, and whose others are the stored lists.
Graph one_node_graph(const std::string& op, int rank, std::vector<Attribute> attributes,
                     const std::vector<Ints>& stored = {}, const std::string& domain = "") {
  Graph graph;
  GraphEdit edit(graph);
  ValueType type{ElementType::kFloat, rank >= 0, {}, {}};
  if (rank > 0) type.dims.resize(static_cast<size_t>(rank));
  const ValueId x = edit.add_value("x", type);
  edit.add_graph_input(x);
  NodeSpec spec{op, domain, "n", {x}, {edit.add_value("y")}, std::move(attributes)};
  for (const Ints& list : stored) {
    spec.inputs.push_back(edit.add_initializer("c", Tensor::from<int64_t>({static_cast<int64_t>(list.size())}, list)));
  }
  edit.add_node(std::move(spec));
  return graph;
}

Attribute attribute(const std::string& name, AttributeValue value) { return {name, std::move(value), {}, {}}; }

std::string message_of(const Graph& graph, int64_t opset = 17) {
  return check_attributes(graph, {{"", opset}}).message();
}

struct Case {
  std::string op, name;
  AttributeValue value;
  int rank;
  std::string message;  ///< after "node n (Op): "; empty: passes
};

TEST(CheckAttributesTest, JudgesAttributes) {
  const std::vector<Case> cases = {
      {"Transpose", "perm", Ints{1, 0}, kUnknown, ""},
      {"Transpose", "perm", Ints{0, 1073741824}, kUnknown,
       "attribute perm is [0,1073741824], allowed: each of 0 to 1 once"},
      {"Transpose", "perm", Ints{1, 0}, 3, "attribute perm is [1,0], allowed: each of 0 to 2 once"},
      {"LayerNormalization", "axis", kMost, kUnknown, "attribute axis is 9223372036854775807, allowed: -64 to 64"},
      {"Concat", "axis", kLeast, kUnknown, "attribute axis is -9223372036854775808, allowed: -64 to 64"},
      {"Concat", "axis", int64_t{64}, kUnknown, "attribute axis is 64, allowed: -64 to 63"},
      {"Concat", "axis", int64_t{-3}, 3, ""},
      {"Concat", "axis", int64_t{3}, 3, "attribute axis is 3, allowed: -3 to 2"},
      {"Flatten", "axis", int64_t{3}, 3, ""},
      {"Flatten", "axis", int64_t{4}, 3, "attribute axis is 4, allowed: -3 to 3"},
      {"OneHot", "axis", int64_t{3}, 3, ""},
      {"Softmax", "axis", int64_t{3}, 3, "attribute axis is 3, allowed: -3 to 2"},
      {"Unsqueeze", "axes", Ints{0, 4}, 3, ""},
      {"Unsqueeze", "axes", Ints{0, 5}, 3, "attribute axes is [0,5], allowed: -5 to 4"},
      {"Squeeze", "axes", Ints{0, -3}, 3, "attribute axes is [0,-3], allowed: each axis once"},
      {"GatherND", "batch_dims", int64_t{-3}, kUnknown, "attribute batch_dims is -3, allowed: 0 to 64"},
      {"Conv", "group", int64_t{0}, kUnknown, "attribute group is 0, allowed: 1 to 2147483647"},
      {"Conv", "strides", Ints{1, kMost}, 4, "attribute strides is [1,9223372036854775807], allowed: 1 to 2147483647"},
      {"Conv", "pads", Ints{-1, 0}, kUnknown, ""},
      {"Softmax", "axis", Ints{0}, 3, ""},  // of another kind: readers take the default
  };
  for (const Case& c : cases) {
    const std::string wanted = c.message.empty() ? "" : cat("node n (", c.op, "): ", c.message);
    EXPECT_EQ(message_of(one_node_graph(c.op, c.rank, {attribute(c.name, c.value)})), wanted);
  }
}

TEST(CheckAttributesTest, JudgesStoredAxes) {
  EXPECT_EQ(message_of(one_node_graph("ReduceMax", kUnknown, {}, {{0, 63}}), 18), "");
  EXPECT_EQ(message_of(one_node_graph("ReduceMax", 2, {}, {{0, 2}}), 18),
            "node n (ReduceMax): input 1 (axes) is [0,2], allowed: -2 to 1");
  EXPECT_EQ(message_of(one_node_graph("Slice", 2, {}, {{0}, {kMost}, {kLeast}})),
            "node n (Slice): input 3 (axes) is [-9223372036854775808], allowed: -2 to 1");
}

/// One node "n" with inputs of these ranks and so many outputs.
Graph ranked_graph(const std::string& op, const std::vector<int>& ranks, size_t outputs, const Attribute& attribute) {
  Graph graph;
  GraphEdit edit(graph);
  NodeSpec spec{op, "", "n", {}, {}, {attribute}};
  for (const int rank : ranks) {
    ValueType type{ElementType::kFloat, rank >= 0, {}, {}};
    if (rank > 0) type.dims.resize(static_cast<size_t>(rank));
    spec.inputs.push_back(edit.add_value("x", type));
    edit.add_graph_input(spec.inputs.back());
  }
  for (size_t i = 0; i < outputs; ++i) spec.outputs.push_back(edit.add_value("y"));
  edit.add_node(std::move(spec));
  return graph;
}

TEST(CheckAttributesTest, BatchDimsLieBelowBothRanks) {
  const auto message = [](int data, int indices, int64_t count) {
    return message_of(ranked_graph("GatherND", {data, indices}, 1, attribute("batch_dims", count)));
  };
  EXPECT_EQ(message(3, 3, 2), "");
  EXPECT_EQ(message(3, 2, 2), "node n (GatherND): attribute batch_dims is 2, allowed: 0 to 1");
  EXPECT_EQ(message(1, 4, 1), "node n (GatherND): attribute batch_dims is 1, allowed: 0 to 0");
  EXPECT_EQ(message(kUnknown, 2, 5), "") << "a rank that is not known cannot be compared";
}

TEST(CheckAttributesTest, SplitMakesAsManyPartsAsItHasOutputs) {
  const auto message = [](size_t outputs, int64_t asked) {
    return message_of(ranked_graph("Split", {2}, outputs, attribute("num_outputs", asked)), 18);
  };
  EXPECT_EQ(message(3, 3), "");
  EXPECT_EQ(message(3, 2), "node n (Split): attribute num_outputs is 2, outputs: 3");
}

TEST(CheckAttributesTest, LetsTheOldSoftmaxNameNoAxis) {
  EXPECT_EQ(message_of(one_node_graph("Softmax", 3, {attribute("axis", int64_t{3})}), 12), "");
}

TEST(CheckAttributesTest, LeavesOperatorsOfOthersAlone) {
  EXPECT_EQ(message_of(one_node_graph("Mine", 3, {attribute("axis", kMost)}, {}, "my.domain")), "");
  EXPECT_NE(message_of(one_node_graph("BFPQuantizeDequantize", 3, {attribute("axis", kMost)}, {}, "com.amd.quark")),
            "");
}

TEST(CheckAttributesTest, LooksIntoNestedGraphs) {
  const auto inner = std::make_shared<const Graph>(one_node_graph("Transpose", kUnknown, {attribute("perm", Ints{7})}));
  EXPECT_EQ(message_of(one_node_graph("If", kUnknown, {attribute("then_branch", GraphPtr(inner))})),
            "node n (Transpose): attribute perm is [7], allowed: each of 0 to 0 once");
}

}  // namespace
}  // namespace quarkq::ir
