// SPDX-License-Identifier: MIT
// check_ep_report(): files of a compiler and a model file in; report, page and learned target out.
#include "quarkq/ep_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/parse_text.h"
#include "onnx_io/save.h"
#include "support/reported_models.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

using nlohmann::json;

/// A saved XINT8 model of Conv, MaxPool and Conv, and the report of a compiler about it.
struct Compiled {
  test::TempFolder folder;
  ir::Model model;
  std::string path, file;

  explicit Compiled(const std::set<std::string>& ops_on_cpu = {}) {
    test::QuantizedText text;
    std::string value = text.pair(text.conv(text.pair("x")));
    value = text.pair(text.op(cat("MaxPool <kernel_shape = [1, 1]> (", value, ")")));
    model = test::target_model(text.body(text.pair(text.conv(value))));
    path = folder / "m.onnx";
    EXPECT_TRUE(onnx_io::save(model, path).ok());
    std::set<std::string> outputs;
    for (const ir::NodeId id : model.graph.order()) {
      const ir::Node& node = model.graph.node(id);
      if (ops_on_cpu.contains(node.op)) outputs.insert(model.graph.value(node.output(0)).name);
    }
    file = folder.write("vitisai_ep_report.json", text_of(test::reported_of(model, outputs)));
  }

  static std::string text_of(const targets::Reported& reported) {
    json report = {{"deviceStat", {{{"name", "all"}, {"nodeNum", reported.nodes.size()}}}},
                   {"nodeStat", json::array()}};
    for (const auto& [device, count] : reported.operators)
      report["deviceStat"].push_back({{"name", device}, {"nodeNum", count}});
    for (const targets::ReportedNode& node : reported.nodes) {
      report["nodeStat"].push_back(
          {{"input", node.inputs}, {"output", node.outputs}, {"opType", node.op}, {"device", node.device}});
    }
    return report.dump(1);
  }

  EpReport check(const TargetCheckOptions& options = {.target = "x1"}) const {
    Result<EpReport> report = check_ep_report(path, {options, {file}});
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? std::move(report).value() : EpReport{};
  }
};

TEST(CheckEpReportTest, TheTargetFollowsFromTheTypeOfTheModel) {
  const Compiled compiled;
  EXPECT_EQ(compiled.check({.target = kPositionLimits}).predicted.target, "x1");
  EXPECT_EQ(compiled.check({.target = "x2"}).predicted.target, "x2");
}

TEST(CheckEpReportTest, AModelOfAnotherTypeNeedsATarget) {
  const test::TempFolder folder;
  const std::string path = folder / "float.onnx";
  ASSERT_TRUE(onnx_io::save(test::target_model("g (float[4] x) => (float[4] y) { y = Relu(x) }"), path).ok());
  const std::string file = folder.write("log.txt", "[Vitis AI EP] No. of Operators : NPU 1\n");
  const Result<EpReport> report = check_ep_report(path, {{.target = kPositionLimits}, {file}});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
  EXPECT_NE(report.status().message().find("pass --target"), std::string::npos) << report.status().message();
  EXPECT_TRUE(check_ep_report(path, {{.target = "vaiml-bf16"}, {file}}).ok());
}

TEST(CheckEpReportTest, GoalsApplyToWhatRan) {
  const Compiled compiled({"MaxPool"});
  const EpReport report = compiled.check({.target = "x1", .min_npu = 0.99, .max_partitions = 1});
  EXPECT_TRUE(report.predicted.missed.empty());
  ASSERT_EQ(report.missed.size(), 2u);
  EXPECT_NE(report.missed[0].find("--min-npu: "), std::string::npos);
  EXPECT_NE(report.missed[1].find("--max-partitions: "), std::string::npos);
}

TEST(CheckEpReportTest, AModelInMemoryIsComparedAsWell) {
  const Compiled compiled({"MaxPool"});
  const std::string bytes = test::content_of(compiled.path);
  const Result<EpReport> report = check_ep_report_bytes(bytes, "memory", {{.target = "x1"}, {compiled.file}});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().agreeing, compiled.check().agreeing);
  EXPECT_EQ(report.value().predicted.model_path, "memory");
}

TEST(CheckEpReportTest, WithoutFilesThereIsNothingToCompare) {
  const Compiled compiled;
  const Result<EpReport> report = check_ep_report(compiled.path, {{.target = "x1"}, {}});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
}

