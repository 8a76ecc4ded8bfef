// SPDX-License-Identifier: MIT
// What is refused before anything is computed: outputs that cannot be written, requests that contradict themselves.
#include "pipeline/report/verify.h"
#include "pipeline/run/plan_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "unit/base/temp_folder.h"

namespace quarkq::pipeline {
namespace {

std::string refusal(const Status& status) { return status.ok() ? "taken" : status.message(); }

class CheckOutputTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  test::TempFolder folder_;
};

TEST_F(CheckOutputTest, TakesAPathThatCanBeWrittenAndLeavesNothing) {
  std::ofstream(at("in.onnx")) << "model";
  EXPECT_EQ(refusal(check_output(at("in.onnx"), at("out.onnx"))), "taken");
  EXPECT_FALSE(std::filesystem::exists(at("out.onnx")));
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.onnx"}) << "the trial file is removed";
  std::ofstream(at("old.onnx")) << "kept";
  EXPECT_EQ(refusal(check_output(at("in.onnx"), at("old.onnx"))), "taken");
  std::string content;
  std::ifstream(at("old.onnx")) >> content;
  EXPECT_EQ(content, "kept") << "what is there stays until the result is complete";
}

TEST_F(CheckOutputTest, RefusesTheInputUnderAnyName) {
  std::ofstream(at("in.onnx")) << "model";
  std::filesystem::create_symlink(at("in.onnx"), at("link.onnx"));
  for (const std::string& name : {at("in.onnx"), at("./in.onnx"), at("link.onnx")})
    EXPECT_NE(refusal(check_output(at("in.onnx"), name)), "taken") << name;
}

TEST_F(CheckOutputTest, NamesWhatIsMissing) {
  EXPECT_EQ(check_output(at("in.onnx"), at("no/out.onnx")).code(), Code::kIo);
  EXPECT_NE(refusal(check_output(at("in.onnx"), at("no/out.onnx"))).find("no such folder"), std::string::npos);
  std::ofstream(at("file")) << "no folder";
  EXPECT_FALSE(check_output(at("in.onnx"), at("file/out.onnx")).ok());
}

struct Asked {
  const char* name;
  bool verify;
  std::vector<std::string> requirements;
  bool has_metric, has_folder;
  const char* said;
};

class CheckRequestTest : public ::testing::TestWithParam<Asked> {};
INSTANTIATE_TEST_SUITE_P(
    Requests, CheckRequestTest,
    ::testing::Values(
        Asked{"nothing", true, {}, false, false, "taken"}, Asked{"unverified", false, {}, false, false, "taken"},
        Asked{"cosine", true, {"cos>=0.9"}, false, false, "taken"},
        Asked{"unverified cosine", false, {"cos>=0.9"}, false, false, "--require: needs the comparison"},
        Asked{"metric", true, {"metric>=0.5"}, true, false, "taken"},
        Asked{"metric of nobody", true, {"metric>=0.5"}, false, false, "needs a metric of the caller's own"},
        Asked{"unverified metric", false, {"metric>=0.5"}, true, false, "--require: needs the comparison"},
        Asked{"samples", true, {}, false, true, "taken"},
        Asked{"unverified samples", false, {}, false, true, "--eval: needs the comparison"},
        Asked{"no requirement", true, {"size<=3"}, false, false, "size<=3"},
        Asked{"no number", true, {"cos>=high"}, false, false, "cos>=high"}),
    [](const auto& row) {
      std::string name = row.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST_P(CheckRequestTest, OptionsThatContradictEachOtherAreNamed) {
  const Asked& asked = GetParam();
  QuantizeRequest request;
  request.verify = asked.verify;
  request.requirements = asked.requirements;
  if (asked.has_metric) request.metric = [](size_t, const auto&, const auto&) -> Result<double> { return 0.0; };
  if (asked.has_folder) request.eval_folder = "samples";
  const Status status = check_request(request);
  EXPECT_NE(refusal(status).find(asked.said), std::string::npos) << refusal(status);
  EXPECT_TRUE(status.ok() || status.code() == Code::kInvalidArgument);
}

}  // namespace
}  // namespace quarkq::pipeline
