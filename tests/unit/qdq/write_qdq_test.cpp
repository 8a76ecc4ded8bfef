// SPDX-License-Identifier: MIT
// Writing the plan: names and wiring of ref:writing#pairs, ref:writing#names.
#include <set>

#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

/// A reader with random samples for all inputs.
std::unique_ptr<calib::DataReader> random_data(const ir::Model& model) {
  auto reader = calib::make_random_reader(calib::input_specs(model.graph), {});
  EXPECT_TRUE(reader.ok());
  return std::move(reader).value();
}

/// Select to insert on a float model.
struct Inserted {
  PassBench bench;
  std::unique_ptr<calib::DataReader> data;

  explicit Inserted(const std::string& body, const std::vector<std::string>& sets = {},
                    const std::string& preset = "A8W8")
      : bench(test::model_of(body), test::settings_for(preset, sets)), data(random_data(bench.model)) {
    bench.context.source.data = data.get();
    for (const PassInfo& pass : pipeline::all_passes()) {
      static const std::set<std::string> kPhases = {"select", "mark", "calibrate", "restructure", "constrain", "write"};
      if (pass.name != std::string("sort-nodes") && !kPhases.contains(pass::name(pass.phase))) continue;
      if (pass.enabled(bench.settings)) bench.run(pass.run);
    }
  }

  const ir::Graph& graph() const { return bench.graph(); }
  const ir::Node* producer(const std::string& value) const { return graph().producer(bench.value(value)); }
  std::string input(const ir::Node* node, size_t i) const {
    return node == nullptr || !node->input(i).valid() ? "" : graph().value(node->input(i)).name;
  }
  const ir::Node* named(const std::string& name) const {
    for (const ir::NodeId id : graph().order()) {
      if (graph().node(id).name == name) return &graph().node(id);
    }
    return nullptr;
  }
  int count(const std::string& op) const {
    int found = 0;
    for (const ir::NodeId id : graph().order()) found += graph().node(id).op == op;
    return found;
  }
};

TEST(EmitQdqTest, InnerTensorsAndInputsGetAPairBehindThem) {
  const Inserted made("g (float[2] x) => (float[2] y) { a = Sigmoid (x) y = Sigmoid (a) }");
  EXPECT_EQ(made.bench.ops(),
            "QuantizeLinear DequantizeLinear Sigmoid QuantizeLinear DequantizeLinear Sigmoid "
            "QuantizeLinear DequantizeLinear");
  for (const std::string t : {"x", "a"}) {
    const ir::Node* q = made.named(t + "_QuantizeLinear");
    const ir::Node* dq = made.named(t + "_DequantizeLinear");
    ASSERT_TRUE(q != nullptr && dq != nullptr) << t;
    EXPECT_EQ(made.input(q, 0), t);
    for (const ir::Node* node : {q, dq}) {
      EXPECT_EQ(made.input(node, 1), t + "_scale");
      EXPECT_EQ(made.input(node, 2), t + "_zero_point");
    }
    EXPECT_EQ(made.graph().value(q->output(0)).name, t + "_QuantizeLinear_Output");
    EXPECT_EQ(made.graph().value(dq->output(0)).name, t + "_DequantizeLinear_Output");
    EXPECT_EQ(made.graph().value(dq->output(0)).uses.size(), 1u);
  }
}

TEST(EmitQdqTest, GraphOutputsKeepTheirNames) {
  const Inserted made("g (float[2] x) => (float[2] y, float[2] z) { y = Sigmoid (x) z = Sigmoid (y) }");
  EXPECT_EQ(made.graph().value(made.graph().outputs()[0]).name, "y");
  EXPECT_EQ(made.graph().value(made.graph().outputs()[1]).name, "z");
  const ir::Node* dq = made.producer("y");
  ASSERT_NE(dq, nullptr);
  EXPECT_EQ(dq->name, "y_DequantizeLinear");
  EXPECT_EQ(made.input(made.named("y_QuantizeLinear"), 0), "y_QuantizeLinear_Input");
  EXPECT_EQ(made.producer("y_QuantizeLinear_Input")->op, "Sigmoid");
  // The reader of y inside the graph reads the dequantized value, too.
  EXPECT_EQ(made.input(made.producer("z_QuantizeLinear_Input"), 0), "y");
}

