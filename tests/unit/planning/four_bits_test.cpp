// SPDX-License-Identifier: MIT
// 4-bit integers as a weight type: what is refused, the opset, the stored codes, reading them back.
#include "numeric/quant_params.h"
#include "plan/constant_codes.h"
#include "qdq/import/lift.h"
#include "support/npu_support.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

const std::string kLayer =
    "g (float[1, 3] x) => (float[1, 3] y) <float[3, 3] w = {0.6, -0.45, 0.12, 0.33, -0.6, 0.2, 0.0, 1.4, -1.2}> "
    "{ y = MatMul (x, w) }";

/// Select to insert; activations get made-up parameters.
struct FourBits : PassBench {
  explicit FourBits(const std::vector<std::string>& sets, const std::string& preset = "S8S8_AAWS")
      : PassBench(test::model_of(kLayer), test::settings_for(preset, sets)) {
    run(raise_opset);
    test::run_phases(*this, {"select", "mark"});
    test::fill_parameters(graph(), context.plan);
    run(encode_constants);
    run(write_qdq);
  }
  const ir::Tensor& stored() const { return *graph().value(value("w_quantized")).constant; }
  const ir::Node& dequantizer() const { return graph().node(graph().value(value("w_quantized")).uses[0].node); }
};

Status resolved(const std::vector<std::string>& sets, const std::string& preset = "S8S8_AAWS") {
  const Result<config::QuantConfig> config = config::load_config(preset, sets);
  if (!config.ok()) return config.status();
  Diagnostics ignored;
  return config::resolve(config.value(), {}, ignored).status();
}

TEST(FourBitsTest, OddCountsArePackedLowHalfFirst) {
  const ir::Tensor codes = plan::store_codes({-8, 7, -1, 0, 3}, ElementType::kInt4, {5});
  ASSERT_EQ(codes.bytes(), 3);
  const auto* bytes = reinterpret_cast<const uint8_t*>(codes.raw());
  EXPECT_EQ(std::vector<int>(bytes, bytes + 3), (std::vector<int>{0x78, 0x0f, 0x03}));
  EXPECT_EQ(ir::to_int64(codes).value(), (std::vector<int64_t>{-8, 7, -1, 0, 3}));
  EXPECT_EQ(ir::to_int64(plan::store_codes({15, 0, 9}, ElementType::kUInt4, {1, 3})).value(),
            (std::vector<int64_t>{15, 0, 9}));
}

TEST(FourBitsTest, SymmetricZeroOfUInt4IsEightWhateverTheRange) {
  numeric::QuantSpec spec;
  spec.type = ElementType::kUInt4;
  for (const float high : {1.0f, 0.1f, 0.3f, 1e-3f, 7.3f, 123.456f}) {
    const auto params = numeric::params_for_range(spec, {-high, high});
    ASSERT_TRUE(params.ok());
    EXPECT_EQ(params.value().zero_point, 8) << high;
  }
}

TEST(FourBitsTest, WeightsAreStoredBehindStandardNodesOfOpset21) {
  const FourBits made({"weight_type=QuantType.QInt4"});
  EXPECT_EQ(made.model.opset(), 21);
  EXPECT_GE(made.model.ir_version, 10);
  EXPECT_EQ(made.stored().type(), ElementType::kInt4);
  EXPECT_EQ(ir::to_int64(made.stored()).value(), (std::vector<int64_t>{3, -2, 1, 2, -3, 1, 0, 7, -6}));
  EXPECT_EQ(made.dequantizer().domain, "");
  EXPECT_EQ(made.graph().constant(made.dequantizer().input(2))->type(), ElementType::kInt4);
}

TEST(FourBitsTest, EachChannelUsesTheWholeRange) {
  const FourBits made({"weight_type=QuantType.QInt4", "per_channel=true", "activation_type=QuantType.QUInt8"});
  EXPECT_EQ(made.stored().type(), ElementType::kInt4);  // not INT8, as 8-bit types get beside UINT8 activations
  EXPECT_EQ(ir::to_int64(made.stored()).value(), (std::vector<int64_t>{7, -2, 1, 4, -3, 1, 0, 7, -7}));
}

TEST(FourBitsTest, UnsignedWeightsAreAsymmetric) {
  const FourBits made({"weight_type=QuantType.QUInt4"});
  EXPECT_EQ(made.stored().type(), ElementType::kUInt4);
  // scale 2.6 / 15, zero point 7
  EXPECT_EQ(ir::to_int64(made.stored()).value(), (std::vector<int64_t>{10, 4, 8, 9, 4, 8, 7, 15, 0}));
}

