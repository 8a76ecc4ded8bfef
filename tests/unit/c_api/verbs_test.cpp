// SPDX-License-Identifier: MIT
// Every verb: the members of its request and their types, and that a request is refused before anything is read.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "quarkq/c_api.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

struct Outcome {
  int code = 0;
  std::string message, report, findings;
};

Outcome call_verb(const std::string& verb, const std::string& request, const std::string& model = "") {
  quarkq_call_arguments arguments{};
  arguments.size = sizeof arguments;
  arguments.verb = verb.c_str();
  arguments.request = request.c_str();
  if (!model.empty()) arguments.model = {model.data(), model.size()};
  const std::unique_ptr<quarkq_result, decltype(&quarkq_free)> result(quarkq_call(&arguments), quarkq_free);
  return {quarkq_exit_code(result.get()), quarkq_message(result.get()), quarkq_report(result.get()),
          quarkq_findings(result.get())};
}

constexpr const char* kText = "a text";
constexpr const char* kFlag = "true or false";
constexpr const char* kTexts = "a list of texts";
constexpr const char* kInt = "an integer of 32 bits";
constexpr const char* kCount = "an integer from 0 on";
constexpr const char* kReal = "a number";

struct Member {
  const char *name, *allowed;
};
struct VerbRow {
  const char* verb;
  std::vector<Member> members;
};

const std::vector<VerbRow>& verbs() {
  static const std::vector<VerbRow> rows = {
      {"quantize",
       {{"model", kText},
        {"config", kText},
        {"settings", kTexts},
        {"calib", kText},
        {"threads", kInt},
        {"output", kText},
        {"in_memory", kFlag},
        {"stats", kText},
        {"eval", kText},
        {"require", kTexts},
        {"verify", kFlag},
        {"details", kFlag},
        {"resume", kFlag},
        {"joined", kText}}},
      {"calibrate",
       {{"model", kText},
        {"config", kText},
        {"settings", kTexts},
        {"calib", kText},
        {"threads", kInt},
        {"output", kText},
        {"shard_index", kCount},
        {"shard_count", kCount}}},
      {"merge", {{"parts", kTexts}, {"output", kText}, {"allow_other_isa", kFlag}}},
      {"optimize",
       {{"model", kText},
        {"output", kText},
        {"config", kText},
        {"settings", kTexts},
        {"calib", kText},
        {"threads", kInt},
        {"only", kTexts},
        {"skip", kTexts}}},
      {"convert",
       {{"model", kText},
        {"output", kText},
        {"in_memory", kFlag},
        {"passes", kTexts},
        {"pass_list", kText},
        {"strict", kFlag},
        {"external_data", kFlag},
        {"threads", kInt}}},
      {"analyze",
       {{"model", kText},
        {"config", kText},
        {"settings", kTexts},
        {"calib", kText},
        {"threads", kInt},
        {"one_float", kFlag},
        {"samples", kCount},
        {"min_cosine", kReal},
        {"most_left_out", kCount}}},
      {"run",
       {{"model", kText},
        {"inputs", kText},
        {"outputs", kText},
        {"config", kText},
        {"settings", kTexts},
        {"threads", kInt},
        {"limit", kCount},
        {"max_memory", "an integer of 64 bits"},
        {"repeat", kInt}}},
      {"evaluate",
       {{"baseline_results_folder", kText},
        {"quantized_results_folder", kText},
        {"compat", kFlag},
        {"threads", kInt},
        {"labels", kText},
        {"top", "a list of integers"},
        {"output", kText}}},
      {"inspect", {{"model", kText}, {"nodes", kFlag}, {"scales", kFlag}}},
      {"check",
       {{"model", kText}, {"target", kText}, {"ep_report", kTexts}, {"min_npu", kReal}, {"max_partitions", kInt}}},
      {"report", {{"report", kText}, {"output", kText}}},
  };
  return rows;
}

TEST(VerbsTest, EveryMemberHasItsType) {
  for (const VerbRow& row : verbs()) {
    for (const Member& member : row.members) {
      const Outcome refused = call_verb(row.verb, std::string("{\"") + member.name + "\": {\"a\": []}}");
      EXPECT_EQ(refused.code, 2) << row.verb << " " << member.name;
      EXPECT_EQ(refused.message,
                std::string(row.verb) + ": " + member.name + ": found {\"a\":[]}, allowed is " + member.allowed);
      EXPECT_EQ(refused.report, "");
      EXPECT_EQ(refused.findings, "[]");
    }
  }
}