TEST(EmitQdqTest, WeightsAreStoredAndBiasesKeepTheirName) {
  const Inserted made(
      "g (float[1, 1, 2, 2] x) => (float[1, 2, 2, 2] y) <float[2, 1, 1, 1] w = {0.5, -1.0}, float[2] b = {0.25, 0.5}> "
      "{ y = Conv (x, w, b) }");
  const ir::Node& conv = made.bench.node("Conv");
  EXPECT_EQ(made.input(&conv, 1), "w_DequantizeLinear_Output");
  EXPECT_EQ(made.input(&conv, 2), "b");
  EXPECT_EQ(made.producer("b")->name, "b_DequantizeLinear");
  EXPECT_EQ(made.input(made.producer("b"), 0), "b_quantized");
  EXPECT_EQ(made.graph().constant(made.bench.value("b_quantized"))->type(), ElementType::kInt32);
  EXPECT_EQ(made.graph().constant(made.bench.value("b_quantized_scale"))->dims(), ir::Shape{1});
  EXPECT_EQ(made.graph().constant(made.bench.value("b_quantized_zero_point"))->dims(), ir::Shape{});
  const ir::Tensor* codes = made.graph().constant(made.bench.value("w_quantized"));
  ASSERT_NE(codes, nullptr);
  EXPECT_TRUE(codes->same_as(ir::Tensor::from<int8_t>({2, 1, 1, 1}, std::vector<int8_t>{64, -127})));
  EXPECT_FALSE(made.graph().find("w").valid());  // the float weights are gone
  EXPECT_EQ(made.count("QuantizeLinear"), 2);
}

TEST(EmitQdqTest, PerChannelWeightsCarryTheAxis) {
  const Inserted made(
      "g (float[1, 1, 2, 2] x) => (float[1, 2, 2, 2] y) <float[2, 1, 1, 1] w = {0.5, -1.0}, float[2] b = {0.25, 0.5}> "
      "{ y = Conv (x, w, b) }",
      {"per_channel=true"});
  EXPECT_EQ(made.named("w_DequantizeLinear")->int_or("axis", -9), 0);
  EXPECT_EQ(made.named("b_DequantizeLinear")->int_or("axis", -9), 0);
  EXPECT_EQ(made.graph().constant(made.bench.value("w_scale"))->dims(), ir::Shape{2});
  EXPECT_EQ(made.graph().constant(made.bench.value("b_quantized_zero_point"))->dims(), ir::Shape{2});
  EXPECT_EQ(made.named("x_DequantizeLinear")->find("axis"), nullptr);
}

TEST(EmitQdqTest, SharedParametersAreWrittenOnce) {
  const Inserted made("g (float[2, 3] x) => (float[3, 2] y) { a = Sigmoid (x) b = Transpose (a) y = Sigmoid (b) }");
  EXPECT_EQ(made.input(made.named("b_QuantizeLinear"), 1), "a_scale");
  EXPECT_EQ(made.input(made.named("b_DequantizeLinear"), 2), "a_zero_point");
  EXPECT_FALSE(made.graph().find("b_scale").valid());
}

TEST(EmitQdqTest, AbsorbedValuesHaveNoPair) {
  const Inserted made(
      "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 1, 1] w = {0.5}> { c = Conv (x, w) y = Relu (c) "
      "}");
  EXPECT_EQ(made.named("c_QuantizeLinear"), nullptr);
  EXPECT_EQ(made.input(&made.bench.node("Relu"), 0), "c");
}

TEST(EmitQdqTest, DedicatedPairsAreNumberedPerReader) {
  const Inserted made("g (float[2] x) => (float[2] y, float[2] z) { a = Sigmoid (x) y = Sigmoid (a) z = Add (a, x) }",
                      {"DedicatedQDQPair=true"});
  const ir::Node* reader = made.producer("y_QuantizeLinear_Input");
  const ir::Node* other = made.producer("z_QuantizeLinear_Input");
  EXPECT_EQ(made.input(reader, 0), "a_DequantizeLinear_Output_1");
  EXPECT_EQ(made.input(other, 0), "a_DequantizeLinear_Output_2");
  for (const char* name : {"a_QuantizeLinear_1", "a_QuantizeLinear_2"}) {
    ASSERT_NE(made.named(name), nullptr);
    EXPECT_EQ(made.input(made.named(name), 0), "a");
    EXPECT_EQ(made.input(made.named(name), 1), "a_scale");
  }
  EXPECT_EQ(made.named("a_QuantizeLinear"), nullptr);
  EXPECT_NE(made.named("y_QuantizeLinear"), nullptr);  // one reader: the ordinary names
}

