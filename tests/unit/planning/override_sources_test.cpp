// SPDX-License-Identifier: MIT
// Names in settings: which node or tensor they mean, what is said of those that nothing has, and which of several
// settings of one tensor counts; subgraphs against their definition on random graphs.
#include <map>
#include <set>

#include "planning/select/selectors.h"
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

const std::string kNamed =
    "g (float[1, 4] x) => (float[1, 4] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, "
    "float[4] k = {1, 2, 3, 4}> { [mul] a = Mul (x, k) [product] b = MatMul (a, w) [sum] y = Add (b, k) }";

struct NamedBench : PassBench {
  explicit NamedBench(const std::vector<std::string>& sets, const std::string& preset = "A8W8")
      : PassBench(test::model_of(kNamed), test::settings_for(preset, sets)) {}
  /// Selects and collects; the error, or "tensor:type" of each override in the order of ids.
  std::string found() {
    const Result<Changed> selected = pipeline::run_pass(context, select_nodes);
    if (!selected.ok()) return selected.status().message();
    const Result<Changed> done = pipeline::run_pass(context, find_overrides);
    if (!done.ok()) return done.status().message();
    EXPECT_EQ(done.value() == Changed::kYes, !context.selection.overrides.empty());
    std::map<std::string, std::string> texts;
    for (const auto& [value, made] : context.selection.overrides)
      texts[graph().value(value).name] = made.type ? config::enum_text(*made.type) : "as it is";
    std::string text;
    for (const auto& [name, type] : texts) text += cat(name, ":", type, " ");
    return text;
  }
};

std::string overrides_of(const std::vector<std::string>& sets, const std::string& preset = "A8W8") {
  return NamedBench(sets, preset).found();
}

constexpr const char kInt16Layer[] =
    "specific_layer_config=[{config: {weight: {data_type: Int16}}, layers: [product]}]";

TEST(FindOverridesTest, ATensorOrANodeMayBeNamed) {
  EXPECT_EQ(overrides_of({}), "");
  EXPECT_EQ(overrides_of({"TensorQuantOverrides={b: [{quant_type: QuantType.QUInt8}]}"}), "b:QuantType.QUInt8 ");
  EXPECT_EQ(overrides_of({"TensorQuantOverrides={product: [{quant_type: QuantType.QUInt8}]}"}), "b:QuantType.QUInt8 ");
  EXPECT_EQ(overrides_of({"TensorQuantOverrides={b: [{symmetric: true}]}"}), "b:as it is ");
}

TEST(FindOverridesTest, TheStrongerSourceCounts) {
  const std::string mixed = "MixedPrecisionTensor={QuantType.QUInt8: [w, b]}";
  EXPECT_EQ(overrides_of({mixed}), "") << "the switch is off";
  EXPECT_EQ(overrides_of({mixed, "SpecificTensorPrecision=true"}), "b:QuantType.QUInt8 w:QuantType.QUInt8 ");
  EXPECT_EQ(overrides_of({mixed, "SpecificTensorPrecision=true", kInt16Layer}),
            "b:QuantType.QUInt8 w:ExtendedQuantType.QInt16 ");
  EXPECT_EQ(overrides_of({mixed, "SpecificTensorPrecision=true", kInt16Layer,
                          "TensorQuantOverrides={w: [{quant_type: QuantType.QInt8}]}"}),
            "b:QuantType.QUInt8 w:QuantType.QInt8 ");
}

TEST(FindOverridesTest, UnknownNamesAreRefusedWithTheNearestOne) {
  EXPECT_EQ(overrides_of({"TensorQuantOverrides={prodct: [{symmetric: true}]}"}),
            "settings of single tensors: found prodct, no node or tensor of the model has this name, did you mean "
            "product?; quarkq inspect MODEL --nodes lists the names");
  NamedBench compat({"TensorQuantOverrides={prodct: [{symmetric: true}]}", "quarkq.compat=quark-0.13"});
  EXPECT_EQ(compat.found(), "");
  ASSERT_FALSE(compat.diagnostics.all().empty());
  EXPECT_EQ(compat.diagnostics.all().back().subject, "prodct");
  EXPECT_NE(compat.diagnostics.all().back().text.find("the entry has no effect"), std::string::npos);
  NamedBench by_node({"TensorQuantOverrides={product: [{symmetric: true}]}", "quarkq.compat=quark-0.13"});
  EXPECT_EQ(by_node.found(), "") << "in compat mode nodes mean no tensors";
}

TEST(NodesMeantTest, NamesComeBeforeLabelsAndTensors) {
  const ir::Model model = test::model_of(
      "g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> { [n] a = Relu (x) [a] b = Abs (a) [m] c = Mul (b, k) [n] "
      "y = "
      "Add (c, k) }");
  const auto meant = [&](const std::string& name, const std::vector<std::string>& sets = {}) {
    std::vector<std::string> ops;
    for (const ir::NodeId id : planning::nodes_meant(model.graph, name, test::settings_for("A8W8", sets)))
      ops.push_back(model.graph.node(id).op);
    return join(ops, " ");
  };
  EXPECT_EQ(meant("n"), "Relu Add") << "all of one name";
  EXPECT_EQ(meant("a"), "Abs") << "a node's name, not its input";
  EXPECT_EQ(meant("c"), "Mul");
  EXPECT_EQ(meant("k"), "Mul Add") << "a stored tensor means its readers";
  EXPECT_EQ(meant("x"), "Relu");
  EXPECT_EQ(meant("node m (Mul)"), "Mul");
  EXPECT_EQ(meant("node m (Add)"), "");
  EXPECT_EQ(meant(""), "");
  EXPECT_EQ(meant("c", {"quarkq.compat=quark-0.13"}), "");
  EXPECT_EQ(meant("m", {"quarkq.compat=quark-0.13"}), "Mul");
}

