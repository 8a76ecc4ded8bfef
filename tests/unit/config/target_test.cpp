// SPDX-License-Identifier: MIT
// Targets: what the embedded files say, and what is refused in a user's.
#include "config/targets/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "unit/base/temp_folder.h"

namespace quarkq::config {
namespace {

Target loaded(const std::string& name) {
  Result<Target> target = load_target(name);
  EXPECT_TRUE(target.ok()) << target.status().message();
  return target.ok() ? std::move(target).value() : Target{};
}

std::string target_refusal(const std::string& text) {
  const Result<Target> target = parse_target(text, "mine.yaml");
  EXPECT_FALSE(target.ok()) << text;
  EXPECT_EQ(target.status().code(), Code::kInvalidArgument);
  return target.status().message();
}

void expect_refused(const std::string& text, const std::vector<std::string>& words) {
  const std::string found = target_refusal(text);
  for (const std::string& word : words) EXPECT_NE(found.find(word), std::string::npos) << found << "\nlacks " << word;
}

TEST(TargetTest, NamesOfTheBuiltInOnes) {
  EXPECT_EQ(target_names(), (std::vector<std::string>{"gen2-bf16", "gen2-fp16", "gen2-mixed", "gen2-vint8", "ort-cpu",
                                                      "vaiml-bf16", "winml", "x1", "x2"}));
}

TEST(TargetTest, EveryRowHasGradeSourceAndKnownRemedy) {
  const auto check = [](const std::string& where, const Evidence& evidence, const std::string& remedy) {
    EXPECT_TRUE(evidence.grade >= 'A' && evidence.grade <= 'D') << where;
    EXPECT_FALSE(evidence.source.empty()) << where;
    EXPECT_TRUE(remedy.empty() || find_remedy(remedy) != nullptr) << where << ": " << remedy;
  };
  for (const std::string& name : target_names()) {
    const Target target = loaded(name);
    EXPECT_FALSE(target.devices.empty()) << name;
    for (const TypeRow& row : target.types) check(name + " " + row.type, row.evidence, row.remedy);
    for (const auto& [key, row] : target.operators) check(name + " " + key.first, row.evidence, row.remedy);
    for (const RuleRow& row : target.rules) check(name + " " + row.rule, row.evidence, row.remedy);
    for (const ProviderOption& row : target.options) check(name + " " + row.name, row.evidence, "");
  }
}

TEST(TargetTest, EverySourceHasADate) {
  const auto check = [](const std::string& where, const Evidence& evidence) {
    EXPECT_FALSE(find_sources(evidence.source).empty())
        << where << ": " << evidence.source << " has no row in config/targets/sources.def";
  };
  for (const std::string& name : target_names()) {
    const Target target = loaded(name);
    for (const TypeRow& row : target.types) check(name + " " + row.type, row.evidence);
    for (const auto& [key, row] : target.operators) check(name + " " + key.first, row.evidence);
    for (const RuleRow& row : target.rules) check(name + " " + row.rule, row.evidence);
    for (const ProviderOption& row : target.options) check(name + " " + row.name, row.evidence);
    for (const TargetSetting& row : target.settings) check(name + " " + row.key, row.evidence);
  }
}

TEST(TargetTest, DatesOfSourcesAreDates) {
  for (const SourceInfo& row : target_sources()) {
    const std::string date = row.date, basis = row.basis;
    ASSERT_EQ(date.size(), 10u) << row.tag;
    EXPECT_TRUE(date >= "2023-01-01" && date[4] == '-' && date[7] == '-') << row.tag << ": " << date;
    EXPECT_TRUE(date.substr(5, 2) <= "12" && date.substr(8) <= "31") << row.tag << ": " << date;
    EXPECT_TRUE(basis == "published" || basis == "read") << row.tag;
  }
}

TEST(TargetTest, TheLongestTagNamesTheSource) {
  const auto tags = [](const std::string& source) {
    std::string text;
    for (const SourceInfo* row : find_sources(source)) text += cat(row->tag, " ");
    return text;
  };
  EXPECT_EQ(tags("SW#397"), "SW#397 ");
  EXPECT_EQ(tags("SW#401"), "SW# ");
  EXPECT_EQ(tags("SR, SW#397"), "SR SW#397 ");
  EXPECT_EQ(tags("OS#1432, OS#1433"), "OS# ");
  EXPECT_EQ(tags("ROSS summary text; G2/ep-config-file.html (A) for the threshold"), "ROSS G2/ ");
  EXPECT_EQ(tags("my lab"), "");
}

TEST(TargetTest, TheNewestSourceComesFirst) {
  const std::vector<SourceUse> uses = sources_of(loaded("x1"));
  ASSERT_FALSE(uses.empty());
  for (size_t i = 1; i < uses.size(); ++i)
    EXPECT_GE(std::string(uses[i - 1].source->date), std::string(uses[i].source->date));
  EXPECT_TRUE(sources_of(Target{}).empty());
}

TEST(TargetTest, LearnedFilesBuildOnEachOther) {
  const test::TempFolder folder;
  LearnedFacts facts;
  facts.target = "x1";
  facts.seen = {"PHX", "32.0.203.280", "1.7.1", "a.onnx"};
  facts.operators[{"MaxPool", "xint8"}] = {Placement::kFallsBack, {kSeenGrade, "a.onnx on PHX", "1 of 1"}, ""};
  const std::string first = folder.write("mine.yaml", learned_file(facts, folder / "mine.yaml").value());
  facts.target = first;
  facts.operators = {{{"MaxPool", "a8w8"}, {Placement::kRuns, {kSeenGrade, "b.onnx", ""}, ""}},
                     {{"Relu", "xint8"}, {Placement::kRuns, {kSeenGrade, "b.onnx", ""}, ""}}};
  const std::string text = learned_file(facts, folder / "sub/more.yaml").value();
  EXPECT_NE(text.find("extends: x1\n"), std::string::npos) << text;
  const Result<Target> target = load_target(folder.write("sub/more.yaml", text));
  ASSERT_TRUE(target.ok()) << target.status().message();
  EXPECT_EQ(target.value().find_operator("MaxPool", "xint8").evidence.source, "a.onnx on PHX");
  EXPECT_EQ(target.value().find_operator("Relu", "xint8").evidence.grade, kSeenGrade);
  EXPECT_EQ(target.value().title, loaded("x1").title);
}

TEST(TargetTest, ALearnedFileExtendsAUsersFileByItsRelativePath) {
  const test::TempFolder folder;
  const std::string base = folder.write("base.yaml", "format: 1\nextends: x1\ntitle: ours\n");
  LearnedFacts facts;
  facts.target = base;
  const std::string text = learned_file(facts, folder / "sub/mine.yaml").value();
  EXPECT_NE(text.find("extends: ../base.yaml\n"), std::string::npos) << text;
  EXPECT_TRUE(load_target(folder.write("sub/mine.yaml", text)).ok());
}

TEST(TargetTest, GradesAndMachinesOfLearnedFiles) {
  const std::string start = "format: 1\nextends: x1\n";
  EXPECT_TRUE(parse_target(start + "seen: {device: PHX, driver: \"1\", compiler: \"2\", model: m.onnx}\n", "m").ok());
  expect_refused(start + "seen: {machine: PHX}\n", {"mine.yaml", "machine", "device"});
  expect_refused(start + "seen: PHX\n", {"mine.yaml", "seen", "a map"});
  expect_refused(start + "operators: [{op: Relu, runs: [xint8], grade: S, source: me}]\n", {"found S", "seen"});
}

TEST(TargetTest, AColumnOfATypeHasRows) {
  for (const std::string& name : target_names()) {
    const Target target = loaded(name);
    for (const TypeRow& row : target.types) {
      const bool has_rows = std::any_of(target.operators.begin(), target.operators.end(),
                                        [&](const auto& entry) { return entry.first.second == row.column; });
      EXPECT_TRUE(has_rows || target.other_operators.verdict == Placement::kRuns) << name << " " << row.column;
    }
  }
}

TEST(TargetTest, RulesAndRemediesAreUniqueAndUsed) {
  std::set<std::string> rules, remedies, used;
  for (const RemedyInfo& row : target_remedies()) EXPECT_TRUE(remedies.insert(row.id).second) << row.id;
  for (const RuleInfo& row : target_rules()) {
    EXPECT_TRUE(rules.insert(row.id).second) << row.id;
    EXPECT_TRUE(remedies.contains(row.remedy)) << row.id << ": " << row.remedy;
  }
  for (const std::string& name : target_names()) {
    for (const RuleRow& row : loaded(name).rules) used.insert(row.rule);
  }
  EXPECT_EQ(used, rules);
  EXPECT_GE(rules.size(), 40u);
}

TEST(TargetTest, UnknownIsWhatHasNoRow) {
  const Target x1 = loaded("x1");
  EXPECT_EQ(x1.find_operator("Conv", "xint8").verdict, Placement::kRuns);
  EXPECT_EQ(x1.find_operator("Softplus", "xint8").verdict, Placement::kUnknown);
  EXPECT_EQ(x1.find_operator("Conv", "vint8").verdict, Placement::kUnknown);
  EXPECT_EQ(loaded("ort-cpu").find_operator("Softplus", "any").verdict, Placement::kRuns);
  EXPECT_EQ(x1.find_type("other"), nullptr);
}

TEST(TargetTest, ATargetReplacesRowsOfTheOneThatItExtends) {
  const Target x1 = loaded("x1"), x2 = loaded("x2");
  EXPECT_EQ(x1.find_operator("HardSigmoid", "xint8").verdict, Placement::kRuns);
  EXPECT_EQ(x2.find_operator("HardSigmoid", "xint8").verdict, Placement::kFallsBack);
  EXPECT_EQ(x2.find_operator("HardSigmoid", "xint8").remedy, "keep-sigmoid");
  EXPECT_EQ(x2.find_operator("HardSigmoid", "xint8").evidence.grade, 'D');
  EXPECT_EQ(x2.find_operator("Abs", "bf16").evidence.grade, 'A');  // of the table below both
}

constexpr const char kMine[] = R"(
format: 1
extends: x2
title: mine
types: [{type: a8w8, column: a8w8, verdict: falls-back, grade: C, source: measured here}]
operators: [{op: Sigmoid, falls_back: [a8w8], remedy: keep-sigmoid, grade: C, source: measured here, note: firmware 7}]
rules:
  - {rule: lstm, effect: off, grade: C, source: measured here}
  - {rule: opset-above, effect: crash, limit: 18, grade: C, source: measured here}
)";

TEST(TargetTest, AUsersTextExtendsABuiltInOne) {
  const Result<Target> mine = parse_target(kMine, "mine.yaml");
  ASSERT_TRUE(mine.ok()) << mine.status().message();
  const Target& target = mine.value();
  EXPECT_EQ(target.title, "mine");
  EXPECT_EQ(target.devices, loaded("x2").devices);
  EXPECT_EQ(target.find_operator("Sigmoid", "a8w8").verdict, Placement::kFallsBack);
  EXPECT_EQ(target.find_operator("Sigmoid", "a16w8").verdict, Placement::kRuns);
  EXPECT_EQ(target.find_type("a8w8")->verdict, Placement::kFallsBack);
  const auto has_rule = [&](const std::string& id) {
    return std::any_of(target.rules.begin(), target.rules.end(), [&](const RuleRow& row) { return row.rule == id; });
  };
  EXPECT_FALSE(has_rule("lstm"));
  EXPECT_TRUE(has_rule("opset-above"));
  EXPECT_TRUE(has_rule("dynamic-weight"));
}

TEST(TargetTest, AFileIsFoundByItsPathAndExtendsFilesBesideIt) {
  const test::TempFolder folder;
  std::ofstream(folder / "base.yaml") << kMine;
  std::ofstream(folder / "more.yaml") << "format: 1\nextends: base.yaml\ntitle: more\n";
  const Target target = loaded(folder / "more.yaml");
  EXPECT_EQ(target.title, "more");
  EXPECT_EQ(target.find_operator("Sigmoid", "a8w8").verdict, Placement::kFallsBack);
}

TEST(TargetTest, ACircleIsRefused) {
  const test::TempFolder folder;
  std::ofstream(folder / "a.yaml") << "format: 1\nextends: b.yaml\n";
  std::ofstream(folder / "b.yaml") << "format: 1\nextends: a.yaml\n";
  const Result<Target> target = load_target(folder / "a.yaml");
  ASSERT_FALSE(target.ok());
  EXPECT_NE(target.status().message().find("extends itself"), std::string::npos) << target.status().message();
}

TEST(TargetTest, FaultsAreNamed) {
  const std::string head = "format: 1\nextends: x2\n";
  const std::string evidence = ", grade: C, source: s}]\n";
  expect_refused("[]", {"mine.yaml", "is not a map", "format: 1"});
  expect_refused("title: mine\n", {"has no format"});
  expect_refused("format: 2\n", {"format 2", "format: 1"});
  expect_refused("format: 1\n", {"no types"});
  expect_refused("format: 1\nextends: x3\n", {"x3", "no such target", "x2"});
  expect_refused("format: 1\nextends: 5\n", {"extends"});
  expect_refused(head + "rule: []\n", {"rule", "rules"});
  expect_refused(head + "rules: {}\n", {"rules", "allowed is a list"});
  expect_refused(head + "rules: [5]\n", {"rules", "allowed is a map"});
  expect_refused(head + "rules: [{rule: lsmt, effect: crash" + evidence, {"lsmt", "lstm"});
  expect_refused(head + "rules: [{rule: lstm, effect: explodes" + evidence, {"explodes", "crash"});
  expect_refused(head + "rules: [{rule: lstm, effect: crash, remedy: pray" + evidence, {"pray", "run-outside"});
  expect_refused(head + "rules: [{rule: lstm, effect: crash, limit: many" + evidence, {"limit", "a finite number"});
  expect_refused(head + "rules: [{rule: lstm, effect: crash, why: x" + evidence, {"why"});
  expect_refused(head + "rules: [{rule: lstm, effect: crash, grade: E, source: s}]\n", {"grade", "E", "A, B, C, D"});
  expect_refused(head + "rules: [{rule: lstm, effect: crash, source: s}]\n", {"grade is missing"});
  expect_refused(head + "rules: [{rule: lstm, effect: crash, grade: A}]\n", {"source is missing"});
  expect_refused(head + "operators: [{runs: [a8w8]" + evidence, {"op is missing"});
  expect_refused(head + "operators: [{op: Conv" + evidence, {"names no column"});
  expect_refused(head + "operators: [{op: Conv, runs: a8w8" + evidence, {"runs"});
  expect_refused(head + "types: [{type: int3, column: a8w8, verdict: runs" + evidence, {"int3", "a8w8"});
  expect_refused(head + "types: [{type: a8w8, column: a8w8, verdict: yes" + evidence, {"yes", "runs"});
  expect_refused(head + "cutting: {most_regions: -1, grade: A, source: s}\n", {"most_regions"});
  expect_refused(head + "options: [{option: a" + evidence, {"value is missing"});
}

TEST(TargetTest, ABaseIsNoTarget) {
  const Result<Target> target = load_target("ryzen-ops");
  ASSERT_FALSE(target.ok());
  EXPECT_NE(target.status().message().find("only there to be extended"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::config
