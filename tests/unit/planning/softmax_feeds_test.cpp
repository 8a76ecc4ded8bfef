// SPDX-License-Identifier: MIT
// What the planner reads off a graph before it measures: tensors that only Softmax looks at, whose range stands for
// whose, which activations NPUs compute with their producer, and which Clips are gates.
#include "ir/graph_analysis.h"

#include "pass/gate_clip.h"
#include "planning/calibrate/measured_ranges.h"
#include "planning/mark/annotated.h"
#include "support/pass_support.h"

namespace quarkq::planning {
namespace {

/// Names of the values that feed nothing but Softmax.
std::string only_feeds(const std::string& nodes, const std::string& outputs = "float[A, B] y") {
  test::PassBench bench(cat("g (float[2, 3] x, bool[2, 3] c) => (", outputs,
                            ") <float[3] k = {1, 2, 3}, int64[2] s = {3, 2}, "
                            "int64[1] i = {0}> { ",
                            nodes, " }"));
  const std::vector<bool> found = ir::feeds_softmax_only(bench.graph());
  std::vector<std::string> names;
  for (size_t i = 0; i < found.size(); ++i) {
    const ir::Value& value = bench.graph().value({static_cast<int32_t>(i)});
    if (found[i] && bench.graph().is_alive(value.id)) names.push_back(value.name);
  }
  return join(names, " ");
}

TEST(SoftmaxFeedsTest, FollowsWhatMovesAndAdds) {
  struct Row {
    const char *nodes, *feeds;
  };
  const Row rows[] = {
      {"y = Softmax (x)", "x"},
      {"a = Sigmoid (x) y = Softmax (a)", "a"},
      {"a = Sigmoid (x) b = Add (a, k) y = Softmax (b)", "a b k"},
      {"a = Sigmoid (x) b = Sub (a, k) y = Softmax (b)", "a b"},
      {"a = Sigmoid (x) b = Sub (k, a) y = Softmax (b)", "k b"},
      {"a = Sigmoid (x) b = Mul (a, k) y = Softmax (b)", "b"},
      {"a = Sigmoid (x) b = Reshape (a, s) y = Softmax (b)", "a b"},
      {"a = Sigmoid (x) b = Transpose (a) d = Identity (b) y = Softmax (d)", "a b d"},
      {"a = Sigmoid (x) b = Where (c, a, k) y = Softmax (b)", "a b k"},
      {"a = Sigmoid (x) b = Concat <axis = 0> (a, x) y = Softmax (b)", "a b"},
      {"a = Sigmoid (x) b = Gather (a, i) y = Softmax (b)", "a b"},
      {"a = Sigmoid (x) b = Softmax (a) d = Relu (a) y = Add (b, d)", ""},
      {"a = Sigmoid (x) b = Add (a, k) d = Softmax (b) y = Add (d, b)", ""},
      {"a = Sigmoid (x) y = LogSoftmax (a)", ""},
      {"a = Sigmoid (x) b = Softmax (a) d = Softmax (a) y = Mul (b, d)", "a"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> found = split(only_feeds(row.nodes), ' '), wanted = split(row.feeds, ' ');
    std::sort(found.begin(), found.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(found, wanted) << row.nodes;
  }
  EXPECT_EQ(only_feeds("a = Sigmoid (x) y = Softmax (a)", "float[A, B] y, float[C, D] a"), "") << "an output is seen";
}

TEST(SoftmaxFeedsTest, KindsByOperatorAndInput) {
  struct Row {
    const char *op, *domain;
    int32_t input;
    ir::FeedKind kind;
  };
  const Row rows[] = {{"Softmax", "", 0, ir::FeedKind::kSoftmax}, {"Softmax", "com.microsoft", 0, ir::FeedKind::kNone},
                      {"Add", "", 0, ir::FeedKind::kAdds},        {"Add", "", 1, ir::FeedKind::kAdds},
                      {"Sub", "", 0, ir::FeedKind::kAdds},        {"Sub", "", 1, ir::FeedKind::kNone},
                      {"Where", "", 0, ir::FeedKind::kNone},      {"Where", "", 1, ir::FeedKind::kMoves},
                      {"Where", "", 2, ir::FeedKind::kMoves},     {"Reshape", "", 0, ir::FeedKind::kMoves},
                      {"Reshape", "", 1, ir::FeedKind::kNone},    {"Gather", "", 1, ir::FeedKind::kNone},
                      {"Concat", "", 31, ir::FeedKind::kMoves},   {"Concat", "", 32, ir::FeedKind::kNone},
                      {"Slice", "", 2, ir::FeedKind::kNone},      {"Mul", "", 0, ir::FeedKind::kNone},
                      {"Max", "", 1, ir::FeedKind::kMoves},       {"Cast", "", 0, ir::FeedKind::kMoves}};
  for (const Row& row : rows) {
    ir::Node node;
    node.op = row.op;
    node.domain = row.domain;
    EXPECT_EQ(ir::feed_kind(ir::Graph(), node, row.input), row.kind) << row.op << " " << row.input;
  }
}

TEST(SoftmaxFeedsTest, PositiveConstantsScale) {
  const auto factor_of = [](const std::string& op, const std::string& constant) {
    const ir::Model model = test::model_of(cat("g (float[2, 3] x) => (float[2, 3] y) <float c = {", constant,
                                               "}> { m = ", op, " (x, c) y = Softmax (m) }"));
    const ir::Node& node = model.graph.node(model.graph.order()[0]);
    const bool is_fed = ir::feed_kind(model.graph, node, 0) == ir::FeedKind::kScales;
    EXPECT_EQ(ir::feeds_softmax_only(model.graph)[static_cast<size_t>(node.input(0).index)], is_fed) << op << constant;
    return is_fed ? ir::feed_factor(model.graph, node, 0) : 0;
  };
  EXPECT_EQ(factor_of("Mul", "0.5"), 0.5f);
  EXPECT_EQ(factor_of("Div", "8.0"), 0.125f);
  for (const char* constant : {"-1.0", "0.0"}) EXPECT_EQ(factor_of("Mul", constant), 0) << constant;
}

TEST(SoftmaxFeedsTest, SubtractedMasksAreFound) {
  const ir::Model model =
      test::model_of("g (float[2, 3] x, float[2, 3] mask) => (float[2, 3] y) { m = Sub (x, mask) y = Softmax (m) }");
  const std::vector<bool> fed = ir::feeds_softmax_only(model.graph),
                          subtracted = ir::subtracted_before_softmax(model.graph, fed);
  const auto index = [&](const char* name) { return static_cast<size_t>(model.graph.find(name).index); };
  EXPECT_TRUE(fed[index("x")] && !subtracted[index("x")]);
  EXPECT_TRUE(!fed[index("mask")] && subtracted[index("mask")]);
}

/// "c<-y u": the range of c is read from y, u has a range of one.
std::string sources(const std::string& nodes, const std::vector<std::string>& sets = {}) {
  test::PassBench bench(
      test::model_of(cat("g (float[2, 3] x) => (float[A, B] y) <float l = {0}, int64[2] s = {3, 2}> { ", nodes, " }")),
      test::settings_for("A8W8", sets));
  bench.run(select_nodes);
  pass::PlanContext context = bench.context.plan_context();
  const RangeSources found = find_range_sources(context);
  std::vector<std::string> parts;
  for (size_t i = 0; i < found.source.size(); ++i) {
    const ir::Value& value = bench.graph().value({static_cast<int32_t>(i)});
    if (found.source[i] != value.id) parts.push_back(value.name + "<-" + bench.graph().value(found.source[i]).name);
    if (found.unit[i]) parts.push_back("[0,1]" + value.name);
  }
  return join(parts, " ");
}

TEST(SoftmaxFeedsTest, RangesAreReadBehindRelusAndClips) {
  EXPECT_EQ(sources("a = Sigmoid (x) y = Relu (a)"), "a<-y");
  EXPECT_EQ(sources("a = Sigmoid (x) y = Clip (a, l)"), "a<-y");
  EXPECT_EQ(sources("a = Sigmoid (x) y = LeakyRelu (a)"), "");
  EXPECT_EQ(sources("a = Sigmoid (x) b = Relu (a) y = Add (a, b)"), "") << "somebody else reads it";
  EXPECT_EQ(sources("y = Softmax (x)"), "[0,1]y");
  EXPECT_EQ(sources("a = Softmax (x) y = Relu (a)"), "a<-y") << "in order: the Relu comes last";
  EXPECT_EQ(sources("a = Sigmoid (x) y = Relu (a)", {"layer_type_config=[{op_types: [Relu], config: null}]"}), "");
  EXPECT_EQ(sources("a = Softmax (x) y = Neg (a)", {"layer_type_config=[{op_types: [Softmax], config: null}]"}), "");
  EXPECT_EQ(sources("a = Sigmoid (x) y = Reshape (a, s)", {"CalibPassthroughOpTypes=[Reshape]"}), "y<-a");
}

/// Names of the tensors that calibration observes.
std::string measured(const std::string& nodes, const std::vector<std::string>& sets = {}) {
  test::PassBench bench(
      test::model_of(cat("g (float[2, 3] x) => (float[A, B] y) <int64[2] s = {3, 2}> { ", nodes, " }")),
      test::settings_for("A8W8", sets));
  for (const pass::PassInfo& pass : pipeline::all_passes()) {
    if (pass.phase >= pass::Phase::kCalibrate) break;
    if (pass.enabled(bench.settings)) bench.run(pass.run);
  }
  pass::PlanContext context = bench.context.plan_context();
  std::vector<std::string> names;
  for (const ir::ValueId id : tensors_to_measure(context, find_range_sources(context)))
    names.push_back(bench.graph().value(id).name);
  std::sort(names.begin(), names.end());
  return join(names, " ");
}

TEST(SoftmaxFeedsTest, OnlyTensorsWhoseRangeIsReadAreMeasured) {
  EXPECT_EQ(measured("a = Sigmoid (x) y = Tanh (a)"), "a x y");
  EXPECT_EQ(measured("a = Sigmoid (x) y = Relu (a)"), "x y");
  EXPECT_EQ(measured("a = Sigmoid (x) b = Reshape (a, s) y = Tanh (b)"), "a x y") << "a view shares its input's";
  EXPECT_EQ(measured("a = Sigmoid (x) y = Relu (a)", {"quarkq.compat=quark-0.13"}), "a x y") << "one failure moves all";
}

TEST(SoftmaxFeedsTest, NpuClipsAreThoseOfReluSixAndOne) {
  struct Row {
    const char* nodes;
    int opset;
    bool expected;
  };
  const Row rows[] = {{"y = Clip (x, zero, six)", 17, true},
                      {"y = Clip (x, zero, one)", 17, true},
                      {"y = Clip (x, one, six)", 17, false},
                      {"y = Clip (x, zero)", 17, false},
                      {"y = Clip (x, , six)", 17, false},
                      {"y = Clip (x, zero, two)", 17, false},
                      {"y = Clip (x)", 17, false},
                      {"y = Clip <min = 0.0, max = 6.0> (x)", 6, false},
                      {"n = Neg (zero) y = Clip (x, n, six)", 17, false}};
  for (const Row& row : rows) {
    test::PassBench bench(
        cat("g (float[2] x) => (float[2] y) <float zero = {0}, float one = {1}, float two = {2}, float[1] six = "
            "{6}> { ",
            row.nodes, " }"),
        row.opset);
    EXPECT_EQ(is_npu_clip(bench.graph(), bench.node("Clip")), row.expected) << row.nodes;
  }
}

TEST(SoftmaxFeedsTest, EachOptionAddsItsOperator) {
  struct Row {
    const char *option, *op;
    bool is_producer;
  };
  for (const Row& row : {Row{"RemoveQDQConvRelu", "Relu", false},
                         {"RemoveQDQConvClip", "Clip", false},
                         {"RemoveQDQConvLeakyRelu", "LeakyRelu", false},
                         {"RemoveQDQConvPRelu", "PRelu", false},
                         {"RemoveQDQConvGelu", "Gelu", false},
                         {"RemoveQDQInstanceNorm", "InstanceNormalization", true}}) {
    for (const bool on : {false, true}) {
      const config::Settings settings = test::settings_for("A8W8", {cat(row.option, "=", on ? "true" : "false")});
      const OpTypes types = row.is_producer ? annotated_producers(settings) : removable_activations(settings);
      EXPECT_EQ(types.contains(row.op), on) << row.option;
    }
  }
}

TEST(SoftmaxFeedsTest, ClipsOfSpelledOutGatesAreFound) {
  struct Row {
    const char* nodes;
    bool expected;
  };
  const Row rows[] = {
      {"y = Clip (x, low, six)", false},
      {"a = Add (x, three) y = Clip (a, low, six)", true},
      {"a = Add (three, x) y = Clip (a, low, six)", true},
      {"a = Add (x, x) y = Clip (a, low, six)", false},
      {"c = Clip (x, low, six) y = Mul (c, x)", true},
      {"c = Clip (x, low, six) y = Mul (c, three)", false},
      {"c = Clip (x, low, six) d = Div (c, six) y = Mul (d, x)", true},
      {"c = Clip (x, low, six) d = Div (six, c) y = Mul (d, x)", false},
      {"c = Clip (x, low, six) d = Mul (three, c) y = Mul (x, d)", true},
      {"c = Clip (x, low, six) r = Relu (c) y = Mul (r, x)", false},
      {"q = QuantizeLinear (x, three, z) d = DequantizeLinear (q, three, z) a = Add (d, three) y = Clip (a, low, six)",
       true},
      {"c = Clip (x, low, six) q = QuantizeLinear (c, three, z) d = DequantizeLinear (q, three, z) y = Mul (d, x)",
       true},
  };
  for (const Row& row : rows) {
    test::PassBench bench(
        cat("g (float[4] x) => (float[4] y) <float low = {0}, float six = {6}, float three = {3}, int8 z = {0}> { ",
            row.nodes, " }"));
    EXPECT_EQ(pass::is_gate(bench.graph(), bench.node("Clip")), row.expected) << row.nodes;
  }
}

}  // namespace
}  // namespace quarkq::planning
