// SPDX-License-Identifier: MIT
// Readers of the files of a compiler: good ones of each kind, and what a damaged one is told.
#include "pipeline/ep_report/read_reported.h"

#include <gtest/gtest.h>

#include "unit/base/temp_folder.h"

namespace quarkq::pipeline {
namespace {

using targets::Reported;

constexpr const char kReport[] = R"({
  "deviceStat": [{"name": "all", "nodeNum": 3, "supportedOpType": ["::Conv"]},
                 {"name": "CPU", "nodeNum": 1, "supportedOpType": ["::Relu"]}, {"name": "NPU", "nodeNum": 2}],
  "nodeStat": [{"input": ["x", "VAIP_NOT_EXISTS"], "output": ["a"], "opType": "Conv", "comment": "x", "device": "NPU"},
               {"input": ["a"], "output": ["b"], "opType": "Relu", "device": "CPU"},
               {"input": ["b"], "output": ["c"], "opDomain": "", "opType": "Abs", "device": "NPU"}],
  "subgraphStat": [{"device": "NPU", "count": 2}, {"device": "Actually running on NPU", "count": 1}],
  "deviceSubgraphCount": [{"device": "DPU", "count": 1}],
  "shapeInfo": [{"name": "a", "shape": ["1", "4"]}]})";

Result<Reported> read(const std::vector<std::string>& texts) {
  const test::TempFolder folder;
  std::vector<std::string> files;
  files.reserve(texts.size());
  for (const std::string& text : texts) files.push_back(folder.write(cat("file", files.size(), ".txt"), text));
  return read_reported(files);
}

Reported must_read(const std::vector<std::string>& texts) {
  Result<Reported> reported = read(texts);
  EXPECT_TRUE(reported.ok()) << reported.status().message();
  return reported.ok() ? std::move(reported).value() : Reported{};
}

