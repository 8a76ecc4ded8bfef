// SPDX-License-Identifier: MIT
// Random sequences of edits: def-use, names, lists and order agree after every single one, and copies made before stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "ir/check_graph.h"
#include "ir/dump.h"
#include "ir/edit.h"

namespace quarkq::ir {
namespace {

/// A graph under random edits, each of which meets the requirements of ir/edit.h.
class RandomEdits {
 public:
  explicit RandomEdits(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) edit_.add_graph_input(edit_.add_value(cat("x", i)));
    for (int i = 0; i < 3; ++i) edit_.add_initializer(cat("w", i), Tensor::scalar(static_cast<float>(i)));
    for (int i = 0; i < 8; ++i) add_node();
    edit_.add_graph_output(graph_.node(graph_.order().back()).outputs[0]);
  }

  const Graph& graph() const { return graph_; }
  const std::string& last() const { return last_; }

  void step() {
    struct Choice {
      const char* name;
      void (RandomEdits::*run)();
    };
    static constexpr Choice kChoices[] = {
        {"add_node", &RandomEdits::add_node},           {"remove_node", &RandomEdits::remove_unread_node},
        {"set_input", &RandomEdits::set_input},         {"append_input", &RandomEdits::append_input},
        {"set_output", &RandomEdits::move_output},      {"replace_uses", &RandomEdits::replace_uses},
        {"replace_value", &RandomEdits::replace_value}, {"rename", &RandomEdits::rename},
        {"set_captures", &RandomEdits::set_captures},   {"constants", &RandomEdits::change_constant},
        {"outputs", &RandomEdits::add_output},          {"set_order", &RandomEdits::shuffle}};
    const Choice& choice = kChoices[below(std::size(kChoices))];
    last_ = choice.name;
    (this->*choice.run)();
  }

 private:
  size_t below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  std::vector<ValueId> values_where(const std::function<bool(const Value&)>& fits) const {
    std::vector<ValueId> found;
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId id{static_cast<int32_t>(i)};
      if (graph_.is_alive(id) && fits(graph_.value(id))) found.push_back(id);
    }
    return found;
  }
  ValueId any_of(const std::vector<ValueId>& ids) { return ids.empty() ? ValueId{} : ids[below(ids.size())]; }
  ValueId defined() {
    return any_of(values_where(
        [](const Value& value) { return value.producer.valid() || value.is_input || value.is_initializer(); }));
  }
  NodeId any_node() { return graph_.order().empty() ? NodeId{} : graph_.order()[below(graph_.order().size())]; }

  void add_node() {
    NodeSpec spec{.op = "Op", .domain = "", .name = "", .inputs = {}, .outputs = {}};
    for (size_t i = below(4); i > 0; --i) spec.inputs.push_back(below(5) == 0 ? ValueId{} : defined());
    for (size_t i = below(2) + 1; i > 0; --i) spec.outputs.push_back(edit_.add_value("v"));
    edit_.add_node(std::move(spec), below(2) == 0 ? NodeId{} : any_node());
  }
  void remove_unread_node() {
    for (const NodeId id : std::vector<NodeId>(graph_.order())) {
      const std::vector<ValueId> outputs = graph_.node(id).outputs;
      const auto is_read = [&](ValueId output) { return output.valid() && graph_.use_count(output) > 0; };
      if (std::any_of(outputs.begin(), outputs.end(), is_read)) continue;
      edit_.remove_node(id);
      for (const ValueId output : outputs) {
        if (output.valid()) edit_.remove_value(output);
      }
      return;
    }
  }
  void set_input() {
    const NodeId node = any_node();
    if (!node.valid() || graph_.node(node).inputs.empty()) return;
    edit_.set_input(node, below(graph_.node(node).inputs.size()), below(6) == 0 ? ValueId{} : defined());
  }
  void append_input() {
    if (const NodeId node = any_node(); node.valid()) edit_.append_input(node, defined());
  }
  /// A new value takes the place of an output that nothing reads; sometimes one past the end.
  void move_output() {
    const NodeId node = any_node();
    if (!node.valid()) return;
    const size_t place = below(graph_.node(node).outputs.size() + 1);
    const ValueId old_value = graph_.node(node).output(place);
    if (old_value.valid() && graph_.use_count(old_value) > 0) return;
    edit_.set_output(node, place, edit_.add_value("moved"));
    if (old_value.valid()) edit_.remove_value(old_value);
  }
  void replace_uses() { edit_.replace_uses(defined(), defined()); }
  void replace_value() {
    const ValueId from = defined();
    const ValueId to = any_of(values_where(
        [&](const Value& value) { return value.producer.valid() && !value.is_output && value.id != from; }));
    if (to.valid()) edit_.replace_value(from, to);
  }
  void rename() {
    const ValueId value = defined(), other = defined();
    const std::string taken = graph_.value(other).name;
    EXPECT_EQ(edit_.rename(value, taken), value == other) << taken;
    EXPECT_TRUE(edit_.rename(value, cat("name_", renamed_++)));
  }
  void set_captures() {
    const NodeId node = any_node();
    if (!node.valid()) return;
    std::vector<Capture> captures;
    for (size_t i = below(3); i > 0; --i) captures.push_back({defined(), cat("c", i)});
    edit_.set_captures(node, captures);
  }
  void change_constant() {
    const ValueId value = any_of(values_where([](const Value& one) { return !one.producer.valid() && one.is_input; }));
    if (!graph_.value(value).is_initializer()) return edit_.set_constant(value, Tensor::scalar(int64_t{5}));
    edit_.clear_constant(value);
  }
  void add_output() {
    const ValueId value = any_of(values_where([](const Value& one) { return one.producer.valid() && !one.is_output; }));
    if (value.valid() && graph_.outputs().size() < 4) edit_.add_graph_output(value);
  }
  void shuffle() {
    std::vector<NodeId> order = graph_.order();
    std::shuffle(order.begin(), order.end(), random_);
    edit_.set_order(order);
  }

