// SPDX-License-Identifier: MIT
// What a compiler reported against what was predicted, and the facts that follow.
#include <gtest/gtest.h>

#include "config/targets/target.h"
#include "support/reported_models.h"

namespace quarkq::targets {
namespace {

using test::compared;
using test::QuantizedText;
using test::reported_of;

/// Conv, Sigmoid, Conv with Q/DQ around each; x1 runs all of it but the Softmax, if there is one.
ir::Model network(const char* middle = "Sigmoid") {
  QuantizedText text;
  std::string value = text.pair(text.conv(text.pair("x")));
  value = text.pair(text.op(cat(middle, " (", value, ")")));
  return test::target_model(text.body(text.pair(text.conv(value))));
}

const PlacementDifference* find_difference(const EpReport& report, const std::string& op) {
  const auto found = std::ranges::find(report.differences, op, &PlacementDifference::op);
  return found == report.differences.end() ? nullptr : &*found;
}

std::string output_of(const ir::Model& model, const std::string& op) {
  for (const ir::NodeId id : model.graph.order()) {
    if (model.graph.node(id).op == op) return model.graph.value(model.graph.node(id).output(0)).name;
  }
  return "";
}

TEST(ComparePlacementTest, FullAgreement) {
  const ir::Model model = network("Relu");
  const EpReport report = compared(model, "x1", reported_of(model));
  EXPECT_EQ(report.agreement(), 1.0);
  EXPECT_EQ(report.compared, 3u);
  EXPECT_TRUE(report.differences.empty());
  EXPECT_TRUE(report.notes.empty());
  EXPECT_EQ(report.real.npu, report.predicted.counts.npu);
  EXPECT_EQ(report.real.total, report.predicted.counts.total);
  EXPECT_EQ(report.real.qdq_cpu, 2u);
  EXPECT_EQ(report.real.npu_share(), 1.0);
  EXPECT_EQ(report.regions.size(), 1u);
}

TEST(ComparePlacementTest, AFallbackNamesTheRowThatPredictedOtherwise) {
  const ir::Model model = network("Relu");
  Reported reported = reported_of(model, {output_of(model, "Relu")});
  reported.reasons[output_of(model, "Relu")] = "doesn't supported by target";
  const EpReport report = compared(model, "x1", reported);
  const PlacementDifference* found = find_difference(report, "Relu");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->outcome, PlacementOutcome::kFellBack);
  EXPECT_EQ(found->reason.rule, "operator");
  EXPECT_EQ(found->reason.grade, 'A');
  EXPECT_NE(found->text.find("RAI/ops_support.rst"), std::string::npos) << found->text;
  EXPECT_EQ(found->compiler_text, "doesn't supported by target");
  EXPECT_EQ(report.compared, 3u);
  EXPECT_EQ(report.agreeing, 2u);
  EXPECT_EQ(report.regions.size(), 2u);
}

TEST(ComparePlacementTest, WhatRanAgainstAVerdictNamesTheRule) {
  QuantizedText text;
  text.constants += ", int64[5] five = {1, 2, 2, 8, 8}, int64[4] four = {1, 4, 8, 8}";
  std::string value = text.pair(text.conv(text.pair("x")));
  value = text.pair(text.op(cat("Reshape (", value, ", five)")));
  value = text.pair(text.op(cat("Reshape (", value, ", four)")));
  const ir::Model model = test::target_model(text.body(value));
  const EpReport report = compared(model, "x1", reported_of(model));
  const PlacementDifference* found = find_difference(report, "Reshape");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->outcome, PlacementOutcome::kRan);
  EXPECT_EQ(found->reason.rule, "rank-above");
  EXPECT_EQ(found->count, 2u);
}

TEST(ComparePlacementTest, UnknownNodesBecomeKnown) {
  const ir::Model model = network("Softmax <axis = 1>");
  const EpReport report = compared(model, "x1", reported_of(model));
  EXPECT_EQ(report.now_known, 1u);
  EXPECT_EQ(report.agreement(), 1.0);
  const PlacementDifference* found = find_difference(report, "Softmax");
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->is_real);
}

