// SPDX-License-Identifier: MIT
// A pass that makes a float model worse is found, undone and named; the others stay.
#include "pipeline/run/pass_runner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/pass_support.h"

namespace quarkq::pipeline {
namespace {

using pass::Effect;
using pass::PassInfo;
using pass::Phase;

/// Every initializer times `factor`.
Result<Changed> scale_weights(pass::FloatContext& context, float factor) {
  ir::GraphEdit edit(context.graph());
  for (const ir::ValueId id : context.graph().initializers()) {
    ir::Tensor tensor = *context.graph().value(id).constant;
    for (float& value : tensor.mutable_data<float>()) value *= factor;
    edit.set_constant(id, tensor);
  }
  return Changed::kYes;
}

bool always(const config::Settings&) { return true; }
Result<Changed> round_a_little(pass::FloatContext& context) { return scale_weights(context, 1.0000005f); }
Result<Changed> spoil(pass::FloatContext& context) {
  context.diagnostics.add("cle-skipped", "", "by 1.5");
  return scale_weights(context, 1.5f);
}
Result<Changed> fail(pass::FloatContext&) { return internal_error("it cannot do this model"); }
Result<Changed> do_nothing(pass::FloatContext&) { return Changed::kNo; }

constexpr PassInfo kRound{"round-a-little", Phase::kPrepare, Effect::kKeeps, round_a_little, always, ""};
constexpr PassInfo kSpoil{"spoil", Phase::kPrepare, Effect::kKeeps, spoil, always, ""};
constexpr PassInfo kMeant{"spoil-on-purpose", Phase::kPrepare, Effect::kChanges, spoil, always, ""};
constexpr PassInfo kFail{"fail", Phase::kPrepare, Effect::kKeeps, fail, always, ""};
constexpr PassInfo kNothing{"do-nothing", Phase::kPrepare, Effect::kKeeps, do_nothing, always, ""};

class RunnerTest : public testing::Test {
 protected:
  RunnerTest()
      : bench_(
            "g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}> "
            "{ c = Conv(x, w)  y = Relu(c) }") {
    calib::Sample sample;
    sample.inputs.push_back(ir::Tensor::zeros(ElementType::kFloat, {1, 2, 4, 4}));
    float next = -1;
    for (float& value : sample.inputs[0].mutable_data<float>()) value = next += 0.1f;
    Result<pass::OutputGuard> guard = pass::OutputGuard::make(bench_.model, {}, sample);
    EXPECT_TRUE(guard.ok()) << guard.status().message();
    guard_.emplace(std::move(guard).value());
    options_.guard = &*guard_;
  }

  float first_weight() const {
    const ir::Graph& graph = bench_.model.graph;
    return graph.value(graph.initializers()[0]).constant->data<float>()[0];
  }
  std::vector<std::string> kept() const {
    std::vector<std::string> names;
    for (const PassTime& time : times_) names.push_back(time.name);
    return names;
  }

  test::PassBench bench_;
  std::optional<pass::OutputGuard> guard_;
  RunnerOptions options_;
  std::vector<PassTime> times_;
};

TEST_F(RunnerTest, RoundingIsNoHarm) {
  ASSERT_TRUE(run_phase(bench_.context, {&kNothing, &kRound}, times_, options_).ok());
  EXPECT_EQ(kept(), (std::vector<std::string>{"do-nothing", "round-a-little"}));
  EXPECT_TRUE(bench_.diagnostics.all().empty());
}

TEST_F(RunnerTest, TheGuiltyPassIsUndoneAndNamed) {
  ASSERT_TRUE(run_phase(bench_.context, {&kRound, &kSpoil, &kRound}, times_, options_).ok());
  EXPECT_EQ(kept(), (std::vector<std::string>{"round-a-little", "round-a-little"}));
  EXPECT_NEAR(first_weight(), 1.000001f, 2e-7);
  ASSERT_EQ(bench_.diagnostics.all().size(), 1u);  // what the undone pass reported is undone, too
  EXPECT_EQ(bench_.diagnostics.all()[0].id, "pass-rolled-back");
  EXPECT_EQ(bench_.diagnostics.all()[0].subject, "spoil");
}

TEST_F(RunnerTest, APassThatFailsIsUndoneWhenOutputsAreGuarded) {
  const Status status = run_phase(bench_.context, {&kMeant, &kFail}, times_, options_);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(kept(), (std::vector<std::string>{"spoil-on-purpose"}));
  EXPECT_EQ(bench_.diagnostics.all().back().subject, "fail");
  options_.guard = nullptr;
  EXPECT_FALSE(run_phase(bench_.context, {&kFail}, times_, options_).ok());
}

TEST_F(RunnerTest, WhatIsMeantToChangeOutputsMay) {
  ASSERT_TRUE(run_phase(bench_.context, {&kMeant, &kRound}, times_, options_).ok());
  EXPECT_EQ(kept(), (std::vector<std::string>{"spoil-on-purpose", "round-a-little"}));
  EXPECT_NEAR(first_weight(), 1.5f, 1e-5);
}

TEST_F(RunnerTest, WithoutAGuardNothingIsCompared) {
  options_.guard = nullptr;
  ASSERT_TRUE(run_phase(bench_.context, {&kSpoil}, times_, options_).ok());
  EXPECT_EQ(first_weight(), 1.5f);
}

}  // namespace
}  // namespace quarkq::pipeline