TEST(FourBitsTest, AsymmetricSignedWeightsUseAllCodes) {
  const FourBits made({"weight_type=QuantType.QInt4", "WeightSymmetric=false"});
  // scale 2.6 / 15, zero point -1: the lowest value is -1.2 / 0.1733 - 1 = -8
  EXPECT_EQ(ir::to_int64(made.stored()).value(), (std::vector<int64_t>{2, -4, 0, 1, -4, 0, -1, 7, -8}));
}

TEST(FourBitsTest, ExtendedFormatLeavesThemToTheStandardOperators) {
  const FourBits made({"weight_type=QuantType.QInt4", "quant_format=ExtendedQuantFormat.QDQ"});
  EXPECT_EQ(made.dequantizer().op, "DequantizeLinear");
  EXPECT_EQ(made.dequantizer().domain, "");
}

TEST(FourBitsTest, OneWeightMayHaveThem) {
  const FourBits made({"TensorQuantOverrides={w: [{quant_type: QuantType.QInt4}]}"});
  EXPECT_EQ(made.model.opset(), 21);
  EXPECT_EQ(made.stored().type(), ElementType::kInt4);
}

TEST(FourBitsTest, RefusesAnActivationOfItsOwn) {
  PassBench bench(test::model_of(kLayer),
                  test::settings_for("S8S8_AAWS", {"TensorQuantOverrides={x: [{quant_type: QuantType.QInt4}]}"}));
  test::run_phases(bench, {"select"});
  const Result<Changed> found = pipeline::run_pass(bench.context, find_overrides);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("tensor x: found a 4-bit type"), std::string::npos)
      << found.status().message();
}

TEST(FourBitsTest, RefusesAWeightOfItsOwnWhereNothingTakesIt) {
  const std::string own = "TensorQuantOverrides={w: [{quant_type: QuantType.QInt4}]}";
  const struct {
    std::string preset;
    std::vector<std::string> sets;
    std::string part;
  } rows[] = {
      {"XINT8", {own}, "enable_npu_cnn"},
      {"XINT8", {"MixedPrecisionTensor={QuantType.QUInt4: [w]}", "specific_tensor_precision=true"}, "enable_npu_cnn"},
      {"S8S8_AAWS", {own, "UseGPTQ=true"}, "UseGPTQ"},
      {"S8S8_AAWS", {own, "UseGPTQ=true", "quant_format=ExtendedQuantFormat.QDQ"}, "UseGPTQ"},
  };
  for (const auto& row : rows) {
    PassBench bench(test::model_of(kLayer), test::settings_for(row.preset, row.sets));
    test::run_phases(bench, {"select"});
    const Result<Changed> found = pipeline::run_pass(bench.context, find_overrides);
    ASSERT_FALSE(found.ok()) << row.preset << " " << row.part;
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
    EXPECT_NE(found.status().message().find("tensor w: found a 4-bit type"), std::string::npos);
    EXPECT_NE(found.status().message().find(row.part), std::string::npos) << found.status().message();
  }
  PassBench compat(test::model_of(kLayer), test::compat_settings("S8S8_AAWS", {own}));
  test::run_phases(compat, {"select"});
  const Status refused = pipeline::run_pass(compat.context, find_overrides).status();
  EXPECT_NE(refused.message().find("quark-0.13"), std::string::npos) << refused.message();
}

TEST(FourBitsTest, OpsetIsRaisedOnlyForTensorsThatGetThem) {
  const struct {
    std::vector<std::string> sets;
    int64_t opset;
  } rows[] = {
      {{"MixedPrecisionTensor={QuantType.QInt4: [w]}"}, 17},  // has no effect by itself
      {{"MixedPrecisionTensor={QuantType.QInt4: [w]}", "specific_tensor_precision=true"}, 21},
      {{"MixedPrecisionTensor={QuantType.QInt4: [other]}", "specific_tensor_precision=true"}, 17},
      {{"TensorQuantOverrides={other: [{quant_type: QuantType.QInt4}]}"}, 17},
      {{"TensorQuantOverrides={w: [{quant_type: QuantType.QInt8}]}"}, 17},
  };
  for (const auto& row : rows) {
    PassBench bench(test::model_of(kLayer), test::settings_for("S8S8_AAWS", row.sets));
    EXPECT_EQ(bench.run(raise_opset), row.opset == 21) << row.sets[0];
    EXPECT_EQ(bench.model.opset(), row.opset) << row.sets[0];
  }
  PassBench bench(test::model_of(kLayer), test::settings_for("S8S8_AAWS", {"weight_type=QuantType.QInt4"}));
  bench.run(raise_opset);
  ASSERT_EQ(bench.diagnostics.all().size(), 1u);
  EXPECT_EQ(bench.diagnostics.all()[0].text, "4-bit weights need opset 21, raised from 17");
  PassBench blocks(test::model_of(kLayer),
                   test::settings_for("MATMUL_NBITS", {"quarkq.nbits_form=qdq", "MatMulNBitsParams.Bits=8"}));
  blocks.run(raise_opset);
  ASSERT_EQ(blocks.diagnostics.all().size(), 1u);
  EXPECT_EQ(blocks.diagnostics.all()[0].text,
            "weights in blocks (quarkq.nbits_form qdq) need opset 21, raised from 17");
}