TEST(ComparePlacementTest, NothingPlacedIsNotBlamedOnOperators) {
  const ir::Model model = network("Relu");
  const EpReport report = compared(model, "x1", reported_of(model, {}, "CPU"));
  EXPECT_EQ(report.real.npu, 0u);
  EXPECT_EQ(report.real.npu_share(), 0.0);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes[0].find("target-options x1"), std::string::npos) << report.notes[0];
  EXPECT_TRUE(learned_facts(report, config::load_target("x1").value(), "here").empty());
}

TEST(ComparePlacementTest, ABlockedModelThatRanNamesTheBlocker) {
  const ir::Model model = test::target_model(
      "g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) <float[4, 4, 1, 1] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, "
      "0, 0, 1}> { a = Conv (x, w) y = Conv (a, w) }");
  const EpReport report = compared(model, "x2", reported_of(model));
  ASSERT_TRUE(report.predicted.is_blocked);
  ASSERT_EQ(report.differences.size(), 1u);
  EXPECT_EQ(report.differences[0].reason.rule, "conv-implicit-attributes");
  EXPECT_EQ(report.differences[0].count, 2u);
}

TEST(ComparePlacementTest, AReportOfAnotherModelIsRejected) {
  const ir::Model model = network("Relu");
  Reported other = reported_of(test::target_model(
      "g (float[4] in) => (float[4] out) { h = Abs(in) i = Neg(h) j = Abs(i) k = Neg(j) out = Exp(k) }"));
  other.compiled_model = "other.onnx";
  const Result<EpReport> report = compare_placement(model, test::assessed(model, "x1"), other);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kBadData);
  for (const char* words : {"report.json", "another model", "other.onnx", "0 of its 5 nodes", "at least half"})
    EXPECT_NE(report.status().message().find(words), std::string::npos) << report.status().message();
}

TEST(ComparePlacementTest, FusedOperatorsAreAbsentAndCutNothing) {
  const ir::Model model = network("Relu");
  Reported reported = reported_of(model);
  std::erase_if(reported.nodes, [](const ReportedNode& entry) { return entry.op == "Relu"; });
  const EpReport report = compared(model, "x1", reported);
  EXPECT_EQ(report.absent, 1u);
  EXPECT_EQ(report.compared, 2u);
  EXPECT_EQ(report.regions.size(), 1u);
}

TEST(ComparePlacementTest, OldReportsCountQdqAsCpu) {
  const ir::Model model = network("Relu");
  Reported reported = reported_of(model, {}, "IPU");
  for (ReportedNode& entry : reported.nodes) entry.device = entry.device == "VITIS_EP_CPU" ? "CPU" : entry.device;
  reported.operators["CPU"] = reported.operators["VITIS_EP_CPU"];
  reported.operators.erase("VITIS_EP_CPU");
  const EpReport report = compared(model, "x1", reported);
  EXPECT_EQ(report.real.cpu, 2u);
  EXPECT_EQ(report.real.qdq_cpu, 0u);
  EXPECT_EQ(report.real.npu_share(), 1.0);
  EXPECT_EQ(report.agreement(), 1.0);
}

TEST(ComparePlacementTest, AFloatModelHasNoEdges) {
  const ir::Model model =
      test::target_model("g (float[1, 4] x) => (float[1, 4] y) { a = Relu(x) b = Abs(a) y = Neg(b) }");
  Reported reported = reported_of(model, {"b"}, "VAIML");
  reported.subgraphs = {{"VAIML", 2}};
  const EpReport report = compared(model, "vaiml-bf16", reported);
  EXPECT_NEAR(report.real.npu_share(), 2.0 / 3, 1e-12);
  EXPECT_EQ(report.real.regions, 2u);
  EXPECT_EQ(report.regions.size(), 2u);
  EXPECT_EQ(report.nodes[0].region, 0);
  EXPECT_EQ(report.nodes[1].region, -1);
  EXPECT_EQ(report.nodes[2].region, 1);
}

