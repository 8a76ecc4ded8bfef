// SPDX-License-Identifier: MIT
// What a target's facts become beside a result: files for its provider, refusals of the written model.
#include "quarkq/quantize.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file_system.h"
#include "onnx_io/save.h"
#include "pipeline/report/check_target.h"
#include "support/target_models.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

using nlohmann::json;

class DeployTest : public ::testing::Test {
 protected:
  void SetUp() override { save("m.onnx", 4); }
  std::string save(const std::string& name, int size) {
    std::string path = folder / name;
    const std::string body = cat("g (float[1, ", size, "] x) => (float[1, ", size, "] y) { y = Relu(x) }");
    EXPECT_TRUE(onnx_io::save(test::model_of(body), path).ok());
    return path;
  }
  /// A target with these rows of options only.
  std::string target(const std::string& options) {
    return folder.write(
        "lab.yaml", cat("format: 1\ntitle: Lab\ndevices: [ours]\nlabel: NPU\npreset: XINT8\ntypes:\n  - {type: xint8, "
                        "column: xint8, verdict: runs, grade: A, source: s}\noptions:\n",
                        options));
  }
  std::vector<std::string> deploy(const std::string& target, const std::string& model = "m.onnx") {
    const Result<std::vector<std::string>> written = write_deployment(folder / model, target, out);
    EXPECT_TRUE(written.ok()) << written.status().message();
    if (!written.ok()) return {};
    std::vector<std::string> names;
    for (const std::string& path : written.value()) names.push_back(std::filesystem::path(path).filename().string());
    return names;
  }
  std::string read(const std::string& name) { return read_text_file(out + "/" + name).value(); }

  test::TempFolder folder;
  std::string out = folder.path() + "/deep/deploy";
};

TEST_F(DeployTest, OptionsAreSortedByTheirPlace) {
  const std::string lab = target(
      "  - {option: cache_key, value: v, set: model-hash, grade: C, source: s}\n"
      "  - {option: level, value: v, set: 3, grade: C, source: s}\n"
      "  - {option: vaiml_config.fast, value: v, set: true, grade: C, source: s}\n"
      "  - {option: vaiml_config.list, value: v, set: [a, 1.5], grade: C, source: s}\n"
      "  - {option: session.quiet, value: v, set: '1', grade: C, source: s}\n"
      "  - {option: described, value: people only, note: by hand, grade: B, source: a log}\n");
  EXPECT_EQ(deploy(lab),
            (std::vector<std::string>{"vitisai_config.json", "provider_options.json", "session.py", "deployment.md"}));
  const json provider = json::parse(read("provider_options.json"));
  EXPECT_EQ(provider.size(), 2u);
  EXPECT_EQ(provider["level"], 3);
  EXPECT_FALSE(provider["cache_key"].get<std::string>().empty());
  EXPECT_NE(provider["cache_key"], "model-hash");
  const json config = json::parse(read("vitisai_config.json"));
  EXPECT_EQ(config["passes"][1]["vaiml_config"], json::parse(R"({"fast": true, "list": ["a", 1.5]})"));
  const std::string page = read("deployment.md");
  EXPECT_NE(page.find("session_options.add_session_config_entry(\"session.quiet\", \"1\")"), std::string::npos) << page;
  EXPECT_NE(page.find("| `described` | people only | by hand | B, a log |"), std::string::npos) << page;
  EXPECT_NE(page.find("The compiler reads `vitisai_config.json`"), std::string::npos) << page;
}

TEST_F(DeployTest, WithoutOptionsThereIsNoConfiguration) {
  EXPECT_EQ(deploy(target("  []\n")),
            (std::vector<std::string>{"provider_options.json", "session.py", "deployment.md"}));
  EXPECT_EQ(json::parse(read("provider_options.json")), json::object());
  EXPECT_NE(read("deployment.md").find("No options are known for this target."), std::string::npos);
}

TEST_F(DeployTest, TheCacheKeyIsThatOfTheContent) {
  const std::string lab = target("  - {option: key, value: v, set: model-hash, grade: C, source: s}\n");
  const auto key_of = [&](const std::string& model) {
    deploy(lab, model);
    return json::parse(read("provider_options.json"))["key"].get<std::string>();
  };
  save("same.onnx", 4);
  save("other.onnx", 5);
  EXPECT_EQ(key_of("m.onnx"), key_of("same.onnx"));
  EXPECT_NE(key_of("m.onnx"), key_of("other.onnx"));
}

TEST_F(DeployTest, NamesWhatCannotBe) {
  const auto refusal = [&](const std::string& model, const std::string& target, const std::string& to) {
    return write_deployment(model, target, to).status();
  };
  const Status unknown = refusal(folder / "m.onnx", "x3", out);
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_NE(unknown.message().find("x3"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(out)) << "a refusal leaves nothing behind";
  const Status missing = refusal(folder / "none.onnx", "x2", out);
  EXPECT_EQ(missing.code(), Code::kIo) << missing.message();
  EXPECT_NE(missing.message().find("none.onnx"), std::string::npos);
  const Status blocked = refusal(folder / "m.onnx", "x2", folder.write("file", "x") + "/below");
  EXPECT_EQ(blocked.code(), Code::kIo) << blocked.message();
  EXPECT_NE(blocked.message().find("file/below: cannot make this folder"), std::string::npos) << blocked.message();
}

config::Settings settings_with_target(const std::string& target) {
  config::Settings settings;
  if (!target.empty()) settings.target = target;
  settings.origins["target"] = config::Origin::kFlag;
  return settings;
}

TEST(JudgeTargetTest, SaysWhatTheCompilerWouldDo) {
  const ir::Model lstm = test::target_model(
      "g (float[2, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (float[2, 1, 1, 2] y) { [net] y = LSTM <hidden_size "
      "= "
      "2> (x, w, r) }");
  Diagnostics found;
  const auto report = pipeline::judge_target(lstm, "out.onnx", settings_with_target("vaiml-bf16"), found);
  ASSERT_TRUE(report.ok() && report.value());
  EXPECT_EQ(report.value()->model_path, "out.onnx");
  std::vector<std::string> refused;
  for (const Diagnostic& one : found.all()) {
    EXPECT_TRUE(one.id == std::string("target-refuses") || one.id == std::string("target-computes-wrong")) << one.id;
    if (one.subject.find("net") != std::string::npos) refused.push_back(one.text);
  }
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("the compiler aborts: an LSTM (lstm: LSTM net)"), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find(config::find_remedy("run-outside")->text), std::string::npos) << refused[0];
}