TEST(FourBitsTest, ATensorOfALaterOpsetIsRefused) {
  PassBench bench(test::model_of(kLayer),
                  test::settings_for("S8S8_AAWS", {"TensorQuantOverrides={w: [{quant_type: QuantType.QInt4}]}"}));
  test::run_phases(bench, {"select"});  // w is found only now, the opset is still 17
  const Result<Changed> found = pipeline::run_pass(bench.context, find_overrides);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("ConvertOpsetVersion"), std::string::npos) << found.status().message();
}

/// The type that the bias of a Gemm gets.
ElementType bias_type(const std::string& preset, std::vector<std::string> sets) {
  sets.push_back("weight_type=QuantType.QInt4");
  PassBench bench(
      test::model_of("g (float[1, 2] x) => (float[1, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2] b = {1, 2}> "
                     "{ y = Gemm (x, w, b) }"),
      test::settings_for(preset, sets));
  bench.run(raise_opset);
  test::run_phases(bench, {"select", "mark"});
  EXPECT_EQ(bench.context.plan.slot(bench.value("w")).stage.spec.type, ElementType::kInt4) << preset;
  return bench.context.plan.slot(bench.value("b")).stage.spec.type;
}

TEST(FourBitsTest, ABiasHasMoreBits) {
  EXPECT_EQ(bias_type("S8S8_AAWS", {}), ElementType::kInt32);
  EXPECT_EQ(bias_type("S8S8_AAWS", {"Int32Bias=false"}), ElementType::kInt8);
  EXPECT_EQ(bias_type("S8S8_AAWS", {"Int32Bias=false", "per_channel=true"}), ElementType::kInt8);
  EXPECT_EQ(bias_type("VINT8", {}), ElementType::kInt8);
  EXPECT_EQ(bias_type("BFP16", {}), ElementType::kInt8);
}

TEST(FourBitsTest, WrittenWeightsLiftBack) {
  const FourBits made({"weight_type=QuantType.QInt4"});
  const Result<LiftedModel> lifted = lift(made.model);
  ASSERT_TRUE(lifted.ok()) << lifted.status().message();
  const ir::ValueId weight = lifted.value().model.graph.find("w");
  ASSERT_TRUE(weight.valid());
  const plan::QuantSlot* slot = lifted.value().plan.find(weight);
  ASSERT_TRUE(slot != nullptr && slot->codes.has_value());
  EXPECT_EQ(slot->stage.spec.type, ElementType::kInt4);
  EXPECT_TRUE(slot->codes->same_as(made.stored()));
}

TEST(FourBitsTest, RefusesWhereNothingTakesThem) {
  const struct {
    std::vector<std::string> sets;
    std::string preset, part;
  } rows[] = {
      {{"activation_type=QuantType.QInt4"}, "S8S8_AAWS", "activation_type: found QuantType.QInt4"},
      {{"weight_type=QuantType.QUInt4"}, "UINT8_DYNAMIC_QUANT", "use_dynamic_quant"},
      {{"weight_type=QuantType.QInt4"}, "XINT8", "enable_npu_cnn"},
      {{"weight_type=QuantType.QInt4", "UseGPTQ=true"}, "S8S8_AAWS", "UseGPTQ"},
  };
  for (const auto& row : rows) {
    const Status status = resolved(row.sets, row.preset);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << row.part;
    EXPECT_NE(status.message().find(row.part), std::string::npos) << status.message();
  }
}

TEST(FourBitsTest, AcceptsThemForMatrices) {
  EXPECT_EQ(resolved({"weight_type=QuantType.QInt4"}, "MATMUL_NBITS").message(), "");
}

}  // namespace
}  // namespace quarkq::pass_tests
