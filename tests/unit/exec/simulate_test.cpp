// SPDX-License-Identifier: MIT
// What the executor gives for a plan is what it gives for the written model, bit for bit.
#include "exec/simulate.h"

#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// Convolutions with fused and removable activations, a residual sum, shared scales, a product and a second output.
const std::string kNet = cat(
    "g (float[1, 3, 8, 8] x) => (float[1, 5] y, float[1, 4, 8, 8] s) <float[4, 3, 3, 3] w = ", test::numbers(108, 1),
    ", float[4] b = ", test::numbers(4, 2), ", float[4, 4, 1, 1] v = ", test::numbers(16, 3),
    ", float[64, 5] m = ", test::numbers(320, 4), ", float lo = {0}, float six = {6}, int64[2] shape = {1, 64}> {\n",
    "c = Conv<pads = [1, 1, 1, 1]> (x, w, b)\n r = Relu (c)\n d = Conv (r, v)\n k = Clip (d, lo, six)\n",
    "a = Add (k, r)\n s = Sigmoid (a)\n p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]> (s)\n",
    "q = Mul (p, p)\n f = Reshape (q, shape)\n y = MatMul (f, m)\n}");

struct Case {
  const char* name;
  const char* preset;
  std::vector<std::string> sets = {};
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class SimulateTest : public testing::TestWithParam<Case> {};

TEST_P(SimulateTest, GivesTheBitsOfTheWrittenModel) {
  PassBench bench(test::model_of(kNet), test::settings_for(GetParam().preset, GetParam().sets));
  const test::RandomSamples samples(bench.graph(), 4);
  bench.context.source.data = &samples;
  std::vector<PassTime> times;
  const Status planned = pipeline::run_passes(bench.context, {.until = Phase::kWrite}, times, {});
  ASSERT_TRUE(planned.ok()) << planned.message();
  const std::string before = ir::dump(bench.model);
  const Result<ir::Model> simulated = exec::simulate(bench.model, bench.context.plan);
  ASSERT_TRUE(simulated.ok()) << simulated.status().message();
  EXPECT_EQ(ir::dump(bench.model), before);
  EXPECT_EQ(ir::verify(simulated.value().graph).message(), "");
  size_t fake = 0, pairs = 0;
  for (const ir::NodeId id : simulated.value().graph.order()) {
    const ir::Node& node = simulated.value().graph.node(id);
    fake += node.op == "FakeQuantize" ? 1 : 0;
    EXPECT_TRUE(node.op != "QuantizeLinear" && node.op != "ExtendedQuantizeLinear") << node.name;
  }
  bench.run(write_qdq);
  for (const ir::NodeId id : bench.graph().order())
    pairs +=
        bench.graph().node(id).op.ends_with("QuantizeLinear") && !bench.graph().node(id).op.starts_with("De") ? 1 : 0;
  EXPECT_EQ(fake, pairs);
  exec::Session plan_session(simulated.value(), {}, {}), written_session(bench.model, {}, {});
  for (size_t i = 0; i < samples.size(); ++i) {
    const calib::Sample sample = samples.read(i).value();
    const auto a = plan_session.run(sample.inputs), b = written_session.run(sample.inputs);
    ASSERT_TRUE(a.ok() && b.ok()) << a.status().message() << b.status().message();
    for (size_t k = 0; k < a.value()->size(); ++k)
      EXPECT_TRUE((*a.value())[k].same_as((*b.value())[k])) << "output " << k;
  }
}

const char* const kWide = "TensorQuantOverrides={r: [{quant_type: ExtendedQuantType.QInt16}]}";
const char* const kMixed =
    "AutoMixprecision={TargetLayerConfig: {input_tensors: {spec: Int16Spec}, weight: {spec: Int16Spec}}, DataSize: 2, "
    "MetricThreshold: 0, DualQuantNodes: true}";

INSTANTIATE_TEST_SUITE_P(
    Plans, SimulateTest,
    testing::Values(Case{"xint8", "XINT8"}, Case{"vint8", "VINT8"}, Case{"a8w8", "A8W8"}, Case{"a16w8", "A16W8"},
                    Case{"u8s8", "U8S8_AAWS"}, Case{"s16", "S16S16_MIXED_S8S8"}, Case{"bf16", "BF16"},
                    Case{"bfp16", "BFP16"}, Case{"mx9", "MX9"}, Case{"fp16", "FP16"},
                    Case{"per_channel", "A8W8", {"per_channel=true"}},
                    Case{"dedicated", "A8W8", {"DedicatedQDQPair=true"}},
                    Case{"dual", "A8W8", {kWide, "EnableDualQuantNodePairs=true"}},
                    Case{"no_pairs_between", "XINT8", {"RemoveQDQBetweenOps=[[Conv, Add], [Mul, Reshape]]"}},
                    Case{"pairs_on_weights", "A8W8", {"AddQDQPairToWeight=true"}},
                    Case{"gptq", "A8W8", {"UseGPTQ=true"}}, Case{"bias", "XINT8", {"BiasCorrection=true"}},
                    Case{"int16_bias", "A8W8", {"Int16Bias=true", "ConvertOpsetVersion=21"}},
                    Case{"mixed", "A8W8", {"include_auto_mp=true", kMixed}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quarkq::pass_tests
