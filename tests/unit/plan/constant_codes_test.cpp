// SPDX-License-Identifier: MIT
// From formats to what is stored: codes of constants, limits by target, operators by type, block formats and their
// names.
#include "plan/constant_codes.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/constants.h"
#include "numeric/element_type.h"
#include "plan/selection.h"
#include "plan/stage.h"
#include "support/pass_support.h"
#include "support/small_types.h"

namespace quarkq::plan {
namespace {

constexpr ElementType kIntegers[] = {ElementType::kInt4,  ElementType::kUInt4,  ElementType::kInt8, ElementType::kUInt8,
                                     ElementType::kInt16, ElementType::kUInt16, ElementType::kInt32};

std::vector<double> stored(const ir::Tensor& tensor) {
  return bits(tensor.type()) == 4 ? test::decoded(tensor) : ir::to_double(tensor).value();
}

TEST(ConstantCodesTest, IntegersAreStoredAsTheyAre) {
  for (const ElementType type : kIntegers) {
    const numeric::IntegerRange range = numeric::integer_range(type, numeric::RangeKind::kFull);
    std::vector<int32_t> codes = {static_cast<int32_t>(range.min), 0, 1, static_cast<int32_t>(range.max), 5, 7};
    for (const int32_t extra : {2, 3, 4}) codes.push_back(extra);
    const ir::Tensor tensor = store_codes(codes, type, {3, 3});
    EXPECT_EQ(tensor.type(), type);
    EXPECT_EQ(tensor.dims(), (ir::Shape{3, 3}));
    EXPECT_EQ(stored(tensor), std::vector<double>(codes.begin(), codes.end())) << name(type);
  }
}

TEST(ConstantCodesTest, RealCodesSaturate) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const ElementType type : kIntegers) {
    const numeric::IntegerRange range = numeric::integer_range(type, numeric::RangeKind::kFull);
    const auto least = static_cast<double>(range.min), most = static_cast<double>(range.max);
    const std::vector<double> codes = {least - 1, most + 1, -kInfinity, kInfinity, std::nan(""), 2.9, least, most};
    EXPECT_EQ(stored(store_saturated(codes, type, {2, 4})),
              (std::vector<double>{least, most, least, most, least, 2, least, most}))
        << name(type);
  }
}

TEST(ConstantCodesTest, EncodingIsRoundingAndClipping) {
  const std::vector<float> values = ir::float_values(test::random_floats({4, 6}, -3, 3)).value();
  for (const ElementType type : kIntegers) {
    for (const bool per_channel : {false, true}) {
      for (const int64_t axis : {0, 1}) {
        numeric::QuantSpec spec;
        spec.type = type;
        spec.per_channel = per_channel;
        spec.axis = axis;
        ParamList params(per_channel ? static_cast<size_t>(axis == 0 ? 4 : 6) : 1);
        for (size_t c = 0; c < params.size(); ++c)
          params[c] = {0.01f * static_cast<float>(c + 1), static_cast<int32_t>(c % 3)};
        const numeric::IntegerRange limits = numeric::integer_range(type, numeric::RangeKind::kFull);
        const std::vector<double> found = stored(encode_constant(values, {4, 6}, spec, params, limits));
        for (size_t i = 0; i < values.size(); ++i) {
          const size_t channel = !per_channel ? 0 : axis == 0 ? i / 6 : i % 6;
          const double steps =
              std::nearbyint(static_cast<double>(values[i] / params[channel].scale)) + params[channel].zero_point;
          EXPECT_EQ(found[i], std::clamp(steps, static_cast<double>(limits.min), static_cast<double>(limits.max)))
              << name(type) << " element " << i;
        }
      }
    }
  }
}