TEST(NodesToQuantizeTest, NamesThatNothingHasIncludeNothing) {
  const auto selected = [](const std::string& names) {
    NamedBench bench({"nodes_to_quantize=" + names, "quarkq.compat=quark-0.13"});
    EXPECT_TRUE(pipeline::run_pass(bench.context, select_nodes).ok());
    std::vector<std::string> found;
    for (const ir::NodeId id : bench.graph().order()) {
      if (bench.context.selection.selects(bench.graph().node(id))) found.push_back(bench.graph().node(id).name);
    }
    return join(found, " ");
  };
  EXPECT_EQ(selected("[]"), "mul product sum");
  EXPECT_EQ(selected("[nothing, product]"), "product");
  EXPECT_EQ(selected("[nothing]"), "") << "the reference quantizes the nodes of the list, which are none";
}

/// Nodes n0, n1, ... that each read one or two earlier values or the input.
ir::Model drawn_net(test::Draws& draws, int64_t count) {
  std::string nodes;
  const auto value = [&](int64_t before) {
    const int64_t chosen = draws.integer(0, before);
    return chosen == 0 ? std::string("x") : cat("v", chosen - 1);
  };
  for (int64_t i = 0; i < count; ++i) nodes += cat("[n", i, "] v", i, " = Add (", value(i), ", ", value(i), ") ");
  return test::model_of(cat("g (float[2] x) => (float[2] v", count - 1, ") { ", nodes, "}"));
}

/// Everything on a way from an end back to a start, and whether one of these ways reaches the input.
struct Between {
  std::set<std::string> names;
  bool is_open = false;
};

void walk_back(const ir::Graph& graph, const ir::Node& node, const std::set<std::string>& starts, Between& found) {
  if (!found.names.insert(node.name).second || starts.contains(node.name)) return;
  for (const ir::ValueId input : node.inputs) {
    const ir::Node* producer = graph.producer(input);
    if (producer == nullptr) {
      found.is_open = true;
    } else {
      walk_back(graph, *producer, starts, found);
    }
  }
}

TEST(SubgraphsOfRandomGraphsTest, AreTheWaysFromEndsToStarts) {
  test::Draws draws(21);
  int closed = 0, open = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t count = draws.integer(3, 9);
    const ir::Model model = drawn_net(draws, count);
    config::Selector selector{config::Selector::Kind::kSubgraph, "", {}, {}};
    for (int64_t i = draws.integer(1, 3); i-- > 0;) selector.starts.push_back(cat("n", draws.integer(0, count - 1)));
    for (int64_t i = draws.integer(1, 2); i-- > 0;) selector.ends.push_back(cat("n", draws.integer(0, count - 1)));
    const std::set<std::string> starts(selector.starts.begin(), selector.starts.end());
    Between wanted;
    for (const std::string& end : selector.ends) {
      for (const ir::NodeId id : model.graph.order()) {
        if (model.graph.node(id).name == end) walk_back(model.graph, model.graph.node(id), starts, wanted);
      }
    }
    wanted.names.insert(starts.begin(), starts.end());
    plan::NodeMarks marks(model.graph, /*by_name=*/false);
    const Status done = planning::mark_subgraph(model.graph, selector, "exclude", /*complete=*/true, marks);
    EXPECT_EQ(done.ok(), !wanted.is_open) << done.message();
    (wanted.is_open ? open : closed) += 1;
    std::set<std::string> marked;
    for (const ir::NodeId id : model.graph.order()) {
      if (marks.contains(model.graph.node(id))) marked.insert(model.graph.node(id).name);
    }
    EXPECT_EQ(marked, wanted.names) << ir::dump(model) << join(selector.starts, " ") << " to "
                                    << join(selector.ends, " ");
  }
  EXPECT_GT(std::min(open, closed), 20) << "both kinds were drawn";
}

TEST(SubgraphsOfRandomGraphsTest, AnOpenOneSaysWhichInputItReaches) {
  PassBench bench(test::model_of(kNamed),
                  test::settings_for("A8W8", {"subgraphs_to_exclude=[[[product], [sum, mul]]]"}));
  const Result<Changed> done = pipeline::run_pass(bench.context, select_nodes);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(
      done.status().message().find("the subgraph from product to sum, mul is open: it reaches the graph's input x "
                                   "without passing a start; add to the starts mul (Mul)"),
      std::string::npos)
      << done.status().message();
}

TEST(SelectorsOfPatternsTest, SomeMayMatchNothing) {
  const auto refusal = [](const std::string& set) {
    PassBench bench(test::model_of(kNamed), test::settings_for("A8W8", {set}));
    return pipeline::run_pass(bench.context, select_nodes).status().message();
  };
  EXPECT_EQ(refusal("nodes_to_exclude=[\"^mul.*\", \"^nothing.*\"]"), "") << "one of them matches";
  EXPECT_NE(
      refusal("nodes_to_exclude=[\"^a.*\", \"^b.*\"]").find("exclude: no node matches any of the 2 patterns given"),
      std::string::npos);
  EXPECT_NE(refusal("nodes_to_exclude=[\"^(.*\"]").find("exclude: pattern '^(.*' is malformed"), std::string::npos);
  EXPECT_NE(refusal("nodes_to_quantize=[produkt]")
                .find("nodes_to_quantize: found produkt, no node or tensor of the model has this name, did you mean "
                      "product?; quarkq inspect MODEL --nodes lists the names"),
            std::string::npos);
}

}  // namespace
}  // namespace quarkq::pass_tests
