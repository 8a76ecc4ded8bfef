// SPDX-License-Identifier: MIT
// Each conversion to what the DPU computes: the recorded numbers and nodes, and where it does not apply.
#include <cmath>

#include "planning/restructure/simulate_dpu.h"
#include "support/npu_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;
using Json = nlohmann::ordered_json;

constexpr const char* kSwitches[] = {"ConvertLeakyReluToDPUVersion",    "ConvertSigmoidToHardSigmoid",
                                     "ConvertHardSigmoidToDPUVersion",  "ConvertAvgPoolToDPUVersion",
                                     "ConvertReduceMeanToDPUVersion",   "ConvertSoftmaxToDPUVersion",
                                     "ConvertInstanceNormToDPUVersion", "ConvertClipToDPUVersion"};

/// A planned model with one conversion on.
struct DpuBench : PassBench {
  DpuBench(const std::string& body, const std::string& only, int opset = 17, bool is_compat = false)
      : PassBench(test::model_of(body, opset), settings_with(only, is_compat)) {
    test::run_phases(*this, {"select", "mark"});
    run(order_as_written);
  }
  static config::Settings settings_with(const std::string& only, bool is_compat) {
    std::vector<std::string> sets = {"QuantizeAllOpTypes=true"};
    for (const char* name : kSwitches) sets.push_back(cat(name, "=", only == name ? "true" : "false"));
    return is_compat ? test::compat_settings("XINT8", sets) : test::settings_for("XINT8", sets);
  }
};

TEST(DpuFactorsTest, AreTheRecordedOnes) {
  const Json golden = test::golden_json("npu.json");
  QQ_NEED_RECORD(!golden.is_null());
  for (const auto& [kernel, record] : golden["avgpool_factor"].items()) {
    EXPECT_EQ(static_cast<float>(average_pool_factor(std::stoll(kernel))), record["factor"].get<float>()) << kernel;
  }
  for (const auto& [count, record] : golden["reduce_mean_factor"].items()) {
    EXPECT_EQ(static_cast<float>(mean_factor(std::stoll(count))), record["factor"].get<float>()) << count;
  }
  for (const auto& [alpha, rounded] : golden["leaky_relu_alpha"].items()) {
    const Json& value = rounded.is_object() ? rounded.begin().value() : rounded;
    EXPECT_EQ(dpu_leaky_relu_alpha(std::stof(alpha)), value.get<float>()) << alpha;
  }
  EXPECT_EQ(kHardSigmoidFactor, 1.0001220703125f);
}

TEST(SimulateDpuTest, RoundsTheSlopeOfLeakyRelu) {
  const std::string body =
      "g (float[4] x) => (float[4] y, float[4] z) "
      "{ y = LeakyRelu <alpha = 0.1> (x) z = LeakyRelu (x) }";
  DpuBench bench(body, kSwitches[0]);
  EXPECT_TRUE(bench.run(simulate_dpu));
  EXPECT_EQ(bench.graph().producer(bench.value("y"))->float_or("alpha", 0), 26.0f / 256);
  EXPECT_EQ(bench.graph().producer(bench.value("z"))->float_or("alpha", 0), 3.0f / 256);
  EXPECT_FALSE(bench.run(simulate_dpu));
  DpuBench compat(body, kSwitches[0], 17, /*is_compat=*/true);
  compat.run(simulate_dpu);
  EXPECT_EQ(compat.graph().producer(compat.value("z"))->find("alpha"), nullptr);
}

TEST(SimulateDpuTest, SigmoidBecomesHardSigmoidAtTheEnd) {
  DpuBench bench("g (float[4] x) => (float[4] y) { s = Sigmoid (x) y = Mul (x, s) }", kSwitches[1]);
  const std::string name = bench.node("Sigmoid").name;
  EXPECT_TRUE(bench.run(simulate_dpu));
  EXPECT_EQ(bench.ops(), "Mul HardSigmoid");
  EXPECT_EQ(bench.node("HardSigmoid").float_or("alpha", 0), 0.1666666716337204f);
  EXPECT_EQ(bench.node("HardSigmoid").find("beta"), nullptr);
  EXPECT_EQ(bench.node("HardSigmoid").name, name);
  EXPECT_FALSE(bench.run(simulate_dpu));
}

