// SPDX-License-Identifier: MIT
// assess(): types of models, verdicts of nodes, whole models.
#include "targets/assess.h"

#include <gtest/gtest.h>

#include <chrono>

#include "support/target_models.h"

namespace quarkq::targets {
namespace {

using test::QuantizedText;

TargetReport assessed_text(const QuantizedText& text, const std::string& output, const std::string& target) {
  return test::assessed(test::target_model(text.body(output)), target);
}

const TargetNode& node_of(const TargetReport& report, const std::string& op) {
  const auto found =
      std::find_if(report.nodes.begin(), report.nodes.end(), [&](const TargetNode& one) { return one.op == op; });
  EXPECT_NE(found, report.nodes.end()) << op;
  return *found;
}

void expect_adds_up(const TargetReport& report) {
  for (const TargetCounts* counts : {&report.counts, &report.unblocked, &report.unknown_runs}) {
    EXPECT_EQ(counts->total, counts->npu + counts->cpu + counts->qdq_cpu);
    EXPECT_LE(counts->regions_running, counts->regions);
    EXPECT_LE(counts->mac_share, 1 + 1e-9);
  }
  EXPECT_EQ(report.counts.total, report.unblocked.total);
  size_t verdicts = 0;
  for (const size_t count : report.verdicts) verdicts += count;
  EXPECT_EQ(verdicts, report.nodes.size());
  EXPECT_GE(report.unknown_runs.npu, report.unblocked.npu);
}

TEST(ModelTypeTest, FollowsScalesAndWidths) {
  const auto type_of = [](const std::string& from, const std::string& to) {
    QuantizedText text;
    std::string body = text.body(text.pair(text.conv(text.pair("x"))));
    if (!from.empty()) body.replace(body.find(from), from.size(), to);
    return test::assessed(test::target_model(body, {}, 21), "x2").model_type;
  };
  EXPECT_EQ(type_of("", ""), "xint8");
  EXPECT_EQ(type_of("0.25", "0.3"), "a8w8");
  EXPECT_EQ(test::assessed(test::target_model("g (float[4] x) => (float[4] y) { y = Relu(x) }"), "x2").model_type,
            "float");
}

TEST(ModelTypeTest, ActivationsOf16BitsAreA16W8) {
  const ir::Model model = test::target_model(R"(g (float[4] x) => (float[4] y) <float s = {0.3}, int16 z = {0}>
    { a = com.microsoft.QuantizeLinear (x, s, z) b = com.microsoft.DequantizeLinear (a, s, z) c = Relu(b)
      d = com.microsoft.QuantizeLinear (c, s, z) y = com.microsoft.DequantizeLinear (d, s, z) })",
                                             {"com.microsoft"});
  const TargetReport report = test::assessed(model, "x2");
  EXPECT_EQ(report.model_type, "a16w8");
  EXPECT_EQ(report.judged_as, "a16w8");
  expect_adds_up(report);
}

/// A chain of which the last node has 16 bits, with a Resize that has as many as its scale `s` or `t` says.
TargetReport assessed_mixed(const char* scale_of_resize) {
  const auto pair = [](const char* to, const char* from, const std::string& scale) {
    const std::string zero = scale == "s" ? "z" : "v";
    return cat(" ", to, "q = QuantizeLinear (", from, ", ", scale, ", ", zero, ") ", to, " = DequantizeLinear (", to,
               "q, ", scale, ", ", zero, ")");
  };
  const std::string own = scale_of_resize;
  return test::assessed(
      test::target_model(
          cat("g (float[1, 4, 8, 8] x) => (float[1, 4, 16, 16] y) <float s = {0.3}, int8 z = {0}, "
              "float t = {0.001}, int16 v = {0}, float[4] scales = {1, 1, 2, 2}> {",
              pair("a", "x", own),
              " r = Resize <mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\"> "
              "(a, , scales)",
              pair("b", "r", own), " c = MaxPool <kernel_shape = [1, 1]> (b)", pair("y", "c", "t"), " }"),
          {}, 21),
      "x2");
}

TEST(ModelTypeTest, OperatorsAreLookedUpByTheirOwnWidth) {
  const TargetReport narrow = assessed_mixed("s"), wide = assessed_mixed("t");
  for (const TargetReport* report : {&narrow, &wide}) {
    EXPECT_EQ(report->model_type, "a16w8");
    expect_adds_up(*report);
  }
  EXPECT_EQ(node_of(narrow, "Resize").verdict, NodeVerdict::kRuns) << "the table marks it for a8w8";
  EXPECT_EQ(node_of(wide, "Resize").verdict, NodeVerdict::kFallsBack);
  EXPECT_EQ(node_of(narrow, "MaxPool").verdict, NodeVerdict::kRuns);
}

TEST(ModelTypeTest, OneWithoutRowIsUnknown) {
  const ir::Model model = test::target_model(
      "g (float[4] x) => (float[4] y) { y = com.amd.quark.BFPQuantizeDequantize (x) }", {"com.amd.quark"});
  const TargetReport report = test::assessed(model, "x2");
  EXPECT_EQ(report.model_type, "other");
  EXPECT_EQ(report.verdict, "unknown");
  EXPECT_EQ(report.counts.npu, 0u);
}

TEST(AssessTest, AQuantizedModelRunsButForItsEnds) {
  QuantizedText text;
  const TargetReport report = assessed_text(text, text.pair(text.conv(text.pair(text.conv(text.pair("x"))))), "x2");
  EXPECT_EQ(report.verdict, "runs");
  EXPECT_EQ(report.counts.qdq_cpu, 2u);
  EXPECT_EQ(report.counts.cpu, 0u);
  EXPECT_EQ(report.counts.regions, 1u);
  EXPECT_EQ(report.counts.mac_share, 1);
  expect_adds_up(report);
}

TEST(AssessTest, UnknownIsNeverCountedAsPlaced) {
  QuantizedText text;
  const std::string value = text.pair(text.conv(text.pair("x")));
  const std::string unknown = text.pair(text.op(cat("Softplus (", value, ")")));
  const TargetReport report = assessed_text(text, text.pair(text.conv(unknown)), "x1");
  EXPECT_EQ(report.verdict, "unknown");
  EXPECT_EQ(node_of(report, "Softplus").verdict, NodeVerdict::kUnknown);
  EXPECT_FALSE(node_of(report, "Softplus").is_placed);
  EXPECT_EQ(report.counts.regions, 2u);
  EXPECT_EQ(report.unknown_runs.regions, 1u);
  EXPECT_EQ(report.reasons[node_of(report, "Softplus").reason].source, "none");
  expect_adds_up(report);
}

TEST(AssessTest, WhatIsJoinedIsPlacedTogether) {
  QuantizedText text;
  text.constants += ", float k = {1.0001220703125}";
  const std::string value = text.pair(text.conv(text.pair("x")));
  const std::string sigmoid = text.op(cat("HardSigmoid <alpha = 0.16666667> (", value, ")"));
  const std::string scaled = text.pair(text.op(cat("Mul (", sigmoid, ", k)")));
  const TargetReport report = assessed_text(text, text.pair(text.conv(scaled)), "x2");
  EXPECT_EQ(node_of(report, "Mul").verdict, NodeVerdict::kFallsBack);
  EXPECT_EQ(report.reasons[node_of(report, "Mul").reason].remedy, "keep-sigmoid");
  EXPECT_EQ(report.counts.cpu, 2u);
  EXPECT_EQ(report.counts.qdq_cpu, 2u + 2);  // its DQ and its Q
  EXPECT_EQ(report.counts.regions, 2u);
  expect_adds_up(report);
  EXPECT_EQ(assessed_text(text, text.pair(text.conv(scaled)), "x1").counts.cpu, 0u);
}

TEST(AssessTest, AFloatTailIsOneOperatorOnTheCpu) {
  QuantizedText text;
  const TargetReport report =
      assessed_text(text, text.op(cat("Sigmoid (", text.pair(text.conv(text.pair("x"))), ")")), "x2");
  EXPECT_EQ(report.verdict, "runs-partly");
  EXPECT_EQ(report.counts.cpu, 1u);
  EXPECT_EQ(report.counts.qdq_cpu, 2u);
  EXPECT_EQ(report.counts.regions, 1u);
  EXPECT_EQ(report.fallbacks.size(), 1u);
}

TEST(AssessTest, AFloatModelIsJudgedAsIfQuantized) {
  const ir::Model model =
      test::target_model(R"(g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y) <float[1, 1, 1, 1] w = {1}>
    { a = Conv <strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], kernel_shape = [1, 1], group = 1> (x, w) b = Relu(a)
      y = Softplus(b) })");
  const TargetReport report = test::assessed(model, "x1");
  EXPECT_EQ(report.model_type, "float");
  EXPECT_EQ(report.judged_as, "xint8");
  EXPECT_NE(test::find_rule(report, "not-quantized"), nullptr);
  EXPECT_EQ(test::find_rule(report, "float-operator"), nullptr);
  EXPECT_EQ(report.counts.npu, 2u);
  EXPECT_EQ(report.counts.qdq_cpu, 0u);
  expect_adds_up(report);
}

