// SPDX-License-Identifier: MIT
// Plans of random models: what is simulated is what is written, to the bit; what is written reads back as the plan;
// excluded nodes stay as they are.
#include <gtest/gtest.h>

#include "exec/simulate.h"
#include "ir/quantizing_ops.h"
#include "plan/lowering/lower.h"
#include "qdq/import/lift.h"
#include "support/grown_model.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

class RandomPlansTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(test::grow_model(drawn, 10, drawn_model)); }
  /// Up to the plan that would be written.
  void plan(PassBench& bench) {
    samples = std::make_unique<test::RandomSamples>(bench.graph(), 3);
    bench.context.source.data = samples.get();
    std::vector<PassTime> times;
    const Status planned = pipeline::run_passes(bench.context, {.until = Phase::kWrite}, times, {});
    ASSERT_TRUE(planned.ok()) << planned.message();
  }
  std::vector<ir::Tensor> run(const ir::Model& model) {
    exec::Session session(model, {}, {});
    const auto found = session.run(samples->read(0).value().inputs);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found.value() : std::vector<ir::Tensor>{};
  }

  test::RandomGraph drawn{GetParam()};
  ir::Model drawn_model;
  std::unique_ptr<test::RandomSamples> samples;
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlansTest, ::testing::Range(200u, 205u));

TEST_P(RandomPlansTest, TheSimulationIsTheWrittenModel) {
  for (const char* preset : {"XINT8", "A8W8", "BFP16"}) {
    SCOPED_TRACE(preset);
    PassBench bench(drawn_model, test::settings_for(preset));
    ASSERT_NO_FATAL_FAILURE(plan(bench));
    const Result<ir::Model> simulated = exec::simulate(bench.model, bench.context.plan);
    ASSERT_TRUE(simulated.ok()) << simulated.status().message();
    bench.run(write_qdq);
    const std::vector<ir::Tensor> tried = run(simulated.value()), written = run(bench.model);
    ASSERT_EQ(tried.size(), written.size());
    for (size_t i = 0; i < tried.size(); ++i) EXPECT_TRUE(tried[i].same_as(written[i])) << "output " << i;
  }
}

TEST_P(RandomPlansTest, TheWrittenModelReadsBackAsItself) {
  for (const char* preset : {"XINT8", "A8W8"}) {
    SCOPED_TRACE(preset);
    PassBench bench(drawn_model, test::settings_for(preset));
    ASSERT_NO_FATAL_FAILURE(plan(bench));
    bench.run(write_qdq);
    const std::vector<ir::Tensor> written = run(bench.model);
    Result<qdq::LiftedModel> lifted = qdq::lift(bench.model);
    ASSERT_TRUE(lifted.ok()) << lifted.status().message();
    ASSERT_EQ(ir::verify(lifted.value().model.graph).message(), "");
    for (const ir::NodeId id : lifted.value().model.graph.order()) {
      EXPECT_EQ(ir::quantizing_part(&lifted.value().model.graph.node(id)), ir::QuantizingPart::kNone)
          << lifted.value().model.graph.label(id);
    }
    lifted.value().plan.operators = bench.context.plan.operators;
    const Result<ir::Model> again = exec::simulate(lifted.value().model, lifted.value().plan);
    ASSERT_TRUE(again.ok()) << again.status().message();
    const std::vector<ir::Tensor> found = run(again.value());
    ASSERT_EQ(found.size(), written.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(found[i].same_as(written[i])) << "output " << i;
  }
}

TEST_P(RandomPlansTest, EverySlotCanBeWritten) {
  for (const char* preset : {"XINT8", "A8W8", "U8S8_AAWS", "S16S16_MIXED_S8S8"}) {
    SCOPED_TRACE(preset);
    PassBench bench(drawn_model, test::settings_for(preset));
    ASSERT_NO_FATAL_FAILURE(plan(bench));
    for (const plan::QuantSlot& slot : bench.context.plan.slots()) {
      SCOPED_TRACE(bench.graph().value(slot.value).name);
      ASSERT_TRUE(bench.graph().is_alive(slot.value));
      if (slot.state == plan::SlotState::kAbsorbed) continue;
      const plan::ParamList& params = bench.context.plan.params[slot.stage.params];
      ASSERT_FALSE(params.empty());
      const numeric::IntegerRange full = numeric::integer_range(slot.stage.spec.type, numeric::RangeKind::kFull);
      for (const numeric::QuantParams& one : params) {
        EXPECT_TRUE(std::isfinite(one.scale) && one.scale > 0) << one.scale;
        EXPECT_TRUE(full.min <= one.zero_point && one.zero_point <= full.max) << one.zero_point;
      }
      const std::optional<ir::Tensor>& constant = bench.graph().value(slot.value).constant;
      if (!slot.codes || !constant) continue;
      EXPECT_EQ(slot.codes->dims(), constant->dims());
    }
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