TEST(EmitQdqTest, DomainsFollowTheQuantizer) {
  const std::string body = "g (float[2] x) => (float[2] y) { y = Sigmoid (x) }",
                    min_max = "calibrate_method=CalibrationMethod.MinMax";
  const auto domain = [&](const char* preset, const std::vector<std::string>& sets) {
    return Inserted(body, sets, preset).bench.node("QuantizeLinear").domain;
  };
  EXPECT_EQ(domain("XINT8", {}), "");             // the NPU-CNN quantizer: always standard
  EXPECT_EQ(domain("S8S8_AAWS", {min_max}), "");  // the CPU quantizer: standard unless asked
  EXPECT_EQ(domain("S8S8_AAWS", {min_max, "UseQDQContribOps=true"}), "com.microsoft");
  EXPECT_EQ(domain("A8W8", {}), "com.microsoft");  // the extended quantizer
}

TEST(EmitQdqTest, TheWrittenModelRunsCloseToTheFloatOne) {
  const std::string body =
      cat("g (float[1, 3, 6, 6] x) => (float[1, 4, A, B] y) <float[4, 3, 3, 3] w = ", test::numbers(108, 1),
          ", float[4] b = ", test::numbers(4, 2), "> { c = Conv (x, w, b) y = Relu (c) }");
  for (const char* preset : {"A8W8", "XINT8"}) {
    const Inserted made(body, {}, preset);
    const calib::Sample sample = made.data->read(0).value();
    const ir::Model before = test::model_of(body);
    exec::Session reference(before, {}, {}), quantized(made.bench.model, {}, {});
    const auto expected = reference.run(sample.inputs), found = quantized.run(sample.inputs);
    ASSERT_TRUE(expected.ok() && found.ok()) << found.status().message();
    const auto a = (*expected.value())[0].data<float>(), b = (*found.value())[0].data<float>();
    double signal = 0, noise = 0;
    for (size_t i = 0; i < a.size(); ++i) signal += a[i] * a[i], noise += (a[i] - b[i]) * (a[i] - b[i]);
    EXPECT_LT(noise, 1e-3 * signal) << preset;
  }
}

const std::string kConvRelu =
    cat("g (float[1, 3, 6, 6] x) => (float[1, 4, A, B] y) <float[4, 3, 3, 3] w = ", test::numbers(108, 1),
        ", float[4] b = ", test::numbers(4, 2), "> { c = Conv (x, w, b) y = Relu (c) }");

TEST(EmitQdqTest, Bfloat16KeepsFloatWeightsUnderPairs) {
  const Inserted made(kConvRelu, {}, "BF16");
  EXPECT_EQ(made.count("ExtendedQuantizeLinear"), 4);  // x, w, b, y; c lies before its Relu
  EXPECT_EQ(made.count("ExtendedDequantizeLinear"), 4);
  EXPECT_EQ(made.named("w_QuantizeLinear")->domain, "com.amd.quark");
  EXPECT_EQ(made.input(made.named("w_QuantizeLinear"), 0), "w");
  EXPECT_EQ(made.graph().constant(made.bench.value("w"))->type(), ElementType::kFloat);
  EXPECT_EQ(made.graph().constant(made.bench.value("w_scale"))->data<float>()[0], 1.0f);
  EXPECT_EQ(made.graph().constant(made.bench.value("x_zero_point"))->type(), ElementType::kBFloat16);
}

TEST(EmitQdqTest, Bfloat16WeightsAreStoredWhenAsked) {
  const Inserted made(kConvRelu, {"AddQDQPairToWeight=false"}, "BF16");
  EXPECT_EQ(made.named("w_QuantizeLinear"), nullptr);
  EXPECT_EQ(made.graph().constant(made.bench.value("w_quantized"))->type(), ElementType::kBFloat16);
}

TEST(EmitQdqTest, BlockFormatsAreOneNode) {
  const Inserted made(kConvRelu, {}, "BFP16");
  EXPECT_EQ(made.count("BFPQuantizeDequantize"), 5);  // c keeps its own
  const ir::Node* weight = made.named("w_DequantizeLinear");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->int_or("block_size", 0), 8);
  EXPECT_EQ(weight->int_or("rounding_mode", -1), 2);  // the preset's
  EXPECT_EQ(made.named("b_DequantizeLinear")->int_or("axis", -1), 0);
  EXPECT_EQ(made.producer("y")->op, "BFPQuantizeDequantize");
  EXPECT_FALSE(made.graph().find("w_scale").valid());
  EXPECT_EQ(Inserted(kConvRelu, {"RemoveFusedQDQ=true"}, "BFP16").count("BFPQuantizeDequantize"), 4);
}

