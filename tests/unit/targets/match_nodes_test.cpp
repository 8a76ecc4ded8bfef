// SPDX-License-Identifier: MIT
// Entries of a compiler's report and nodes of a model.
#include <gtest/gtest.h>

#include <random>

#include "support/reported_models.h"

namespace quarkq::targets {
namespace {

constexpr const char kFiveNodes[] =
    "g (float[4] x) => (float[4] e) { a = Relu(x) b = Abs(a) c = Relu(b) d = Abs(c) e = Relu(d) }";

std::vector<ReportedNode> entries_of(const ir::Model& model) { return test::reported_of(model).nodes; }

/// Returns the outputs of the matched nodes, "-" for entries without one.
std::string matched(const ir::Model& model, const std::vector<ReportedNode>& entries) {
  const QuantizedView view = view_of(model).value();
  std::string text;
  for (const ir::NodeId id : match_nodes(view, entries).node_of)
    text += cat(text.empty() ? "" : " ", id.valid() ? view.graph().value(view.node(id).output(0)).name : "-");
  return text;
}

TEST(MatchNodesTest, MatchesByOutput) {
  const ir::Model model = test::target_model(kFiveNodes);
  EXPECT_EQ(matched(model, entries_of(model)), "a b c d e");
}

TEST(MatchNodesTest, MatchesNamesWithSuffixes) {
  const ir::Model model = test::target_model(kFiveNodes);
  std::vector<ReportedNode> entries = entries_of(model);
  entries[1].outputs = {"b_token_17"};
  entries[3].outputs = {"d_2"};
  entries[1].inputs = entries[3].inputs = {};
  EXPECT_EQ(matched(model, entries), "a b c d e");
}

TEST(MatchNodesTest, FollowsRenamedTensorsThroughTheGraph) {
  const ir::Model model = test::target_model(kFiveNodes);
  std::vector<ReportedNode> entries = entries_of(model);
  for (size_t i = 1; i < 4; ++i) entries[i].outputs = {cat("new", i)};
  for (size_t i = 2; i < 5; ++i) entries[i].inputs = {cat("new", i - 1)};
  EXPECT_EQ(matched(model, entries), "a b c d e");
}

TEST(MatchNodesTest, FindsTheWriterOfAMatchedNodesInput) {
  // Neither the input nor the output of entry 1 is known, but entry 2 reads it.
  const ir::Model model = test::target_model(kFiveNodes);
  std::vector<ReportedNode> entries = entries_of(model);
  entries[1].inputs = {"cast"};
  entries[1].outputs = entries[2].inputs = {"new"};
  EXPECT_EQ(matched(model, entries), "a b c d e");
}

TEST(MatchNodesTest, LeavesNodesOfTheCompilerAlone) {
  const ir::Model model = test::target_model(kFiveNodes);
  std::vector<ReportedNode> entries = entries_of(model);
  entries.insert(entries.begin(), {"Cast", "CPU", {"x"}, {"cast"}});
  EXPECT_EQ(matched(model, entries), "- a b c d e");
}

TEST(MatchNodesTest, KeepsOtherOperatorsOfTheSameOutputApart) {
  const ir::Model model = test::target_model(kFiveNodes);
  std::vector<ReportedNode> entries = entries_of(model);
  entries[2].op = "Clip";
  EXPECT_EQ(matched(model, entries), "a b - d e");
}

TEST(MatchNodesTest, CopiesOfADequantizeLinearAreOneNode) {
  test::QuantizedText text;
  const std::string value = text.pair("x");
  const ir::Model model = test::target_model(text.body(text.pair(text.op(cat("Add (", value, ", ", value, ")")))));
  std::vector<ReportedNode> entries = entries_of(model);
  ReportedNode copy = entries[1];
  ASSERT_EQ(copy.op, "DequantizeLinear");
  copy.outputs = {value + "/duplicated"};
  entries.insert(entries.begin() + 2, copy);
  EXPECT_EQ(matched(model, entries), "p0q p0 p0 v1 p2q p2");
}

TEST(MatchNodesTest, ReadersOfOneValueAreToldApartByTheirOtherInputs) {
  const ir::Model model = test::target_model(
      "g (float[4] x, float[4] s, float[4] t) => (float[4] p, float[4] q) { p = Mul(x, s) q = Mul(x, t) }");
  std::vector<ReportedNode> entries = entries_of(model);
  entries[0].outputs = {"first"};
  entries[1].outputs = {"second"};
  std::swap(entries[0], entries[1]);
  EXPECT_EQ(matched(model, entries), "q p");
}

/// A network of `count` operators that read one or two of the values before them.
ir::Model random_network(std::mt19937& random, size_t count) {
  const char* const ops[] = {"Relu", "Abs", "Neg", "Add", "Mul"};
  std::string nodes;
  const auto value = [&](size_t before) { return before == 0 ? std::string("x") : cat("v", random() % before); };
  for (size_t i = 0; i < count; ++i) {
    const size_t op = random() % std::size(ops);
    nodes += cat("v", i, " = ", ops[op], " (", value(i), op < 3 ? "" : ", " + value(i), ") ");
  }
  return test::target_model(cat("g (float[4] x) => (float[4] v", count - 1, ") { ", nodes, "}"));
}

TEST(MatchNodesTest, NoEntryMatchesTheWrongNodeOfARandomNetwork) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    const ir::Model model = random_network(random, 40);
    const QuantizedView view = view_of(model).value();
    std::vector<ReportedNode> entries = entries_of(model);
    std::vector<std::string> truth;
    truth.reserve(entries.size());
    for (const ReportedNode& entry : entries) truth.push_back(entry.outputs[0]);
    // Half of the tensors have names of the compiler. It has removed a few nodes.
    std::map<std::string, std::string> renamed;
    for (const std::string& name : truth) renamed[name] = random() % 2 == 0 ? name : cat("made/", name, "/up");
    for (ReportedNode& entry : entries) {
      for (std::string& name : entry.inputs) name = renamed.contains(name) ? renamed[name] : name;
      entry.outputs[0] = renamed[entry.outputs[0]];
    }
    for (int removed = 0; removed < 3; ++removed) {
      const auto at = static_cast<std::ptrdiff_t>(random() % entries.size());
      entries.erase(entries.begin() + at);
      truth.erase(truth.begin() + at);
    }
    const NodeMatch match = match_nodes(view, entries);
    size_t right = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!match.node_of[i].valid()) continue;
      const ir::Node& node = view.node(match.node_of[i]);
      EXPECT_EQ(node.op, entries[i].op);
      const bool is_named = entries[i].outputs[0] == truth[i];
      const bool is_right = view.graph().value(node.output(0)).name == truth[i];
      EXPECT_TRUE(is_right || !is_named) << truth[i];
      right += is_right ? 1 : 0;
    }
    EXPECT_GE(right, entries.size() * 8 / 10) << "of " << entries.size();
  }
}