TEST(ConstantCodesTest, ScaledFloatsAreDividedAndRounded) {
  const std::vector<float> values = {0, 1, -1.5f, 0.1f, 1000, 3e4f};
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBFloat16}) {
    const ir::Tensor tensor = store_scaled_floats(values, {2, 3, 1}, {{1, 0}, {2, 0}, {0.5f, 0}}, type, {2, 3});
    EXPECT_EQ(tensor.type(), type);
    const std::vector<double> found = ir::to_double(tensor).value();
    const float scales[] = {1, 2, 0.5f, 1, 2, 0.5f};
    for (size_t i = 0; i < values.size(); ++i) {
      const float scaled = values[i] / scales[i];
      const float expected = type == ElementType::kFloat16 ? float_from_float16(float16_from_float(scaled))
                                                           : float_from_bfloat16(bfloat16_from_float(scaled));
      EXPECT_EQ(found[i], static_cast<double>(expected)) << name(type) << " " << i;
    }
  }
}

TEST(ConstantCodesTest, BFloat16HoldsNormalNumbersOnly) {
  EXPECT_FALSE(clipped_to_bfloat16(std::vector<float>{1, 0, -2, 1e-30f}, {4}).has_value());
  const auto tensor = clipped_to_bfloat16(std::vector<float>{-0.0f, 3.4e38f, -3.4e38f, 1e-40f, -1e-40f, 2}, {6});
  ASSERT_TRUE(tensor.has_value());
  const std::span<const float> clipped = tensor->data<float>();
  EXPECT_EQ(std::bit_cast<uint32_t>(clipped[0]), 0u) << "zeros become +0";
  EXPECT_EQ(clipped[1], 3.38953139e38f);
  EXPECT_EQ(clipped[2], -3.38953139e38f);
  EXPECT_EQ(clipped[3], std::numeric_limits<float>::min());
  EXPECT_EQ(clipped[4], -std::numeric_limits<float>::min());
  EXPECT_EQ(clipped[5], 2.0f);
}

TEST(ConstantCodesTest, LimitsFollowTargetTypeAndPolicy) {
  struct Row {
    const char* preset;
    Role role;
    ElementType type;
    bool symmetric;
    ClipPolicy clip;
    numeric::IntegerRange expected;
  };
  const Row rows[] = {
      {"A8W8", Role::kWeight, ElementType::kInt8, true, ClipPolicy::kFullType, {-128, 127}},
      {"A8W8", Role::kBias, ElementType::kInt8, true, ClipPolicy::kByTarget, {-128, 127}},
      {"A8W8", Role::kWeight, ElementType::kUInt8, false, ClipPolicy::kByTarget, {0, 255}},
      {"XINT8", Role::kWeight, ElementType::kInt8, true, ClipPolicy::kFullType, {-128, 127}},
      {"A8W8", Role::kWeight, ElementType::kInt4, false, ClipPolicy::kByTarget, {-8, 7}},
  };
  for (const Row& row : rows) {
    QuantSlot slot;
    slot.role = row.role;
    slot.clip = row.clip;
    slot.stage.spec.type = row.type;
    slot.stage.spec.symmetric = row.symmetric;
    EXPECT_EQ(stored_limits(test::settings_for(row.preset), slot), row.expected) << row.preset << " " << name(row.type);
  }
  for (const char* preset : {"A8W8", "XINT8", "U8S8_AAWS", "A16W8"}) {
    const config::Settings settings = test::settings_for(preset);
    QuantSlot slot;
    slot.role = Role::kWeight;
    slot.stage.spec.type = ElementType::kInt8;
    const int64_t least = settings.traits().clips_weights_narrow ? -127 : -128;
    EXPECT_EQ(stored_limits(settings, slot), (numeric::IntegerRange{least, 127})) << preset;
  }
}

/// The slot's own id unless another slot shares it.
TEST(ConstantCodesTest, OwnParameters) {
  QuantPlan plan(3);
  const ParamId shared = plan.params.add(), own = plan.params.add();
  plan.add({0}).stage.params = shared;
  plan.add({1}).stage.params = shared;
  plan.add({2}).stage.params = own;
  EXPECT_EQ(plan.own_params(plan.slot({2})), own);
  EXPECT_EQ(plan.own_params(plan.slot({2})), own) << "asking makes none";
  const ParamId made = plan.own_params(plan.slot({0}));
  EXPECT_NE(made, shared);
  plan.slot({0}).stage.params = made;
  EXPECT_EQ(plan.own_params(plan.slot({1})), shared) << "nobody shares it any more";
  QuantSlot fresh;
  EXPECT_TRUE(plan.own_params(fresh).valid());
}