TEST(ComparePlacementTest, EverythingOnTheNpuIsAShareOfOne) {
  const ir::Model model = network("Relu");
  Reported reported = reported_of(model);
  for (ReportedNode& entry : reported.nodes) entry.device = "NPU";
  reported.operators = {{"NPU", reported.nodes.size()}};
  EXPECT_EQ(compared(model, "x1", reported).real.npu_share(), 1.0);
}

TEST(ComparePlacementTest, CountsAloneGiveAShare) {
  const ir::Model model = network("Relu");
  Reported reported;
  reported.files = {"compile.log"};
  reported.operators = {{"NPU", 15}, {"VITIS_EP_CPU", 2}, {"CPU", 1}};
  reported.subgraphs = {{"NPU", 2}};
  reported.running = 1;
  const EpReport report = compared(model, "x1", reported);
  EXPECT_FALSE(report.has_nodes);
  EXPECT_EQ(report.real.total, 18u);
  EXPECT_EQ(report.real.cpu, 1u);
  EXPECT_EQ(report.real.regions, 2u);
  EXPECT_EQ(report.real.regions_running, 1u);
  EXPECT_NEAR(report.real.npu_share(), 15.0 / 16, 1e-12);
}

TEST(ComparePlacementTest, PartitionFilesListNodesByName) {
  const ir::Model model = network("Relu");
  Reported reported;
  reported.files = {"context.json"};
  reported.lists_npu_only = true;
  for (const ReportedNode& entry : reported_of(model).nodes) {
    if (entry.device == "NPU" && entry.op != "Relu") reported.placed_on[entry.outputs[0]] = "DPU";
  }
  const EpReport report = compared(model, "x1", reported);
  ASSERT_EQ(report.differences.size(), 1u);
  EXPECT_EQ(report.differences[0].op, "Relu");
  EXPECT_EQ(report.real.npu, report.predicted.counts.npu - 1);
}

/// Returns the target after learning from the report, written as a file and read back.
Result<config::Target> learned(const EpReport& report, const std::string& target) {
  const config::LearnedFacts facts = learned_facts(report, config::load_target(target).value(), "net.onnx on STX");
  QQ_TRY(const std::string text, config::learned_file(facts, "learned.yaml"));
  return config::parse_target(text, "learned.yaml");
}

void expect_agreement_after_learning(const ir::Model& model, const std::string& target, const Reported& reported) {
  const EpReport before = compared(model, target, reported);
  EXPECT_FALSE(before.differences.empty());
  const Result<config::Target> better = learned(before, target);
  ASSERT_TRUE(better.ok()) << better.status().message();
  Result<TargetReport> predicted = assess(model, better.value());
  ASSERT_TRUE(predicted.ok());
  const Result<EpReport> after = compare_placement(model, std::move(predicted).value(), reported);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after.value().agreement(), 1.0);
  EXPECT_EQ(after.value().now_known, 0u);
}

TEST(LearnedFactsTest, AnOperatorThatFellBackIsLearned) {
  const ir::Model model = network("Relu");
  expect_agreement_after_learning(model, "x1", reported_of(model, {output_of(model, "Relu")}));
}

TEST(LearnedFactsTest, AnUnknownOperatorIsLearned) {
  const ir::Model model = network("Softmax <axis = 1>");
  expect_agreement_after_learning(model, "x1", reported_of(model));
  expect_agreement_after_learning(model, "x1", reported_of(model, {output_of(model, "Softmax")}));
}