TEST(VerbsTest, OtherMembersAreUnknown) {
  for (const VerbRow& row : verbs()) {
    for (const char* name : {"modle", "Model", "", "model "}) {
      const Outcome refused = call_verb(row.verb, std::string("{\"") + name + "\": null}");
      EXPECT_EQ(refused.code, 2) << row.verb;
      EXPECT_EQ(refused.message, std::string(row.verb) + ": " + name + " is unknown in a request");
    }
  }
}

TEST(VerbsTest, NothingIsReadForARequestThatIsRefused) {
  for (const VerbRow& row : verbs()) {
    if (std::string(row.members[0].name) != "model") continue;
    const Outcome refused = call_verb(row.verb, R"({"model": "/nowhere/m.onnx", "no_such_member": 1})");
    EXPECT_EQ(refused.message, std::string(row.verb) + ": no_such_member is unknown in a request");
  }
}

TEST(VerbsTest, AMissingModelIsNamed) {
  for (const char* verb : {"quantize", "calibrate", "analyze", "optimize", "run", "inspect", "check"}) {
    const Outcome failed = call_verb(verb, R"({"model": "/nowhere/m.onnx"})");
    EXPECT_NE(failed.code, 0) << verb;
    EXPECT_NE(failed.message, "") << verb;
    EXPECT_EQ(failed.report, "") << verb;
  }
}

TEST(VerbsTest, AReportOfTheCompilerIsReadBeforeTheModel) {
  const test::TempFolder folder;
  const std::string file = folder.write("report.json", "{\"nodeStat\": [");
  const std::string request = "{\"model\": \"/nowhere/m.onnx\", \"ep_report\": [\"" + file + "\"]";
  const Outcome damaged = call_verb("check", request + "}");
  EXPECT_EQ(damaged.code, 4) << damaged.message;
  EXPECT_EQ(damaged.message.find(file + ": line 1, column 15: found the end of the file"), 0u) << damaged.message;
  for (const char* member : {"learn", "device", "driver", "compiler"}) {
    const Outcome refused = call_verb("check", request + ", \"" + member + "\": 1}");
    EXPECT_EQ(refused.message, std::string("check: ") + member + ": found 1, allowed is a text");
  }
}

TEST(VerbsTest, WhatIsLearnedNeedsAReport) {
  const Outcome refused = call_verb("check", R"({"model": "/nowhere/m.onnx", "learn": "mine.yaml"})");
  EXPECT_EQ(refused.message, "check: learn is unknown in a request");
}

TEST(VerbsTest, AResultNeverOverwritesAReport) {
  const test::TempFolder folder;
  const std::string file = folder.write("report.json", "{}");
  const Outcome refused =
      call_verb("check", "{\"model\": \"m\", \"ep_report\": [\"" + file + "\"], \"learn\": \"" + file + "\"}");
  EXPECT_EQ(refused.code, 2) << refused.message;
  EXPECT_EQ(test::content_of(file), "{}");
}

TEST(VerbsTest, BytesThatAreNoModelAreRefused) {
  for (const char* verb : {"inspect", "check"}) {
    const Outcome failed = call_verb(verb, R"({"model": "given name"})", "these are no bytes of a model");
    EXPECT_EQ(failed.code, 3) << verb << ": " << failed.message;
    EXPECT_EQ(failed.message.find("given name"), 0u) << failed.message;
  }
}

TEST(VerbsTest, NamesAreExact) {
  for (const char* verb : {"", "Quantize", "quantize ", "help", "qu"}) {
    const Outcome refused = call_verb(verb, "{}");
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.message.find(std::string(verb) + ": unknown verb"), 0u) << refused.message;
    EXPECT_NE(
        refused.message.find(
            "(known: quantize, calibrate, merge, optimize, convert, analyze, run, evaluate, score, tune, inspect, "
            "check, report)"),
        std::string::npos)
        << refused.message;
  }
}

}  // namespace
}  // namespace quarkq