TEST(ConstantCodesTest, OperatorsByQuantizerAndType) {
  struct Row {
    const char* preset;
    int64_t opset;
    ElementType type;
    StageKind kind;
    bool is_mixed;
    const char *quantize, *dequantize;
  };
  const StageKind pair = StageKind::kPair, constant = StageKind::kStored;
  const Row rows[] = {
      {"A8W8", 17, ElementType::kInt8, pair, false, "com.microsoft.QuantizeLinear", "com.microsoft.DequantizeLinear"},
      {"A8W8", 21, ElementType::kInt16, constant, false, "com.microsoft.QuantizeLinear",
       "com.microsoft.DequantizeLinear"},
      {"U8S8_AAWS", 17, ElementType::kUInt8, pair, false, "QuantizeLinear", "DequantizeLinear"},
      {"U8S8_AAWS", 17, ElementType::kInt8, constant, false, "QuantizeLinear", "DequantizeLinear"},
      {"A8W8", 17, ElementType::kBFloat16, pair, true, "com.amd.quark.ExtendedQuantizeLinear",
       "com.amd.quark.ExtendedDequantizeLinear"},
      {"A8W8", 17, ElementType::kInt8, pair, true, "QuantizeLinear", "DequantizeLinear"},
      {"BF16", 17, ElementType::kBFloat16, pair, false, "com.amd.quark.ExtendedQuantizeLinear",
       "com.amd.quark.ExtendedDequantizeLinear"},
      {"BF16", 17, ElementType::kInt8, pair, false, "com.microsoft.QuantizeLinear", "com.microsoft.DequantizeLinear"},
      {"BF16", 17, ElementType::kInt4, constant, false, "QuantizeLinear", "DequantizeLinear"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(cat(row.preset, " ", std::string(name(row.type))));
    const QdqOperators operators(test::settings_for(row.preset), row.opset);
    Stage stage;
    stage.kind = row.kind;
    stage.spec.type = row.type;
    stage.is_mixed = row.is_mixed;
    const auto full = [](const OperatorName& op) { return op.domain.empty() ? op.op : op.domain + "." + op.op; };
    EXPECT_EQ(full(operators.quantize(stage)), row.quantize);
    EXPECT_EQ(full(operators.dequantize(stage, false)), row.dequantize);
    EXPECT_EQ(operators.is_standard(stage), std::string(row.quantize).find("Extended") == std::string::npos);
  }
  EXPECT_EQ(QdqOperators().quantize({}).domain, "");
}

TEST(ConstantCodesTest, EveryTypeOfTheSettingsHasAnElement) {
  for (const auto& row : config::enum_names<config::DataType>()) {
    if (config::is_block(row.value)) {
      EXPECT_EQ(element_type(row.value), ElementType::kUndefined) << row.text;
    } else {
      EXPECT_NE(element_type(row.value), ElementType::kUndefined) << row.text;
    }
  }
}

TEST(ConstantCodesTest, ScaleKindsFollowMethodAndOptions) {
  struct Row {
    config::CalibrateMethod method;
    bool power, int16;
    numeric::ScaleKind activation, weight;
  };
  using enum config::CalibrateMethod;
  using enum numeric::ScaleKind;
  const Row rows[] = {{kMinMax, true, false, kFloat, kFloat},
                      {kPercentile, true, false, kFloat, kFloat},
                      {kNonOverflow, true, false, kPowerOfTwo, kPowerOfTwo},
                      {kNonOverflow, false, false, kFloat, kFloat},
                      {kMinMSE, true, false, kPowerOfTwo, kPowerOfTwo},
                      {kMinMSE, false, false, kFloat, kPowerOfTwo},
                      {kMinMSE, true, true, kInt16, kInt16},
                      {kMinMax, true, true, kInt16, kInt16}};
  for (const Row& row : rows) {
    config::Settings settings;
    settings.ranges.calibrate_method = row.method;
    settings.formats.use_power_of2_scale = row.power;
    settings.formats.int16_scale = row.int16;
    EXPECT_EQ(activation_scale_kind(settings), row.activation) << config::enum_text(row.method);
    EXPECT_EQ(weight_scale_kind(settings), row.weight) << config::enum_text(row.method);
  }
}

TEST(ConstantCodesTest, BlockFormatsAndTheirNames) {
  const auto named = [](const char* op, const std::vector<ir::Attribute>& attributes) {
    return block_name(op, attributes);
  };
  EXPECT_EQ(named("BFPQuantizeDequantize", {}), "BFP16");
  EXPECT_EQ(
      named("BFPQuantizeDequantize", {test::number("bit_width", 13), test::attribute("bfp_method", "to_bfp_prime")}),
      "MX6");
  EXPECT_EQ(named("MXQuantizeDequantize", {}), "MXINT8");
  EXPECT_EQ(named("MXQuantizeDequantize", {test::attribute("element_dtype", "fp4_e2m1")}), "MXFP4_E2M1");
  const config::Settings settings = test::settings_for("MXFP4E2M1");
  const std::vector<config::BlockAttribute> none;
  for (const config::DataType type : {config::DataType::kBfp, config::DataType::kMx}) {
    BlockFormat format = block_format(type, none, settings);
    EXPECT_EQ(format.axis(), 1);
    const size_t count = format.attributes.size();
    format.set_axis(-1);
    EXPECT_EQ(format.axis(), -1);
    EXPECT_EQ(format.attributes.size(), count);
    EXPECT_EQ(format.attributes.back().name, "axis") << "the refinement moves it to the end";
    EXPECT_EQ(for_constant(block_format(type, none, settings), 1).axis(), 0);
    EXPECT_EQ(for_constant(block_format(type, none, settings), 4).axis(), 1);
  }
}

TEST(ConstantCodesTest, ScalesOfSmallFloatsAreRoundedUpExceptInCompatMode) {
  using Given = std::vector<config::BlockAttribute>;
  config::Settings settings = test::settings_for("MXFP4E2M1");
  const auto rounds_up = [&](config::DataType type, const Given& given) -> int64_t {
    const BlockFormat format = block_format(type, given, settings);
    const auto found = std::ranges::find(format.attributes, "round_scale_up", &ir::Attribute::name);
    return found == format.attributes.end() ? -1 : std::get<int64_t>(found->value);
  };
  EXPECT_EQ(rounds_up(config::DataType::kMx, {{"element_dtype", "fp4_e2m1"}}), 1);
  EXPECT_EQ(rounds_up(config::DataType::kMx, {{"element_dtype", "fp8_e5m2"}, {"round_scale_up", int64_t{0}}}), 0);
  EXPECT_EQ(rounds_up(config::DataType::kMx, {{"element_dtype", "int8"}}), -1);
  EXPECT_EQ(rounds_up(config::DataType::kBfp, {}), -1);
  settings.compat = true;
  EXPECT_EQ(rounds_up(config::DataType::kMx, {{"element_dtype", "fp4_e2m1"}}), -1);
}

TEST(ConstantCodesTest, OverridesChangeOneTensorOnly) {
  const config::Settings settings = test::settings_for("A8W8");
  TensorOverrides overrides;
  config::TensorOverride& own = overrides[ir::ValueId{3}];
  own.type = config::DataType::kUInt16;
  own.symmetric = false;
  const TensorFormats formats = TensorFormats::make(settings, overrides).value();
  EXPECT_EQ(formats.activation({3}).spec.type, ElementType::kUInt16);
  EXPECT_FALSE(formats.activation({3}).spec.symmetric);
  EXPECT_EQ(formats.constant({3}, 4).spec.type, ElementType::kUInt16);
  EXPECT_EQ(formats.activation({2}).spec.type, ElementType::kInt8);
  EXPECT_EQ(formats.constant({2}, 4).kind, StageKind::kStored);
  EXPECT_EQ(formats.override_of({2}), nullptr);
  EXPECT_EQ(find_override(overrides, {3}), &own);
}

}  // namespace
}  // namespace quarkq::plan