TEST(SimulateDpuTest, TheNewMulTakesOverTheSlot) {
  DpuBench bench("g (float[4] x) => (float[4] y) { h = HardSigmoid <alpha = 0.16666667> (x) y = Neg (h) }",
                 kSwitches[2]);
  const ir::ValueId h = bench.value("h");
  EXPECT_TRUE(bench.run(simulate_dpu));
  EXPECT_EQ(bench.ops(), "HardSigmoid Neg Constant Mul");
  const ir::Node& mul = bench.node("Mul");
  EXPECT_EQ(mul.outputs[0], h);
  EXPECT_TRUE(bench.context.plan.has(h));
  EXPECT_EQ(mul.name, "h_Mul");
  EXPECT_EQ(bench.graph().value(mul.inputs[0]).name, "h_Mul");
  EXPECT_FALSE(bench.context.plan.has(mul.inputs[0]));
  EXPECT_EQ(bench.graph().value(mul.inputs[1]).name, "h_Scale");
  EXPECT_EQ(bench.node("Constant").name, "");
  EXPECT_EQ(bench.graph().constant(mul.inputs[1])->data<float>()[0], kHardSigmoidFactor);
  EXPECT_EQ(bench.node("HardSigmoid").name, "h");  // it had none
}

TEST(SimulateDpuTest, NamesComeFromTheWrittenTensor) {
  DpuBench bench("g (float[4] x) => (float[4] y) { y = HardSigmoid <alpha = 0.16666667> (x) }", kSwitches[2]);
  EXPECT_TRUE(bench.run(simulate_dpu));
  EXPECT_EQ(bench.node("Mul").name, "y_QuantizeLinear_Input_Mul");
  EXPECT_TRUE(bench.graph().value(bench.value("y")).is_output);
}

TEST(SimulateDpuTest, LeavesOtherHardSigmoids) {
  for (const char* attributes : {"", "<alpha = 0.2>", "<alpha = 0.16666667, beta = 0.4>"}) {
    DpuBench bench(cat("g (float[4] x) => (float[4] y) { y = HardSigmoid ", attributes, " (x) }"), kSwitches[2]);
    test::expect_idle(bench, simulate_dpu);
  }
}

TEST(SimulateDpuTest, RescalesSquareAverages) {
  DpuBench pool("g (float[1, 2, 9, 9] x) => (float[1, 2, 7, 7] y) { y = AveragePool <kernel_shape = [3, 3]> (x) }",
                kSwitches[3]);
  EXPECT_TRUE(pool.run(simulate_dpu));
  EXPECT_EQ(pool.graph().constant(pool.node("Mul").inputs[1])->data<float>()[0], 0.984375f);
  const std::string global =
      "g (float[1, 2, 7, 7] x) => (float[1, 2, 1, 1] y) "
      "{ r = Relu (x) y = GlobalAveragePool (r) }";
  DpuBench inner(global, kSwitches[3]);
  EXPECT_TRUE(inner.run(simulate_dpu));
  EXPECT_EQ(inner.graph().constant(inner.node("Mul").inputs[1])->data<float>()[0], 1.0048828125f);
}

TEST(SimulateDpuTest, LeavesOtherAverages) {
  for (const char* body :
       {"g (float[1, 2, 9, 9] x) => (float[1, 2, 7, 8] y) { y = AveragePool <kernel_shape = [3, 2]> (x) }",
        "g (float[1, 2, 9] x) => (float[1, 2, 7] y) { y = AveragePool <kernel_shape = [3]> (x) }",
        "g (float[1, 2, 7, 8] x) => (float[1, 2, 1, 1] y) { r = Relu (x) y = GlobalAveragePool (r) }",
        "g (float[1, 2, H, W] x) => (float[1, 2, 1, 1] y) { r = Relu (x) y = GlobalAveragePool (r) }"}) {
    DpuBench bench(body, kSwitches[3]);
    test::expect_idle(bench, simulate_dpu);
    EXPECT_EQ(bench.diagnostics.all().back().id, "dpu-conversion-left-out") << body;
  }
}

TEST(SimulateDpuTest, AGlobalPoolOfTheInputIsSeenByDefaultOnly) {
  const std::string body = "g (float[1, 2, 7, 7] x) => (float[1, 2, 1, 1] y) { y = GlobalAveragePool (x) }";
  EXPECT_TRUE(DpuBench(body, kSwitches[3]).run(simulate_dpu));
  EXPECT_FALSE(DpuBench(body, kSwitches[3], 17, /*is_compat=*/true).run(simulate_dpu));
}

