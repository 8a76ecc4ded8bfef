// SPDX-License-Identifier: MIT
// 4-bit integers as a weight type: what is refused, the opset, the stored codes, reading them back.
#include "numeric/range_to_params.h"
#include "passes/calibrate/constants.h"
#include "passes/lift/lift.h"
#include "unit/passes/npu_support.h"

namespace quarkq::passes {
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
    test::run_phases(*this, {"select", "assign"});
    test::fill_parameters(graph(), context.plan);
    run(encode_constants);
    run(emit_qdq);
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
  const ir::Tensor codes = store_codes({-8, 7, -1, 0, 3}, ElementType::kInt4, {5});
  ASSERT_EQ(codes.bytes(), 3);
  const auto* bytes = reinterpret_cast<const uint8_t*>(codes.raw());
  EXPECT_EQ(std::vector<int>(bytes, bytes + 3), (std::vector<int>{0x78, 0x0f, 0x03}));
  EXPECT_EQ(ir::to_int64(codes).value(), (std::vector<int64_t>{-8, 7, -1, 0, 3}));
  EXPECT_EQ(ir::to_int64(store_codes({15, 0, 9}, ElementType::kUInt4, {1, 3})).value(),
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
  const Result<Changed> found = find_overrides(bench.context);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("tensor x: found a 4-bit type"), std::string::npos)
      << found.status().message();
}

TEST(FourBitsTest, WrittenWeightsLiftBack) {
  const FourBits made({"weight_type=QuantType.QInt4"});
  const Result<LiftedModel> lifted = lift(made.model);
  ASSERT_TRUE(lifted.ok()) << lifted.status().message();
  const ir::ValueId weight = lifted.value().model.graph.find("w");
  ASSERT_TRUE(weight.valid());
  const plan::QuantSlot* slot = lifted.value().plan.find(weight);
  ASSERT_TRUE(slot != nullptr && slot->codes.has_value());
  EXPECT_EQ(slot->stages[0].spec.type, ElementType::kInt4);
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
}  // namespace quarkq::passes