TEST(DeployabilityTest, SummarizesAReport) {
  using Holds = Deployability::Holds;
  test::QuantizedText text_of_model;
  const std::string first = text_of_model.pair(text_of_model.conv(text_of_model.pair("x")));
  const std::string last = text_of_model.pair(text_of_model.conv(first));
  const TargetReport placed = test::assessed(test::target_model(text_of_model.body(last)), "x2");
  const Deployability yes = deployability(placed);
  EXPECT_EQ(yes.holds, Holds::kYes);
  EXPECT_EQ(text(yes), cat("deployable on x2: yes, ", placed.counts.npu, " of ", placed.counts.total, " nodes"));
  TargetReport parts = placed;
  parts.counts.regions = 17;
  EXPECT_EQ(text(deployability(parts)), cat("deployable on x2: in parts, ", placed.counts.npu, " of ",
                                            placed.counts.total, " nodes in 17 regions; the rest runs on the CPU"));
  parts.counts.regions = 4;
  EXPECT_EQ(deployability(parts).holds, Holds::kYes);
  parts.counts.npu = (placed.counts.total - placed.counts.at_edges) * 8 / 10;
  EXPECT_EQ(deployability(parts).holds, Holds::kInParts);
  parts.counts.npu = 0;
  EXPECT_EQ(deployability(parts).holds, Holds::kUnknown);
  parts.unknown_runs.npu = 0;
  EXPECT_EQ(text(deployability(parts)), "deployable on x2: no, none of its operators runs on the NPU");
  TargetReport wrong = placed;
  TargetFinding finding;
  finding.reason.rule = "bias-int32", finding.reason.effect = TargetEffect::kWrongResults;
  finding.reason.remedy = "int8-bias", finding.count = 3, finding.nodes = {placed.nodes.front().name};
  wrong.findings = {finding};
  EXPECT_EQ(deployability(wrong).holds, Holds::kNo);
  EXPECT_EQ(deployability(wrong).remedy, "int8-bias");
  EXPECT_NE(text(deployability(wrong)).find("the NPU gives wrong results: a bias of int32"), std::string::npos);
  EXPECT_NE(text(deployability(wrong)).find("(bias-int32: Conv "), std::string::npos);
  EXPECT_NE(text(deployability(wrong)).find(" and 2 more)"), std::string::npos);
}

TEST(DeployabilityTest, TheGateNeedsATargetThatAccepts) {
  Deployability found{"x1", Deployability::Holds::kYes, "", ""};
  EXPECT_TRUE(pipeline::check_deployable(found).ok());
  found.holds = Deployability::Holds::kUnknown, found.why = "nobody knows";
  EXPECT_EQ(pipeline::check_deployable(found).code(), Code::kQualityGate);
  EXPECT_NE(pipeline::check_deployable(found).message().find("deployable on x1: unknown, nobody knows"),
            std::string::npos);
  EXPECT_EQ(pipeline::check_deployable(std::nullopt).code(), Code::kQualityGate);
}

TEST(JudgeTargetTest, TheTargetOfThePresetDoesNotWarn) {
  test::QuantizedText text;
  const ir::Model model = test::target_model(text.body(text.op(cat("Relu (", text.pair("x"), ")"))));
  for (const auto& [origin, count] : {std::pair(config::Origin::kFlag, 1), std::pair(config::Origin::kPreset, 0)}) {
    config::Settings settings = settings_with_target("x1");
    settings.origins["target"] = origin;
    Diagnostics found;
    const auto judged = pipeline::judge_target(model, "out.onnx", settings, found);
    ASSERT_TRUE(judged.ok() && judged.value());
    EXPECT_EQ(deployability(*judged.value()).holds, Deployability::Holds::kNo);
    EXPECT_EQ(found.all().size(), static_cast<size_t>(count));
  }
}

TEST(JudgeTargetTest, NotesAreNoFindingsAndNoTargetIsNoReport) {
  test::QuantizedText text;
  const ir::Model model = test::target_model(text.body(text.pair(text.conv(text.pair("x")))));
  Diagnostics found;
  const auto judged = pipeline::judge_target(model, "out.onnx", settings_with_target("x2"), found);
  ASSERT_TRUE(judged.ok() && judged.value());
  EXPECT_TRUE(found.all().empty());
  const auto none = pipeline::judge_target(model, "out.onnx", settings_with_target(""), found);
  EXPECT_TRUE(none.ok() && !none.value());
  EXPECT_FALSE(pipeline::judge_target(model, "out.onnx", settings_with_target("x3"), found).ok());
}

}  // namespace
}  // namespace quarkq