TEST(SimulateDpuTest, RescalesMeans) {
  DpuBench attribute(
      "g (float[1, 2, 7, 7] x) => (float[1, 2] y) "
      "{ r = Relu (x) y = ReduceMean <axes = [-1, 2], keepdims = 0> (r) }",
      kSwitches[4]);
  EXPECT_TRUE(attribute.run(simulate_dpu));
  EXPECT_EQ(attribute.graph().constant(attribute.node("Mul").inputs[1])->data<float>()[0],
            static_cast<float>(21.0 / 1024 * 49));
  DpuBench input(
      "g (float[1, 3, 3] x) => (float[1, 1, 1] y) <int64[2] a = {1, 2}> "
      "{ r = Relu (x) y = ReduceMean (r, a) }",
      kSwitches[4], 18);
  EXPECT_TRUE(input.run(simulate_dpu));
  DpuBench all("g (float[1, 3, 3] x) => (float[1, 1, 1] y) { r = Relu (x) y = ReduceMean (r) }", kSwitches[4]);
  test::expect_idle(all, simulate_dpu);
}

/// Nodes as recorded: {op, name, inputs, outputs}.
void expect_nodes(const ir::Graph& graph, const Json& recorded) {
  ASSERT_EQ(graph.order().size(), recorded.size());
  for (size_t i = 0; i < recorded.size(); ++i) {
    const ir::Node& node = graph.node(graph.order()[i]);
    EXPECT_EQ(node.op, recorded[i]["op"].get<std::string>());
    EXPECT_EQ(node.name, recorded[i]["name"].get<std::string>());
    std::vector<std::string> inputs;
    for (const ir::ValueId input : node.inputs) inputs.push_back(graph.value(input).name);
    EXPECT_EQ(inputs, recorded[i]["inputs"].get<std::vector<std::string>>()) << node.name;
    if (!node.is("Constant")) continue;
    const std::vector<double> stored = ir::to_double(*node.get<ir::Tensor>("value")).value();
    const Json& value = recorded[i]["attrs"]["value"]["value"];
    EXPECT_EQ(stored[0], (value.is_array() ? value[0] : value).get<double>()) << node.name;
  }
}

TEST(SimulateDpuTest, SoftmaxIsThatOfTheReference) {
  const Json golden = test::golden_json("npu.json");
  QQ_NEED_RECORD(!golden.is_null());
  for (const int opset : {11, 17}) {
    config::Settings settings = DpuBench::settings_with(kSwitches[5], false);
    PassBench bench(test::model_of("g (float[1, 4] x) => (float[1, 4] y) { y = Softmax <axis = 1> (x) }", opset),
                    settings);
    test::run_phases(bench, {"select"});  // without a plan names stay as recorded
    ir::GraphEdit(bench.model.graph).node(bench.graph().order()[0]).name = "sm";
    EXPECT_TRUE(bench.run(simulate_dpu));
    expect_nodes(bench.graph(), golden[cat("softmax_nodes_opset", opset)]);
  }
}

TEST(SimulateDpuTest, SoftmaxComputesTheRecordedNumbers) {
  const Json golden = test::golden_json("npu.json");
  QQ_NEED_RECORD(!golden.is_null());
  for (const Json& record : golden["softmax_numeric"]) {
    const auto x = record["x"][0].get<std::vector<float>>();
    const Json& y = record["y"][0];
    if (record["x"].size() != 1) continue;
    DpuBench bench(cat("g (float[1, ", x.size(), "] x) => (float[1, ", x.size(), "] y) { y = Softmax (x) }"),
                   kSwitches[5]);
    EXPECT_TRUE(bench.run(simulate_dpu));
    exec::Session session(bench.model, {}, {});
    const std::vector<ir::Tensor> inputs = {ir::Tensor::from<float>({1, static_cast<int64_t>(x.size())}, x)};
    const auto results = session.run(inputs);
    ASSERT_TRUE(results.ok()) << results.status().message();
    const auto computed = (*results.value())[0].data<float>();
    for (size_t i = 0; i < x.size(); ++i) {
      if (!y[i].is_number()) continue;
      EXPECT_EQ(computed[i], y[i].get<float>()) << record.dump();
    }
  }
}

