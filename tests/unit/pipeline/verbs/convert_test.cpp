// SPDX-License-Identifier: MIT
// convert(): steps in order, in memory and to files, and what is refused before anything is written.
#include "quarkq/convert.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "onnx_io/load.h"
#include "onnx_io/save.h"
#include "support/pass_support.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

namespace fs = std::filesystem;

const char* const kQuantized =
    "g (float[2, 2] x) => (float[2, 2] y) <float s = {0.02}, int8 z = {0}> { q = QuantizeLinear (x, s, z) "
    "d = DequantizeLinear (q, s, z) t = Sigmoid (d) p = QuantizeLinear (t, s, z) y = DequantizeLinear (p, s, z) }";

ConvertRequest memory_request(std::vector<std::string> passes, const char* body = kQuantized) {
  ConvertRequest request;
  request.model_path = "net.onnx";
  request.model_bytes = onnx_io::to_bytes(test::model_of(body));
  request.in_memory = true;
  request.passes = std::move(passes);
  return request;
}

size_t nodes_of(const std::string& bytes) { return onnx_io::load_bytes(bytes, "m").value().graph.order().size(); }

TEST(ConvertTest, StepsRunInTheirOrder) {
  const auto report = convert(memory_request({"s8s8-to-u8s8", "u8s8-to-s8s8", "remove-qdq"}));
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report.value().passes.size(), 3U);
  const size_t changes[] = {2, 2, 2};
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(report.value().passes[i].changes, changes[i]) << i;
  EXPECT_EQ(report.value().passes[2].nodes_before, 5U);
  EXPECT_EQ(report.value().passes[2].nodes_after, 1U);
  EXPECT_EQ(nodes_of(report.value().model), 1U);
  EXPECT_EQ(report.value().bytes, report.value().model.size());
}

TEST(ConvertTest, DifferencesAreMeasured) {
  const auto report = convert(memory_request({"s8s8-to-u8s8", "remove-qdq", "remove-qdq"})).value();
  EXPECT_EQ(report.passes[0].difference, 0.0);
  EXPECT_EQ(report.passes[0].claim, "equal");
  ASSERT_TRUE(report.passes[1].difference.has_value());
  EXPECT_GT(*report.passes[1].difference, 0);
  EXPECT_LT(*report.passes[1].difference, 0.1);
  EXPECT_FALSE(report.passes[2].difference.has_value()) << "nothing changed";
}

TEST(ConvertTest, WithoutPassesTheModelIsWrittenAsItIs) {
  const ConvertRequest request = memory_request({});
  const auto report = convert(request);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(nodes_of(report.value().model), nodes_of(*request.model_bytes));
}

TEST(ConvertTest, StrictRefusesWhatFindsNothingOrLeavesSomething) {
  ConvertRequest nothing = memory_request({"u8s8-to-s8s8"});
  EXPECT_TRUE(convert(nothing).ok());
  nothing.strict = true;
  EXPECT_NE(convert(nothing).status().message().find("found nothing to convert"), std::string::npos);
  ConvertRequest leaves = memory_request({"qdq-to-qoperator"},
                                         "g (float[2] x) => (float[2] y) <float s = {0.1}, int8 z = {0}> { "
                                         "q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) y = Exp (d) }");
  EXPECT_EQ(convert(leaves).value().passes[0].left.size(), 1U);
  leaves.strict = true;
  const Status status = convert(leaves).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("net.onnx: --pass qdq-to-qoperator: node y (Exp)"), std::string::npos)
      << status.message();
}

TEST(ConvertTest, FilesAreCompleteOrAbsent) {
  const test::TempFolder folder;
  ConvertRequest request = memory_request({"remove-qdq"});
  request.in_memory = false;
  request.output_path = (folder / "out.onnx");
  ASSERT_TRUE(convert(request).ok()) << convert(request).status().message();
  EXPECT_TRUE(fs::exists(request.output_path));
  ConvertRequest fails = request;
  fails.output_path = (folder / "other.onnx");
  fails.passes = {"remove-qdq", "fp32-to-fp16:subgraphs=[[[nobody],[]]]"};
  EXPECT_EQ(convert(fails).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(fs::exists(fails.output_path));
  fails.passes = {"weight-histograms:folder=" + (folder / "hist"), "convert-opset-version:version=99"};
  EXPECT_FALSE(convert(fails).ok());
  EXPECT_FALSE(fs::exists((folder / "hist"))) << "what a step made before is not written";
}

TEST(ConvertTest, TextByTheNameOfTheFile) {
  const test::TempFolder folder;
  ConvertRequest request = memory_request({});
  request.in_memory = false;
  request.output_path = (folder / "m.pbtxt");
  ASSERT_TRUE(convert(request).ok());
  ConvertRequest back;
  back.model_path = request.output_path;
  back.output_path = (folder / "m.onnx");
  const auto report = convert(back);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(onnx_io::to_bytes(onnx_io::load(back.output_path).value()), *request.model_bytes);
}

TEST(ConvertTest, ExternalDataOnRequest) {
  const test::TempFolder folder;
  ConvertRequest request = memory_request({"remove-qdq"});
  request.in_memory = false;
  request.external_data = true;
  request.output_path = (folder / "m.onnx");
  EXPECT_TRUE(convert(request).ok());
  EXPECT_TRUE(fs::exists(request.output_path));
}

TEST(ConvertTest, OnlyWhatReadsNeedsNoOutput) {
  const test::TempFolder folder;
  ConvertRequest request = memory_request({"weight-histograms:folder=" + (folder / "hist")});
  request.in_memory = false;
  const auto report = convert(request);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().files.size(), 4U) << "s and z, each as numbers and as a picture";
  for (const std::string& file : report.value().files) EXPECT_TRUE(fs::exists(file)) << file;
  request.passes.push_back("remove-qdq");
  EXPECT_NE(convert(request).status().message().find("--output is missing"), std::string::npos);
  request.passes.clear();
  EXPECT_EQ(convert(request).status().code(), Code::kInvalidArgument);
}

TEST(ConvertTest, NamesAreCheckedBeforeTheModelIsRead) {
  ConvertRequest request = memory_request({"no-such-pass"});
  request.model_bytes = "no model";
  EXPECT_EQ(convert(request).status().code(), Code::kInvalidArgument);
  request.passes = {"remove-qdq"};
  EXPECT_EQ(convert(request).status().code(), Code::kCorruptModel);
}

TEST(ConvertTest, TheReportAsJson) {
  const std::string json = to_json(convert(memory_request({"qdq-to-qoperator"})).value());
  for (const char* part :
       {"\"name\": \"qdq-to-qoperator\"", "\"outputs\": \"rounded\"", "\"changes\": 1", "\"files\": []"})
    EXPECT_NE(json.find(part), std::string::npos) << json;
}

}  // namespace
}  // namespace quarkq