  std::mt19937 random_;
  Graph graph_;
  GraphEdit edit_{graph_};
  std::string last_;
  int renamed_ = 0;
};

class EditSequencesTest : public ::testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EditSequencesTest, ::testing::Range(1u, 13u));

TEST_P(EditSequencesTest, EveryEditLeavesAConsistentGraph) {
  RandomEdits edits(GetParam());
  ASSERT_EQ(verify(edits.graph()).message(), "");
  for (int i = 0; i < 150; ++i) {
    edits.step();
    ASSERT_EQ(verify(edits.graph()).message(), "") << "step " << i << ": " << edits.last();
  }
}

TEST_P(EditSequencesTest, IdsAreNeverUsedAgain) {
  RandomEdits edits(GetParam());
  std::vector<bool> dead;
  size_t values = 0, nodes = 0;
  for (int i = 0; i < 100; ++i) {
    edits.step();
    const Graph& graph = edits.graph();
    ASSERT_GE(graph.value_count(), values);
    ASSERT_GE(graph.node_count(), nodes);
    values = graph.value_count();
    nodes = graph.node_count();
    dead.resize(values);
    for (size_t k = 0; k < values; ++k) {
      const bool alive = graph.is_alive(ValueId{static_cast<int32_t>(k)});
      ASSERT_FALSE(dead[k] && alive) << "value id " << k << " came back in step " << i;
      dead[k] = !alive;
    }
  }
}

TEST_P(EditSequencesTest, ACopyMadeBeforeStays) {
  RandomEdits edits(GetParam());
  const Graph copy = edits.graph();
  const std::string before = dump(copy);
  for (int i = 0; i < 60; ++i) edits.step();
  EXPECT_EQ(dump(copy), before);
  EXPECT_EQ(verify(copy).message(), "");
}

TEST_P(EditSequencesTest, RemovingDeadNodesLeavesWhatOutputsNeed) {
  RandomEdits edits(GetParam());
  for (int i = 0; i < 80; ++i) edits.step();
  Graph graph = edits.graph();
  GraphEdit edit(graph);
  const size_t nodes = graph.order().size(), removed = edit.remove_dead();
  ASSERT_EQ(verify(graph).message(), "");
  EXPECT_EQ(graph.order().size() + removed, nodes);
  EXPECT_EQ(graph.outputs(), edits.graph().outputs());
  for (const NodeId id : graph.order()) {
    size_t reads = 0;
    for (const ValueId output : graph.node(id).outputs) reads += output.valid() ? graph.use_count(output) : 0;
    EXPECT_GT(reads, 0u) << graph.label(id);
    EXPECT_EQ(graph.node(id).inputs, edits.graph().node(id).inputs) << graph.label(id);
  }
  for (const ValueId id : graph.initializers()) EXPECT_GT(graph.use_count(id), 0u) << graph.value(id).name;
  EXPECT_EQ(edit.remove_dead(), 0u);
}

}  // namespace
}  // namespace quarkq::ir