TEST(CheckEpReportTest, ReportsAreReadBeforeTheModel) {
  // A damaged report of a model of gigabytes is reported at once.
  const Compiled compiled;
  const Result<EpReport> report =
      check_ep_report("no/such/model.onnx", {{.target = "x1"}, {compiled.folder.write("bad.json", "{")}});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kBadData);
}

TEST(CheckEpReportTest, JsonHasEveryPart) {
  const Compiled compiled({"MaxPool"});
  const json found = json::parse(to_json(compiled.check()));
  EXPECT_EQ(found["target"], "x1");
  EXPECT_EQ(found["files"], json::array({compiled.file}));
  EXPECT_EQ(found["compared"], 3);
  EXPECT_EQ(found["agreeing"], 2);
  EXPECT_NEAR(found["agreement"].get<double>(), 2.0 / 3, 1e-9);
  EXPECT_EQ(found["real"]["cpu"], 1);
  EXPECT_EQ(found["regions"]["predicted"].size(), 1u);
  EXPECT_EQ(found["regions"]["real"].size(), 2u);
  ASSERT_EQ(found["differences"].size(), 1u);
  EXPECT_EQ(found["differences"][0]["outcome"], "fell-back");
  EXPECT_EQ(found["differences"][0]["on_npu"], false);
  EXPECT_EQ(found["differences"][0]["reason"]["rule"], "operator");
  EXPECT_EQ(found["differences"][0]["compiler_text"], nullptr);
  ASSERT_EQ(found["nodes"].size(), 3u);
  EXPECT_EQ(found["nodes"][0]["outcome"], "agrees");
  EXPECT_EQ(found["nodes"][0]["difference"], nullptr);
  EXPECT_EQ(found["nodes"][1]["device"], "CPU");
  EXPECT_EQ(found["nodes"][1]["region"], nullptr);
  EXPECT_EQ(found["nodes"][1]["difference"], 0);
}

TEST(CheckEpReportTest, CountsAloneHaveNoAgreement) {
  const Compiled compiled;
  const std::string log = compiled.folder.write("log.txt", "[Vitis AI EP] No. of Operators : NPU 12 VITIS_EP_CPU 2\n");
  const Result<EpReport> report = check_ep_report(compiled.path, {{.target = "x1"}, {log}});
  ASSERT_TRUE(report.ok()) << report.status().message();
  const json found = json::parse(to_json(report.value()));
  EXPECT_EQ(found["has_nodes"], false);
  EXPECT_EQ(found["agreement"], nullptr);
  EXPECT_EQ(found["real"]["npu"], 12);
  EXPECT_EQ(found["nodes"].size(), 0u);
  EXPECT_EQ(html_page(report.value()).find("<svg"), std::string::npos);
}

TEST(CheckEpReportTest, ThePageShowsBothPlacementsAndEscapesNames) {
  Compiled compiled({"MaxPool"});
  EpReport report = compiled.check();
  report.files = {"<b>.json"};
  report.nodes[1].device = "<i>CPU";
  const std::string page = html_page(report);
  for (const char* words : {"aria-label=\"predicted placement\"", "aria-label=\"reported placement\"",
                            "Predicted regions", "Reported regions", "What differs", "fell-back", "66.67 %"})
    EXPECT_NE(page.find(words), std::string::npos) << words;
  for (const char* words : {"<b>.json", "<i>CPU", "<script"}) EXPECT_EQ(page.find(words), std::string::npos) << words;
}

TEST(CheckEpReportTest, WithoutDifferencesThereIsNoTableOfThem) {
  EXPECT_EQ(html_page(Compiled().check()).find("What differs"), std::string::npos);
}

TEST(CheckEpReportTest, AFaultIsWhereTheTextStopsBeingJson) {
  const auto fault = [](const std::string& text) {
    EXPECT_TRUE(parse_json<json>(text).is_discarded()) << text;
    return json_fault<json>(text);
  };
  EXPECT_EQ(fault("{\"a\": 1"), 7u);
  EXPECT_EQ(fault("{\"a\": }"), 6u);
  EXPECT_EQ(fault("[1, 2"), 5u);
  EXPECT_EQ(fault("[\"abc"), 5u);
  EXPECT_EQ(fault(""), 0u);
  EXPECT_EQ(fault("[1e999]"), std::string_view::npos);
}

TEST(CheckEpReportTest, ReportsOfDifferentModelsGiveDifferentShares) {
  EXPECT_LT(Compiled({"MaxPool"}).check().real.npu_share(), Compiled().check().real.npu_share());
  EXPECT_LT(Compiled({"MaxPool", "Conv"}).check().agreement(), Compiled({"MaxPool"}).check().agreement());
}

