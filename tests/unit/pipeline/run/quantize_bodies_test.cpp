// SPDX-License-Identifier: MIT
// Bodies as models of their own, the calls that are their samples, and what the executor announces of them.
#include "pipeline/run/write_plan.h"

#include "ir/check_graph.h"
#include "ir/traversal.h"
#include "support/legalize_samples.h"

namespace quarkq::pipeline {
namespace {

const std::string kLoop =
    cat("g (float[1, 2] x) => (float[1, 2] y) <int64 n = {100}, float[2, 2] w = ", test::numbers(4, 1),
        "> { y = Loop <body = b (int64 i, bool c, float[1, 2] v) => (bool d, float[1, 2] r) "
        "{ d = Identity (c) m = MatMul (v, w) r = Tanh (m) }> (n, , x) }");

const ir::Graph& body_of_first(const ir::Model& model) {
  return *ir::nested_graphs(model.graph.node(model.graph.order().front())).front();
}

BodyModel body_model(const ir::Model& model) {
  return make_body_model(model, model.graph.node(model.graph.order().front()), body_of_first(model)).value();
}

TEST(BodyModelTest, StoresWhatTheGraphAroundStores) {
  const ir::Model model = test::model_of(kLoop);
  const BodyModel made = body_model(model);
  EXPECT_TRUE(ir::verify(made.model.graph).ok());
  EXPECT_TRUE(made.model.graph.captured().empty());
  ASSERT_EQ(made.stand_ins.size(), 1u);
  EXPECT_EQ(made.stand_ins[0].name, "w");
  const ir::Value& local = made.model.graph.value(made.stand_ins[0].local);
  EXPECT_EQ(local.name, "w_in_y");
  EXPECT_TRUE(local.is_initializer());
  EXPECT_EQ(made.model.graph.required_inputs().size(), 3u);
}

TEST(BodyModelTest, CapturesAgainWhatIsStillRead) {
  const ir::Model model = test::model_of(kLoop);
  const ir::Graph body = body_of(body_model(model));
  ASSERT_EQ(body.captured().size(), 1u);
  EXPECT_EQ(body.value(body.captured()[0]).name, "w");
  EXPECT_TRUE(body.initializers().empty());
  EXPECT_EQ(body.inputs().size(), 3u);
}

TEST(BodyModelTest, RefusesToReturnACapturedValue) {
  const ir::Model model = test::model_of(
      "g (float[2] x, bool c) => (float[2] y) { z = Neg (x) y = If (c) <then_branch = a () => (float[2] z) { }, "
      "else_branch = b () => (float[2] r) { r = Neg (z) }> }");
  const ir::Node& node = model.graph.node(model.graph.order().back());
  const Result<BodyModel> made = make_body_model(model, node, *ir::nested_graphs(node).front());
  EXPECT_EQ(made.status().code(), Code::kUnsupported);
  EXPECT_TRUE(make_body_model(model, node, *ir::nested_graphs(node).back()).ok());
}

/// The calls of the only body while x = (1, 2) runs.
BodyRecorder recorded(const ir::Model& model) {
  BodyRecorder recorder;
  recorder.listen_to(body_of_first(model));
  exec::SessionOptions options;
  options.limits.body_sink = &recorder;
  exec::Session session(model, {}, options);
  const std::vector<ir::Tensor> inputs{ir::Tensor::from<float>({1, 2}, std::vector<float>{1, 2})};
  EXPECT_TRUE(session.run(inputs).ok());
  return recorder;
}

TEST(BodyRecorderTest, KeepsCallsEvenlySpreadWithinABound) {
  const ir::Model model = test::model_of(kLoop);
  const BodyRecorder recorder = recorded(model);
  const auto& calls = recorder.calls(body_of_first(model));
  ASSERT_EQ(calls.size(), 50u);  // of 100: every second
  const ir::ValueId trip = body_of_first(model).inputs()[0], state = body_of_first(model).inputs()[2];
  for (size_t i = 0; i < calls.size(); ++i)
    EXPECT_EQ(calls[i].at(trip).data<int64_t>()[0], static_cast<int64_t>(2 * i));
  EXPECT_EQ(calls[0].at(state).data<float>()[1], 2);
  EXPECT_NE(calls[1].at(state).data<float>()[1], 2);  // memory that the executor uses again was copied
}

TEST(BodyReaderTest, LeavesOutCallsThatLackAnInput) {
  const ir::ValueId a{0}, b{1};
  const std::vector<BodyRecorder::Call> calls{{{a, ir::Tensor::scalar(1.0f)}},
                                              {{a, ir::Tensor::scalar(2.0f)}, {b, ir::Tensor::scalar(3.0f)}}};
  const BodyReader both(calls, {b, a}), one(calls, {a});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both.read(0).value().inputs[0].data<float>()[0], 3);
  EXPECT_EQ(one.size(), 2u);
}

/// The operators of the body, quantized with `sets`, on samples or without.
std::string quantized_ops(const std::vector<std::string>& sets, bool with_samples = true) {
  test::PassBench bench(test::model_of(kLoop), test::settings_for("A8W8", sets));
  const test::RandomSamples samples(bench.graph(), 2);
  bench.context.source.data = &samples;
  std::vector<PassTime> times;
  EXPECT_TRUE(run_passes(bench.context, {.until = pass::Phase::kWrite}, times, {}).ok());
  if (!with_samples) bench.context.source.data = nullptr;
  const Result<Changed> changed = quantize_bodies(bench.context);
  EXPECT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_TRUE(ir::verify(bench.graph()).ok());
  std::string ops;
  const ir::Graph& body = body_of_first(bench.context.model);
  for (const ir::NodeId id : body.order()) ops += body.node(id).op + " ";
  EXPECT_EQ(changed.value() == Changed::kYes, ops.find("DequantizeLinear") != std::string::npos);
  return ops;
}

TEST(QuantizeBodiesTest, OnlyWhereTheSettingsAskForIt) {
  EXPECT_EQ(quantized_ops({}), "Identity MatMul Tanh ");
  const std::string asked = quantized_ops({"EnableSubgraph=true"});
  EXPECT_NE(asked.find(" QuantizeLinear"), std::string::npos) << asked;
  EXPECT_NE(asked.find("DequantizeLinear MatMul"), std::string::npos) << asked;
}

TEST(QuantizeBodiesTest, WeightsAloneWithoutCalls) {
  EXPECT_EQ(quantized_ops({"EnableSubgraph=true"}, /*with_samples=*/false), "Identity DequantizeLinear MatMul Tanh ");
}

TEST(QuantizeBodiesTest, AnInterruptEndsIt) {
  constexpr int kSamples = 2;
  for (const int last_call : {0, kSamples}) {  // while calls are recorded, and in a body
    test::PassBench bench(test::model_of(kLoop), test::settings_for("A8W8", {"EnableSubgraph=true"}));
    const test::RandomSamples samples(bench.graph(), kSamples);
    bench.context.source.data = &samples;
    std::vector<PassTime> times;
    EXPECT_TRUE(run_passes(bench.context, {.until = pass::Phase::kWrite}, times, {}).ok());
    int calls = 0;
    bench.context.progress = [&](size_t, size_t) { return calls++ < last_call; };
    EXPECT_EQ(quantize_bodies(bench.context).status().code(), Code::kInterrupted);
    EXPECT_EQ(calls, last_call + 1);
  }
}

}  // namespace
}  // namespace quarkq::pipeline