TEST(MatchNodesTest, AReportThatRepeatsANameIsStillRead) {
  const ir::Model model = test::target_model(kFiveNodes);
  std::vector<ReportedNode> entries = entries_of(model);
  for (size_t i = 0; i < 1000; ++i) entries.push_back({"Relu", "NPU", {"a"}, {"a"}});
  entries.push_back({"Relu", "NPU", {}, {}});
  entries.push_back({"", "", {""}, {""}});
  const QuantizedView view = view_of(model).value();
  EXPECT_EQ(match_nodes(view, entries).entry_of[0], 0u);
}

TEST(MatchNodesTest, NothingMatchesNothing) {
  const ir::Model model = test::target_model(kFiveNodes);
  const NodeMatch match = match_nodes(view_of(model).value(), {});
  EXPECT_TRUE(match.node_of.empty());
  for (const size_t entry : match.entry_of) EXPECT_EQ(entry, NodeMatch::kNone);
}

TEST(MatchNodesTest, OmittedInputsAndOutputsIdentifyNothing) {
  const ir::Model model = test::target_model(kFiveNodes);
  std::vector<ReportedNode> entries = entries_of(model);
  entries[1].inputs = entries[1].outputs = {"", ""};
  EXPECT_EQ(matched(model, {entries[1]}), "-");
}

TEST(MatchNodesTest, DevicesOfEveryReleaseAreNpus) {
  for (const char* device : {"NPU", "IPU", "DPU", "VAIML", "AIE"}) EXPECT_TRUE(is_npu(device)) << device;
  for (const char* device : {"CPU", "VITIS_EP_CPU", "GPU", "npu", ""}) EXPECT_FALSE(is_npu(device)) << device;
}

TEST(MatchNodesTest, BoundsTheWorkOnValuesWithManyReaders) {
  constexpr size_t kReaders = 3000;
  std::string nodes;
  for (size_t i = 0; i < kReaders; ++i) nodes += cat("v", i, " = Relu(x) ");
  const ir::Model model = test::target_model("g (float[4] x) => (float[4] v0) { " + nodes + "}");
  std::vector<ReportedNode> entries = entries_of(model);
  for (size_t i = 0; i < kReaders; ++i) entries[i].outputs = {cat("new", i)};
  const QuantizedView view = view_of(model).value();
  size_t found = 0;
  for (const ir::NodeId id : match_nodes(view, entries).node_of) found += id.valid() ? 1 : 0;
  EXPECT_GE(found, 64u);
  EXPECT_LT(found, kReaders);
}

}  // namespace
}  // namespace quarkq::targets