std::string message_of(const std::string& text) {
  const Result<Reported> reported = read({text});
  EXPECT_FALSE(reported.ok()) << text;
  EXPECT_EQ(reported.status().code(), Code::kBadData) << reported.status().message();
  return reported.status().message();
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kReport;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ReadReportedTest, ReadsTheReportOfTheProvider) {
  const Reported reported = must_read({kReport});
  ASSERT_EQ(reported.nodes.size(), 3u);
  EXPECT_EQ(reported.nodes[0].op, "Conv");
  EXPECT_EQ(reported.nodes[0].inputs, (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(reported.nodes[1].device, "CPU");
  EXPECT_EQ(reported.operators, (std::map<std::string, size_t>{{"CPU", 1}, {"NPU", 2}}));
  EXPECT_EQ(reported.subgraphs, (std::map<std::string, size_t>{{"NPU", 2}}));
  EXPECT_EQ(reported.running, 1u);
}

TEST(ReadReportedTest, AReportWithoutNpuMeansThatNothingWasPlaced) {
  const Reported reported = must_read({R"({"deviceStat": [{"name": "all", "nodeNum": 1}, {"name": "CPU", "nodeNum": 1}],
    "nodeStat": [{"output": ["a"], "opType": "Conv", "device": "CPU"}]})"});
  EXPECT_EQ(reported.operators.count("NPU"), 0u);
  EXPECT_EQ(reported.nodes.size(), 1u);
}

TEST(ReadReportedTest, ReadsTheCacheOfTheProvider) {
  const Reported reported = must_read({R"({"metaDef": [{"id": "p0", "device": "DPU", "nodes": ["a", "c"]}],
    "config": {"onnxPath": "C:/net.onnx", "version": {"versionInfos": [{"packageName": "vaip", "version": "1.8.0"}]}}})"});
  EXPECT_EQ(reported.placed_on, (std::map<std::string, std::string>{{"a", "DPU"}, {"c", "DPU"}}));
  EXPECT_TRUE(reported.lists_npu_only);
  EXPECT_EQ(reported.compiled_model, "C:/net.onnx");
  EXPECT_EQ(reported.compiler, "vaip 1.8.0");
  EXPECT_EQ(reported.subgraphs, (std::map<std::string, size_t>{{"DPU", 1}}));
}

TEST(ReadReportedTest, ReadsPartitionFiles) {
  const Reported reported = must_read({R"({"offload_map": {"AIE": ["conv_1"], "CPU": ["relu_1"]}})",
                                       R"([{"node_name": "relu_1", "op_type": "Relu", "reason": "data type"}, {}])"});
  EXPECT_EQ(reported.placed_on.at("conv_1"), "AIE");
  EXPECT_EQ(reported.reasons.at("relu_1"), "data type");
  EXPECT_EQ(must_read({R"({"offload_map": {"AIE": 5, "CPU": 2}})"}).operators.at("AIE"), 5u);
}

TEST(ReadReportedTest, ReadsTheSummaryOfALog) {
  const Reported reported =
      must_read({"I20250825 vitisai_compile_model.cpp:1157] Load ONNX Model Success\r\n"
                 "[Vitis AI EP] No. of Operators :   CPU     7  VAIML  1178 \r\n"
                 "[Vitis AI EP] No. of Subgraphs :   NPU     2 Actually running on NPU     1\r\n"
                 "Test Passed\r\n"});
  EXPECT_EQ(reported.operators, (std::map<std::string, size_t>{{"CPU", 7}, {"VAIML", 1178}}));
  EXPECT_EQ(reported.subgraphs, (std::map<std::string, size_t>{{"NPU", 2}}));
  EXPECT_EQ(reported.running, 1u);
}

TEST(ReadReportedTest, ReadsSharesAndSummariesOfSeveralLines) {
  EXPECT_EQ(must_read({"[Vitis AI EP] No. of Operators :   CPU     2    IPU   398  99.50%\n"}).operators,
            (std::map<std::string, size_t>{{"CPU", 2}, {"IPU", 398}}));
  const Reported split =
      must_read({"I2025 958 stat.cpp:193] [Vitis AI EP] No. of Operators :\n"
                 "I2025 958 stat.cpp:204]  VAIML   122 \nI2025 958 stat.cpp:213] \n"
                 "I2025 958 stat.cpp:218] [Vitis AI EP] No. of Subgraphs :\n"
                 "I2025 958 stat.cpp:226]    NPU     1 \nI2025 stat.cpp:229] Actually running on NPU      1\n"
                 "I2025 vitisai_compile_model.cpp:1477] AVG CPU Usage 18.75%\n"});
  EXPECT_EQ(split.operators, (std::map<std::string, size_t>{{"VAIML", 122}}));
  EXPECT_EQ(split.subgraphs, (std::map<std::string, size_t>{{"NPU", 1}}));
  EXPECT_EQ(split.running, 1u);
}

TEST(ReadReportedTest, OfSeveralCompilationsTheLastCounts) {
  EXPECT_EQ(must_read({"[Vitis AI EP] No. of Operators : CPU 9\n[Vitis AI EP] No. of Operators : NPU 5\n"}).operators,
            (std::map<std::string, size_t>{{"NPU", 5}}));
}

TEST(ReadReportedTest, OtherLinesOfALogEndTheCounts) {
  const Reported reported =
      must_read({"[Vitis AI EP] No. of Operators :\n  CPU 3\nAVG CPU Usage 18.75%\n  NPU 4\n"
                 "Peak Working Set size 49.8594 MB\n"});
  EXPECT_EQ(reported.operators, (std::map<std::string, size_t>{{"CPU", 3}}));
  EXPECT_NE(message_of("[Vitis AI EP] No. of Operators : CPU").find("neither counts nor nodes"), std::string::npos)
      << "a log that was cut off";
}

TEST(ReadReportedTest, LogsHaveLinesOfAnyForm) {
  const std::vector<std::string> lines = {"xir::Op{",
                                          "xir::Op{}",
                                          "xir::Op{a",
                                          "xir::Op{a} CPU",
                                          "xir::Op{(a)} CPU",
                                          "]",
                                          "[Vitis AI EP]",
                                          "[Vitis AI EP] No. of Subgraphs :",
                                          "CPU 7",
                                          "%",
                                          "7"};
  std::string text = "[Vitis AI EP] No. of Operators : NPU 5\n";
  for (const std::string& line : lines) text += line + "\n";
  const Reported reported = must_read({text});
  EXPECT_EQ(reported.operators, (std::map<std::string, size_t>{{"NPU", 5}}));
  EXPECT_EQ(reported.reasons, (std::map<std::string, std::string>{{"a", "CPU"}}));
}

TEST(ReadReportedTest, ReasonsOfALogCompleteAReport) {
  const std::string log = "[Vitis AI EP] No. of Operators : NPU 99\nxir::Op{name = b, type = relu} stays on CPU\n";
  for (const std::vector<std::string>& order : {std::vector<std::string>{kReport, log}, {log, kReport}}) {
    const Reported reported = must_read(order);
    EXPECT_EQ(reported.nodes.size(), 3u);
    EXPECT_EQ(reported.operators.at("NPU"), 2u) << "the report is exact";
    EXPECT_EQ(reported.reasons.at("b"), "stays on CPU");
  }
}

TEST(ReadReportedTest, ReadsReasonsOfALog) {
  const Reported reported =
      must_read({kReport,
                 "W xir::Op{name = b(TransferRelu), type = relu} is partitioned to CPU as : doesn't supported by "
                 "target [AMD_AIE2P_4x8_CMC_Overlay]\nxir::Op{name = c, type = abs} is on the DPU\n"});
  ASSERT_EQ(reported.reasons.size(), 1u);
  EXPECT_EQ(reported.reasons.at("b"),
            "is partitioned to CPU as : doesn't supported by target [AMD_AIE2P_4x8_CMC_Overlay]");
  EXPECT_EQ(reported.operators.at("NPU"), 2u);
}

TEST(ReadReportedTest, ATruncatedReportNamesThePlace) {
  const std::string text = kReport;
  const std::string message = message_of(text.substr(0, text.size() / 2));
  for (const char* words : {"file0.txt", "line 5, column", "the end of the file", "complete JSON", "compile again"})
    EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(ReadReportedTest, EveryPrefixIsRejected) {
  const std::string text = kReport;
  for (size_t size = 1; size + 1 < text.size(); size += 7) (void)message_of(text.substr(0, size));
}

TEST(ReadReportedTest, CountsThatDoNotAddUpAreRejected) {
  EXPECT_NE(message_of(with("\"nodeNum\": 3", "\"nodeNum\": 4")).find("found 3 nodes, allowed is the 4 nodes"),
            std::string::npos);
  EXPECT_NE(message_of(with("\"CPU\", \"nodeNum\": 1", "\"CPU\", \"nodeNum\": 2")).find("devices with 4 nodes"),
            std::string::npos);
  EXPECT_NE(message_of(with("\"Abs\", \"device\": \"NPU\"", "\"Abs\", \"device\": \"CPU\"")).find("2 nodes on the NPU"),
            std::string::npos);
}

TEST(ReadReportedTest, FaultyMembersAreNamed) {
  const struct {
    std::string text, words;
  } cases[] = {
      {with("\"nodeNum\": 3", "\"nodeNum\": -3"), "deviceStat[0].nodeNum: found -3, allowed is a number of nodes"},
      {with("\"nodeNum\": 3", "\"nodeNum\": 1e300"), "deviceStat[0].nodeNum: found 1e+300"},
      {with("\"nodeNum\": 3", "\"nodeNum\": 99999999999"), "deviceStat[0].nodeNum: found 99999999999"},
      {with("\"name\": \"all\"", "\"name\": 7"), "deviceStat[0].name: found 7, allowed is a name"},
      {with("\"opType\": \"Relu\"", "\"opType\": \"\""), "nodeStat[1].opType: found \"\", allowed is a name"},
      {with("\"device\": \"CPU\"}", "\"op\": \"CPU\"}"), "nodeStat[1].device: found nothing"},
      {with("[\"b\"]", "\"b\""), "nodeStat[1].output: found string, allowed is a list of tensors"},
      {with("[\"b\"]", "[[\"b\"]]"), "nodeStat[1].output: found array, allowed is names of tensors"},
      {with("\"nodeStat\": [", "\"nodeStat\": [5, "), "nodeStat[0]: found number, allowed is a map"},
      {R"({"nodeStat": []})", "deviceStat: found nothing, allowed is a list of devices"},
      {R"({"deviceStat": []})", "nodeStat: found nothing, allowed is a list of nodes"},
      {R"({"deviceStat": {}})", "deviceStat: found object, allowed is a list"},
      {R"({"metaDef": 3})", "metaDef: found number, allowed is a list of parts"},
      {R"({"metaDef": [{"nodes": []}]})", "metaDef[0]: has no device"},
      {R"({"metaDef": [{"device": "DPU", "nodes": [1]}]})", "metaDef[0].nodes: found number"},
      {R"({"offload_map": [1]})", "offload_map: found array, allowed is a map"},
      {R"({"offload_map": {"AIE": {}}})", "offload_map.AIE: found object"},
      {R"([5])", "found no report of a compiler"},
      {R"([{"node_name": "a", "reason": "b"}])", "found neither counts nor nodes"},
      {R"({"nodes": []})", "found JSON without nodeStat, metaDef or offload_map"},
      {"", "found no report of a compiler"},
      {"nothing here\n", "found no report of a compiler"},
      {std::string(100000, '['), "found no report of a compiler"},
      {"{\"a\": " + std::string(100000, '['), "nested too deeply"},
      {R"({"deviceStat": 1e999})", "a number out of range"},
  };
  for (const auto& one : cases) {
    const std::string message = message_of(one.text);
    EXPECT_NE(message.find(one.words), std::string::npos) << message;
    EXPECT_NE(message.find("file0.txt"), std::string::npos) << message;
  }
}

TEST(ReadReportedTest, AMissingFileIsAWrongArgument) {
  const Result<Reported> reported = read_reported({"no/such/file.json"});
  ASSERT_FALSE(reported.ok());
  EXPECT_EQ(reported.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quarkq::pipeline