TEST(SimulateDpuTest, AnOldSoftmaxOverManyAxesStays) {
  const std::string body = "g (float[1, 4, 2] x) => (float[1, 4, 2] y) { y = Softmax (x) }";
  DpuBench bench(body, kSwitches[5], 11);
  test::expect_idle(bench, simulate_dpu);
  EXPECT_TRUE(DpuBench(body, kSwitches[5], 11, /*is_compat=*/true).run(simulate_dpu));
}

TEST(SimulateDpuTest, InstanceNormChangesItsDomain) {
  DpuBench bench(
      "g (float[1, 2, 4] x) => (float[1, 2, 4] y) <float[2] s = {1, 2}, float[2] b = {0, 1}> "
      "{ y = InstanceNormalization (x, s, b) }",
      kSwitches[6]);
  EXPECT_TRUE(bench.run(simulate_dpu));
  EXPECT_EQ(bench.node("ExtendedInstanceNormalization").domain, "com.amd.quark");
  EXPECT_EQ(bench.node("ExtendedInstanceNormalization").float_or("epsilon", 0), 1e-5f);
  EXPECT_FALSE(bench.run(simulate_dpu));
}

TEST(SimulateDpuTest, ClipGetsWholeBounds) {
  DpuBench bench(
      "g (float[4] x) => (float[4] y, float[4] z) <float lo = {-0.5}, float hi = {5.5}> "
      "{ y = Clip (x, lo, hi) z = Clip (x, , hi) }",
      kSwitches[7]);
  EXPECT_TRUE(bench.run(simulate_dpu));
  auto bound = [&](const char* output, size_t input) {
    return bench.graph().constant(bench.graph().producer(bench.value(output))->input(input))->data<float>()[0];
  };
  EXPECT_EQ(bound("y", 1), 0.0f);
  EXPECT_EQ(bound("y", 2), 6.0f);
  EXPECT_EQ(bound("z", 1), -128.0f);
  EXPECT_EQ(bound("z", 2), 6.0f);
  EXPECT_FALSE(bench.run(simulate_dpu));
}

TEST(SimulateDpuTest, ASharedBoundIsCopiedExceptInCompatMode) {
  const std::string body =
      "g (float[4] x) => (float[4] y, float[4] z) <float lo = {0}, float hi = {5.5}> "
      "{ y = Clip (x, lo, hi) z = Min (x, hi) }";
  DpuBench bench(body, kSwitches[7]);
  for (plan::QuantSlot slot : std::vector<plan::QuantSlot>(bench.context.plan.slots())) {
    if (bench.graph().value(slot.value).is_initializer()) bench.context.plan.remove(slot.value);
  }
  EXPECT_TRUE(bench.run(simulate_dpu));
  EXPECT_EQ(bench.graph().constant(bench.value("hi"))->data<float>()[0], 5.5f);
  DpuBench none("g (float[4] x) => (float[4] y) { y = Clip (x) }", kSwitches[7]);
  test::expect_idle(none, simulate_dpu);
}

TEST(SimulateDpuTest, KeepsOutOfExcludedNodesAndOtherOps) {
  config::Settings settings = test::settings_for("XINT8", {"nodes_to_exclude=[n]"});
  PassBench bench(test::model_of("g (float[4] x) => (float[4] y) { [n] y = Sigmoid (x) }"), settings);
  test::run_phases(bench, {"select", "mark"});
  EXPECT_FALSE(bench.run(simulate_dpu));
  DpuBench off("g (float[4] x) => (float[4] y) { y = Sigmoid (x) }", "none");
  test::expect_idle(off, simulate_dpu);
}

TEST(SimulateDpuTest, DedicatedPairsFollowTheSoftmax) {
  config::Settings settings = DpuBench::settings_with(kSwitches[5], false);
  settings.qdq.dedicated_qdq_pair = true;
  PassBench bench(test::model_of("g (float[1, 4] x) => (float[1, 4] y, float[1, 4] z) "
                                 "{ y = Softmax (x) z = Neg (x) }"),
                  settings);
  test::run_phases(bench, {"select", "mark"});
  EXPECT_TRUE(bench.run(simulate_dpu));
  test::fill_parameters(bench.graph(), bench.context.plan);
  bench.run(write_qdq);
  EXPECT_TRUE(
      bench.graph()
          .producer(bench.graph().producer(bench.value("y_QuantizeLinear_Input/exp_poly/round/cast_output"))->input(0))
          ->is("DequantizeLinear"));
}

}  // namespace
}  // namespace quarkq::pass_tests
