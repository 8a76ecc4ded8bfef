// SPDX-License-Identifier: MIT
#include "support/pass_case.h"

#include <algorithm>
#include <set>

#include "support/golden_text.h"
#include "support/pass_bench.h"

namespace quarkq::test {
namespace {

const char* const kSelect = "select-nodes";

std::vector<PassCase>& all_cases() {
  static std::vector<PassCase> cases;
  return cases;
}

/// `text` with its only `from` replaced.
std::string changed(const std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the model does not say: " << from;
  if (at == std::string::npos) return text;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << "the model says more than once: " << from;
  return text.substr(0, at) + to + text.substr(at + from.size());
}

/// The model of the case as the pass gets it, changed as `guard` says.
std::unique_ptr<PassStage> stage_of(const PassCase& row, const PassGuard& guard = {}) {
  std::vector<std::string> sets = row.sets;
  sets.insert(sets.end(), guard.sets.begin(), guard.sets.end());
  const std::string body = guard.from.empty() ? row.model : changed(row.model, guard.from, guard.to);
  auto stage = std::make_unique<PassStage>(model_of(body, row.opset), settings_for(row.preset, sets));
  if (row.start == PassStart::kInOrder) stage->run_before(row.pass);
  if (row.start == PassStart::kAsWritten && row.pass != kSelect) stage->run(kSelect);
  return stage;
}

// What a pass on the plan returns says that it decided, not that it decided something new: there the text counts.
class PassCaseTest : public testing::TestWithParam<PassCase> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PassCaseTest);

TEST_P(PassCaseTest, Fires) {
  const auto stage = stage_of(GetParam());
  const std::string before = stage->exact_text();
  const bool fired = stage->run(GetParam().pass);
  EXPECT_TRUE(fired || GetParam().outputs == PassOutputs::kPlan);
  EXPECT_NE(stage->exact_text(), before);
}

TEST_P(PassCaseTest, KeepsWhatItsGuardsExclude) {
  EXPECT_EQ(GetParam().guards.empty(), GetParam().always) << "no guard has a row";
  for (const PassGuard& guard : GetParam().guards) {
    SCOPED_TRACE(guard.name);
    const auto stage = stage_of(GetParam(), guard);
    const std::string before = stage->exact_text();
    const bool fired = stage->run(GetParam().pass);
    EXPECT_FALSE(fired && GetParam().outputs != PassOutputs::kPlan);
    EXPECT_EQ(stage->exact_text(), before);
  }
}

TEST_P(PassCaseTest, TwiceIsOnce) {
  if (GetParam().once) return;
  const auto stage = stage_of(GetParam());
  stage->run(GetParam().pass);
  const std::string once = stage->exact_text();
  const bool again = stage->run(GetParam().pass);
  EXPECT_FALSE(again && GetParam().outputs != PassOutputs::kPlan);
  EXPECT_EQ(stage->exact_text(), once);
}

TEST_P(PassCaseTest, TheGraphVerifies) {
  const auto stage = stage_of(GetParam());
  ASSERT_EQ(ir::verify(stage->model().graph).message(), "");
  stage->run(GetParam().pass);
  EXPECT_EQ(ir::verify(stage->model().graph).message(), "");
}

TEST_P(PassCaseTest, TheOutputsStay) {
  if (GetParam().outputs == PassOutputs::kChange) return;
  const auto stage = stage_of(GetParam());
  const ir::Model before = stage->model();
  stage->run(GetParam().pass);
  if (GetParam().outputs == PassOutputs::kPlan) {
    EXPECT_EQ(ir::dump(stage->model()), ir::dump(before)) << "a pass on the plan changed the model";
  } else {
    expect_same_outputs(before, stage->model(), GetParam().tolerance);
  }
}

TEST_P(PassCaseTest, ReadsAsRecorded) {
  const auto stage = stage_of(GetParam());
  const bool plan = GetParam().outputs == PassOutputs::kPlan;
  const std::string before = stage->text(plan);
  stage->run(GetParam().pass);
  expect_golden(cat("passes/", GetParam().pass, "/", GetParam().name, ".txt"),
                cat("before\n", before, "\nafter\n", stage->text(plan)));
}

std::string test_name(const testing::TestParamInfo<PassCase>& info) {
  std::string name = info.param.pass + "_" + info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, PassCaseTest, testing::ValuesIn(all_cases()), test_name);

TEST(PassCasesTest, EveryPassHasOne) {
  std::set<std::string> covered;
  for (const PassCase& row : all_cases()) covered.insert(row.pass);
  std::string without;
  for (const std::string& pass : pass_names()) without += covered.contains(pass) ? "" : pass + "\n";
  EXPECT_EQ(without, "") << "these passes have no five proofs";
}

}  // namespace

bool add_pass_cases(std::vector<PassCase> cases) {
  all_cases().insert(all_cases().end(), cases.begin(), cases.end());
  return true;
}

}  // namespace quarkq::test