TEST(AssessTest, FloatPartsAreJudgedByTheirOwnColumn) {
  QuantizedText text;
  const std::string value = text.pair(text.conv(text.pair("x")));
  const std::string tail = text.op(cat("Selu (", value, ")"));  // gen2: bf16 yes, vint8 no
  const TargetReport mixed = assessed_text(text, tail, "gen2-mixed");
  EXPECT_EQ(node_of(mixed, "Selu").verdict, NodeVerdict::kRuns);
  EXPECT_NE(test::find_rule(mixed, "float-operator", "note"), nullptr);
  EXPECT_EQ(mixed.counts.regions, 1u);
  const TargetReport quantized = assessed_text(text, text.pair(tail), "gen2-mixed");
  EXPECT_EQ(node_of(quantized, "Selu").verdict, NodeVerdict::kFallsBack);
}

TEST(AssessTest, IslandsAreCounted) {
  QuantizedText text;
  std::string value = text.pair("x");
  for (int i = 0; i < 4; ++i) {
    std::string part = value;
    for (int k = 0; k < 5; ++k) part = text.op(cat("Abs (", part, ")"));
    value = text.pair(text.conv(text.pair(part)));
  }
  const TargetReport report = assessed_text(text, value, "gen2-mixed");
  const TargetFinding* islands = test::find_rule(report, "islands");
  ASSERT_NE(islands, nullptr);
  EXPECT_NE(islands->reason.text.find("4 separate"), std::string::npos) << islands->reason.text;
}