TEST(EmitQdqTest, BlocksOfProductsRunAlongTheSum) {
  const Inserted made(
      cat("g (float[2, 8] x) => (float[2, 4] y) <float[8, 4] w = ", test::numbers(32, 3), "> { y = MatMul (x, w) }"),
      {}, "MX9");
  EXPECT_EQ(made.named("x_DequantizeLinear")->int_or("axis", 9), -1);
  EXPECT_EQ(made.named("y_DequantizeLinear")->int_or("axis", 9), -1);
  EXPECT_EQ(made.named("w_DequantizeLinear")->int_or("axis", 9), 0);
  EXPECT_EQ(made.named("w_DequantizeLinear")->attributes.back().name, "axis");
}

TEST(EmitQdqTest, OverridesChangeTypesAndEndSharing) {
  const Inserted made("g (float[2, 3] x) => (float[3, 2] y) { a = Sigmoid (x) b = Transpose (a) y = Sigmoid (b) }",
                      {"TensorQuantOverrides={b: [{quant_type: ExtendedQuantType.QInt16}]}"});
  EXPECT_EQ(made.graph().constant(made.bench.value("b_zero_point"))->type(), ElementType::kInt16);
  EXPECT_EQ(made.graph().constant(made.bench.value("a_zero_point"))->type(), ElementType::kInt8);
  EXPECT_EQ(made.input(made.named("b_QuantizeLinear"), 1), "b_scale");
}

TEST(EmitQdqTest, GivenParametersAndRangesHold) {
  const Inserted made("g (float[2] x) => (float[2] y) { y = Sigmoid (x) }",
                      {"TensorQuantOverrides={x: [{scale: 0.5, zero_point: 3}], y: [{rmin: 0, rmax: 12.7}]}"});
  EXPECT_EQ(made.graph().constant(made.bench.value("x_scale"))->data<float>()[0], 0.5f);
  EXPECT_EQ(made.graph().constant(made.bench.value("x_zero_point"))->data<int8_t>()[0], 3);
  EXPECT_NEAR(made.graph().constant(made.bench.value("y_scale"))->data<float>()[0], 0.1f, 1e-6f);
}

TEST(EmitQdqTest, AsymmetricActivationsSwallowRelu) {
  const Inserted made(kConvRelu, {}, "U8S8_AAWS");
  EXPECT_EQ(made.count("Relu"), 0);
  EXPECT_EQ(made.producer("y_QuantizeLinear_Input")->op, "Conv");
  EXPECT_EQ(Inserted(kConvRelu, {"QDQKeepRemovableActivations=true"}, "U8S8_AAWS").count("Relu"), 1);
  EXPECT_EQ(Inserted(kConvRelu, {"ActivationSymmetric=true"}, "U8S8_AAWS").count("Relu"), 1);
}

TEST(EmitQdqTest, ReluStaysWhereASymmetricRangeWouldNotClamp) {
  const std::vector<std::string> symmetric = {"calibrate_method=PowerOfTwoMethod.NonOverflow"};
  const Inserted kept(kConvRelu, symmetric, "U8S8_AAWS");
  EXPECT_EQ(kept.count("Relu"), 1);
  EXPECT_EQ(kept.named("c_QuantizeLinear"), nullptr);
  const std::vector<std::string> as_reference = {symmetric[0], "quarkq.compat=quark-0.13"};
  EXPECT_EQ(Inserted(kConvRelu, as_reference, "U8S8_AAWS").count("Relu"), 0);
}

TEST(EmitQdqTest, BiasesBehindFloatInputsStayFloat) {
  const Inserted made(kConvRelu, {"NodesToExcludeOutputQuantization=[]", "OpTypesToQuantize=[Conv]"});
  EXPECT_NE(made.named("b_DequantizeLinear"), nullptr);
  const std::string body =
      cat("g (float[1, 3, 6, 6] x) => (float[1, 4, A, B] y) <float[4, 3, 3, 3] w = ", test::numbers(108, 1),
          ", float[4] b = ", test::numbers(4, 2), "> { [first] s = Sigmoid (x) y = Conv (s, w, b) }");
  const Inserted without(body, {"NodesToExcludeOutputQuantization=[first]"});
  EXPECT_EQ(without.named("b_DequantizeLinear"), nullptr);
}

TEST(EmitQdqTest, AnEmptyPlanChangesNothing) {
  PassBench bench("g (float[2] x) => (float[2] y) { y = Cos (x) }");
  bench.run(select_nodes);
  EXPECT_FALSE(bench.run(mark_tensors));
  test::expect_idle(bench, write_qdq);
}

}  // namespace
}  // namespace quarkq::pass_tests
