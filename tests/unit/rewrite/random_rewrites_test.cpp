// SPDX-License-Identifier: MIT
// Every pass that preserves the function of a float model, on random models: the graph verifies, the outputs and their
// names stay, and a second run changes nothing.
#include <gtest/gtest.h>

#include "support/grown_model.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

bool is_rewrite(const PassInfo& pass) {
  return pass.phase >= Phase::kConvert && pass.phase <= Phase::kAdapt && pass.effect == Effect::kKeeps &&
         std::string_view(pass.name) != "rotate-weights";  // needs a file that names layers
}

class RandomRewritesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(test::grow_model(drawn, 12, drawn_model)); }
  void expect_outputs(const ir::Model& model) {
    exec::Session session(model, {}, {});
    const auto found = session.run(std::vector{drawn.input()});
    ASSERT_TRUE(found.ok()) << found.status().message();
    const std::vector<ir::ValueId>& before = drawn.model().graph.outputs();
    ASSERT_EQ(found.value()->size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) {
      const std::string& name = drawn.model().graph.value(before[i]).name;
      SCOPED_TRACE(name);
      EXPECT_EQ(model.graph.value(model.graph.outputs()[i]).name, name);
      ASSERT_EQ((*found.value())[i].dims(), drawn.result(before[i]).dims());
      test::expect_near((*found.value())[i], test::values(drawn.result(before[i])), 1e-3);
    }
  }

  test::RandomGraph drawn{GetParam()};
  ir::Model drawn_model;
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomRewritesTest, ::testing::Range(100u, 110u));

TEST_P(RandomRewritesTest, EachPassAloneKeepsTheOutputs) {
  for (const PassInfo& pass : pipeline::all_passes()) {
    if (!is_rewrite(pass)) continue;
    SCOPED_TRACE(pass.name);
    PassBench bench(drawn_model);
    const test::RandomSamples samples(bench.graph(), 2);
    bench.context.source.data = &samples;
    bench.run(select_nodes);
    if (!bench.run(pass.run)) continue;
    expect_outputs(bench.model);
    if (std::string_view(pass.name) == "smooth-quant") continue;  // divides by what it finds, each time
    const std::string once = ir::dump(bench.model);
    EXPECT_FALSE(bench.run(pass.run)) << "a second run says that it changed something";
    EXPECT_EQ(ir::dump(bench.model), once);
  }
}

TEST_P(RandomRewritesTest, AllOfThemTogetherKeepTheOutputs) {
  for (const char* preset : {"A8W8", "XINT8"}) {
    SCOPED_TRACE(preset);
    PassBench bench(drawn_model, test::settings_for(preset, {"include_cle=true", "ReplaceClip6Relu=false"}));
    for (const PassInfo& pass : pipeline::all_passes()) {
      if (pass.phase == Phase::kSelect || (is_rewrite(pass) && pass.enabled(bench.settings))) bench.run(pass.run);
    }
    expect_outputs(bench.model);
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