TEST(AssessTest, NodesOfOneOperatorAndReasonAreFolded) {
  const ir::Model model = test::target_model(
      "g (float[1, 4] x) => (float[1, 4] y) { a = Softplus(x) b = Softplus(a) c = Softplus(b) y = Sigmoid(c) }");
  const TargetReport report = test::assessed(model, "x1");
  ASSERT_EQ(report.fallbacks.size(), 2u);
  EXPECT_EQ(report.fallbacks[0].op, "Softplus");
  EXPECT_EQ(report.fallbacks[0].count, 3u);
  EXPECT_EQ(report.fallbacks[0].first, "a");
  EXPECT_EQ(report.fallbacks[1].verdict, NodeVerdict::kFallsBack);  // Sigmoid in XINT8
}

TEST(AssessTest, OnTheCpuEverythingRuns) {
  QuantizedText text;
  const TargetReport report =
      assessed_text(text, text.op(cat("Softplus (", text.pair(text.conv(text.pair("x"))), ")")), "ort-cpu");
  EXPECT_EQ(report.verdict, "runs");
  EXPECT_EQ(report.counts.npu, report.counts.total);
}

TEST(AssessTest, ModelsWithoutNodesOrInputsAreJudged) {
  for (const std::string& target : config::target_names()) {
    expect_adds_up(test::assessed(test::target_model("g (float[4] x) => (float[4] x) { }"), target));
    expect_adds_up(
        test::assessed(test::target_model("g () => (float[4] y) { y = RandomNormal <shape = [4]> () }"), target));
    expect_adds_up(test::assessed(test::target_model("g (float[N] x) => (float[M] y) { y = Some(x) }"), target));
  }
}

TEST(AssessTest, TwoThousandNodesTakeLessThanASecond) {
  QuantizedText text;
  std::string value = text.pair("x");
  for (int i = 0; i < 400; ++i) {
    value = text.conv(value);
    value = text.pair(i % 3 == 0 ? text.op(cat("Sigmoid (", text.pair(value), ")")) : value);
  }
  const ir::Model model = test::target_model(text.body(value));
  ASSERT_GT(model.graph.order().size(), 2000u);
  const auto start = std::chrono::steady_clock::now();
  const TargetReport report = test::assessed(model, "x2");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 1.0);
  EXPECT_EQ(report.counts.regions, 134u);  // Sigmoid is not marked for XINT8; the last of 134 ends the model
  expect_adds_up(report);
}

}  // namespace
}  // namespace quarkq::targets