TEST(LearnedTargetTest, NamesTheMachine) {
  const Compiled compiled({"MaxPool"});
  const Result<std::string> text =
      learned_target(compiled.check(), {"STX", "32.0.203.376", "1.8"}, compiled.folder / "mine.yaml");
  ASSERT_TRUE(text.ok()) << text.status().message();
  for (const char* words :
       {"extends: x1\n", "  device: STX\n", "  driver: 32.0.203.376\n", "  model: m.onnx\n",
        "{op: MaxPool, falls_back: [xint8]", "grade: seen", "m.onnx on STX, driver 32.0.203.376, compiler 1.8"})
    EXPECT_NE(text.value().find(words), std::string::npos) << words << " is missing in\n" << text.value();
}

TEST(LearnedTargetTest, TheVersionInTheFilesIsTheDefault) {
  const Compiled compiled;
  const std::string context = compiled.folder.write(
      "context.json",
      R"({"metaDef": [], "config": {"version": {"versionInfos": [{"packageName": "vaip", "version": "1.8.0"}]}}})");
  const Result<EpReport> report = check_ep_report(compiled.path, {{.target = "x1"}, {compiled.file, context}});
  ASSERT_TRUE(report.ok()) << report.status().message();
  const std::string stated = learned_target(report.value(), {"STX", "", "mine"}, "mine.yaml").value();
  EXPECT_NE(stated.find("  compiler: mine\n"), std::string::npos) << stated;
  const std::string found = learned_target(report.value(), {}, "mine.yaml").value();
  EXPECT_NE(found.find("  compiler: vaip 1.8.0\n"), std::string::npos) << found;
  EXPECT_NE(found.find("  device: not stated\n"), std::string::npos) << found;
}

TEST(LearnedTargetTest, CountsTeachNothing) {
  const Compiled compiled;
  const std::string log = compiled.folder.write("log.txt", "[Vitis AI EP] No. of Operators : NPU 12\n");
  const Result<EpReport> report = check_ep_report(compiled.path, {{.target = "x1"}, {log}});
  ASSERT_TRUE(report.ok());
  const Result<std::string> text = learned_target(report.value(), {}, "mine.yaml");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), Code::kInvalidArgument);
  EXPECT_NE(text.status().message().find("needed is vitisai_ep_report.json"), std::string::npos);
}

/// Whatever a machine does with a model, what was learned from it predicts that model at least as well, and is a
/// target.
TEST(LearnedTargetTest, NeverMakesTheSameModelWorse) {
  const std::vector<std::string> ops = {"Conv", "MaxPool", "Relu", "Sigmoid", "Softmax", "Abs"};
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    test::QuantizedText text;
    std::string value = text.pair("x");
    for (int i = 0; i < 8; ++i) {
      const std::string& op = ops[random() % ops.size()];
      const std::string attributes = op == "MaxPool"   ? " <kernel_shape = [1, 1]>"
                                     : op == "Softmax" ? " <axis = 1>"
                                                       : "";
      const bool is_joined = op == "Relu" && random() % 2 == 0;  // with a Conv before it
      value = op == "Conv" || is_joined ? text.conv(value) : text.op(cat(op, attributes, " (", value, ")"));
      value = text.pair(is_joined ? text.op(cat("Relu (", value, ")")) : value);
    }
    const ir::Model model = test::target_model(text.body(value));
    std::set<std::string> on_cpu;
    for (const ir::NodeId id : model.graph.order()) {
      if (random() % 3 == 0) on_cpu.insert(model.graph.value(model.graph.node(id).output(0)).name);
    }
    const targets::Reported reported = test::reported_of(model, on_cpu);
    const EpReport before = test::compared(model, "x1", reported);
    const Result<std::string> learned = learned_target(before, {}, "mine.yaml");
    ASSERT_TRUE(learned.ok()) << learned.status().message();
    const Result<config::Target> target = config::parse_target(learned.value(), "mine.yaml");
    ASSERT_TRUE(target.ok()) << target.status().message() << learned.value();
    Result<TargetReport> predicted = targets::assess(model, target.value());
    ASSERT_TRUE(predicted.ok());
    const Result<EpReport> after = targets::compare_placement(model, std::move(predicted).value(), reported);
    ASSERT_TRUE(after.ok());
    EXPECT_GE(after.value().agreeing, before.agreeing) << learned.value();
    EXPECT_LE(after.value().now_known, before.now_known) << learned.value();
  }
}

}  // namespace
}  // namespace quarkq