TEST(LearnedFactsTest, ARuleThatDoesNotHoldBecomesANote) {
  const ir::Model model = test::target_model(
      "g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) <float[4, 4, 1, 1] w = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, "
      "0, 0, 1}> { a = Conv (x, w) y = Conv (a, w) }");
  expect_agreement_after_learning(model, "x2", reported_of(model));
}

TEST(LearnedFactsTest, ARefusedTypeThatRanIsLearned) {
  QuantizedText text;
  std::string body = text.body(text.pair(text.conv(text.pair(text.conv(text.pair("x"))))));
  body.replace(body.find("0.25"), 4, "0.26");
  const ir::Model model = test::target_model(body);
  expect_agreement_after_learning(model, "x1", reported_of(model));
}

TEST(LearnedFactsTest, RowsOfTheRuleForOtherTypesAreKept) {
  QuantizedText text;
  text.constants += ", float low = {0}, float high = {6}, float t = {0.26}";
  std::string value = text.depthwise(text.pair(text.conv(text.pair("x"))));
  value = text.pair(text.op(cat("Clip (", value, ", low, high)")));
  std::string body = text.body(value);
  body.replace(body.find("0.25"), 4, "0.26");  // a8w8
  const ir::Model model = test::target_model(body);
  const Result<config::Target> better = learned(compared(model, "x2", reported_of(model)), "x2");
  ASSERT_TRUE(better.ok()) << better.status().message();
  std::string rows;
  for (const config::RuleRow& rule : better.value().rules) {
    if (rule.rule == "depthwise-then-clip")
      rows += cat(name(rule.effect), " ", join(rule.columns, ","), " ", grade_name(rule.evidence.grade), "\n");
  }
  EXPECT_EQ(rows, "falls-back xint8 D\nnote a8w8 seen\nwrong-results xint8 B\n");
}

TEST(LearnedFactsTest, ARowCountsWithTheOperatorsThatItTakesAlong) {
  // Three Relus of their own fell back. Each pair of Conv and Relu that ran would become wrong as a whole: 3 nodes
  // against 2 with one pair, 3 against 4 with two.
  const auto learned_rows_with = [](int pairs) {
    QuantizedText text;
    std::string value = text.pair("x");
    std::set<std::string> on_cpu;
    for (int i = 0; i < 3; ++i) {
      const std::string alone = text.op(cat("Relu (", value, ")"));
      on_cpu.insert(alone);
      value = text.pair(alone);
    }
    for (int i = 0; i < pairs; ++i) value = text.pair(text.op(cat("Relu (", text.conv(value), ")")));
    const ir::Model model = test::target_model(text.body(value));
    const EpReport report = compared(model, "x1", reported_of(model, on_cpu));
    return learned_facts(report, config::load_target("x1").value(), "here").operators.size();
  };
  EXPECT_EQ(learned_rows_with(1), 1u);
  EXPECT_EQ(learned_rows_with(2), 0u);
}

TEST(LearnedFactsTest, WhatIsRightTeachesNothing) {
  const ir::Model model = network("Relu");
  const config::Target target = config::load_target("x1").value();
  const config::LearnedFacts facts = learned_facts(compared(model, "x1", reported_of(model)), target, "here");
  EXPECT_TRUE(facts.empty());
  EXPECT_EQ(facts.target, "x1");
  const Result<std::string> text = config::learned_file(facts, "learned.yaml");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_TRUE(config::parse_target(text.value(), "learned.yaml").ok()) << text.value();
}

TEST(LearnedFactsTest, AMinorityDoesNotChangeARow) {
  QuantizedText text;
  std::string value = text.pair("x");
  for (int i = 0; i < 3; ++i) value = text.pair(text.conv(value));
  const ir::Model model = test::target_model(text.body(value));
  const EpReport report = compared(model, "x1", reported_of(model, {output_of(model, "Conv")}));
  EXPECT_EQ(report.differences.size(), 1u);
  EXPECT_TRUE(learned_facts(report, config::load_target("x1").value(), "here").empty());
}

}  // namespace
}  // namespace quarkq::targets
