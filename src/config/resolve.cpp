// SPDX-License-Identifier: MIT
// The order of resolving, and the plain part of it: what was asked replaces the default.
#include "config/resolve.h"

#include <algorithm>

#include "base/error.h"
#include "config/fields.h"
#include "config/resolve_steps.h"

namespace quarkq::config {

Settings::Settings() = default;
Settings::Settings(const Settings&) = default;
Settings::Settings(Settings&&) noexcept = default;
Settings& Settings::operator=(const Settings&) = default;
Settings& Settings::operator=(Settings&&) noexcept = default;
Settings::~Settings() = default;

namespace {

/// Keys such as OptimizeModel set their field, unless quant_config itself sets it at least as strongly. Beside preset
/// and quant_config the reference ignores them (ref:settings#quant-config-fields).
Status take_field_keys(Resolving& r) {
  for (const auto& [name, value] : r.config.field_keys) {
    const std::string field = find_field_key(name)->field;
    const bool is_ignored = r.config.mode == QuantConfig::Mode::kFields && !r.settings.quirk(Quirk::kTakeFieldKeys);
    if (is_ignored) {
      r.diagnostics.add("option-no-effect", name,
                        cat("has no effect together with quant_config, set quant_config.", field));
      continue;
    }
    const Origin origin = r.config.origin_of(name);
    const bool is_weaker = r.config.origins.contains(field) && r.config.origin_of(field) >= origin;
    if (!is_weaker) QQ_RETURN_IF_ERROR(set_value(r.settings, field, value, origin));
  }
  return {};
}

}  // namespace

Status set_value(Settings& settings, const std::string& name, const Node& value, Origin origin) {
  const Field* field = find_field(name);
  QQ_CHECK(field != nullptr);
  QQ_RETURN_IF_ERROR(field->assign(value, settings).context(value.mark().prefix() + name));
  settings.origins[name] = origin;
  return {};
}

void force(Resolving& r, const std::string& name, const Node& value) {
  const Status status = set_value(r.settings, name, value, Origin::kForced);
  QQ_CHECK(status.ok());
}

Node value_of(const Settings& settings, const std::string& name) {
  const Field* field = find_field(name);
  QQ_CHECK(field != nullptr);
  return field->value(settings);
}

std::string origin_note(const Settings& settings, const std::string& name) {
  const Origin origin = settings.origin_of(name);
  if (origin == Origin::kDefault) return "";
  if (origin == Origin::kPreset) return cat(" (preset ", settings.preset, ")");
  return cat(" (", origin_name(origin), ")");
}

void take_defaults(Resolving& r) {
  for (const Field& field : all_fields()) {
    if (field.depends()) continue;
    const Status status = field.assign(literal(field.by_default), r.settings);
    QQ_CHECK(status.ok());
  }
}

namespace {

/// Takes over what was asked in our own blocks, or in quant_config and extra_options.
Status take_asked(Resolving& r, bool of_blocks) {
  for (const Field& field : all_fields()) {
    if (field.is_of_block() != of_blocks) continue;
    const std::optional<Node> asked = field.asked(r.config);
    if (asked) QQ_RETURN_IF_ERROR(set_value(r.settings, field.name, *asked, r.config.origin_of(field.name)));
  }
  return {};
}

/// The origins of settings without a row: target, exclude, keys of preprocess, ...
void take_other_origins(Resolving& r) {
  for (const auto& [name, origin] : r.config.origins)
    if (find_field(name) == nullptr && find_field_key(name) == nullptr) r.settings.origins.emplace(name, origin);
}

}  // namespace

Status take_blocks(Resolving& r) {
  take_other_origins(r);
  return take_asked(r, /*of_blocks=*/true);
}

Status take_fields_and_options(Resolving& r) {
  QQ_RETURN_IF_ERROR(take_asked(r, /*of_blocks=*/false));
  return take_field_keys(r);
}

Result<Settings> resolve(const QuantConfig& config, const ModelFacts& facts, Diagnostics& diagnostics) {
  for (const Diagnostic& finding : config.findings.all()) {
    diagnostics.add(finding);
  }
  Resolving r{config, facts, diagnostics, {}};
  r.settings.mode = config.mode;
  r.settings.preset = config.preset;
  if (config.target != kNoTarget) r.settings.target = config.target;
  r.settings.compat = config.is_compat();
  take_defaults(r);
  QQ_RETURN_IF_ERROR(take_blocks(r));
  QQ_RETURN_IF_ERROR(map_global_config(r));
  QQ_RETURN_IF_ERROR(take_fields_and_options(r));
  QQ_RETURN_IF_ERROR(merge_algorithms(r));
  QQ_RETURN_IF_ERROR(take_layers(r));
  QQ_RETURN_IF_ERROR(apply_preference(r));
  QQ_RETURN_IF_ERROR(force_before_quantizer(r));
  r.settings.quantizer = choose_quantizer(r.settings);
  fill_dependent_defaults(r);
  QQ_RETURN_IF_ERROR(check_restrictions(r));
  QQ_RETURN_IF_ERROR(force_after_defaults(r));
  QQ_RETURN_IF_ERROR(check_support(r));
  return std::move(r.settings);
}

// One table of rules about single settings (kRules), the scope column of fields.def, and the name selectors.

namespace {

constexpr DiagnosticId kNoEffect = "option-no-effect";
constexpr const char* kOnlyCompat = "quarkq stores no activations; takes effect with --compat only";
constexpr const char* kForFloat8 = "Distribution is a method for QFLOAT8E4M3FN";
constexpr DiagnosticId kConflict = "setting-conflict";

bool is_pow2(const Settings& s) { return family(s.ranges.calibrate_method) == Family::kPow2; }
bool averages(const Settings& s) {
  return s.ranges.calibrate_method == CalibrateMethod::kMinMax ||
         s.ranges.calibrate_method == CalibrateMethod::kNonOverflow;
}
bool uses(const Settings& s, DataType type) {
  return s.formats.activation_type == type || s.formats.weight_type == type;
}

bool has_32_bits(DataType type) { return type == DataType::kInt32 || type == DataType::kUInt32; }
constexpr DiagnosticId kNotLoaded = "type-does-not-load";
constexpr const char* kNoPairsOf32Bits = "ONNX Runtime loads no model with Q/DQ nodes of 32 bits";

bool counts(Origin origin, Asked asked) {
  return asked == Asked::kByUser ? is_users(origin) : origin != Origin::kDefault;
}

/// When `setting` was asked for and `applies`, it is a finding.
constexpr struct {
  const char* setting;
  DiagnosticId id;
  bool (*applies)(const Settings&);
  const char* text;
} kRules[] = {
    {"FoldRelu", kNoEffect,
     [](const Settings& s) { return s.preprocessing.fold_relu && s.formats.activation_symmetric; },
     "folds nothing while ActivationSymmetric is true"},
    {"ReplaceClip6Relu", kNoEffect,
     [](const Settings& s) { return s.preprocessing.replace_clip6_relu && !s.algorithms.include_cle; },
     "needs include_cle"},
    {"CalibMovingAverage", kNoEffect, [](const Settings& s) { return s.ranges.calib_moving_average && !averages(s); },
     "applies to the methods MinMax and NonOverflow only"},
    {"CalibMovingAverageConstant", kNoEffect, [](const Settings& s) { return !s.ranges.calib_moving_average; },
     "needs CalibMovingAverage true"},
    {"CalibTensorRangeSymmetric", kNoEffect,
     [](const Settings& s) {
       return !s.compat && !s.ranges.calib_tensor_range_symmetric &&
              s.ranges.calibrate_method == CalibrateMethod::kDistribution;
     },
     "the method Distribution has symmetric ranges only"},
    {"calibrate_method", "method-mismatch",
     [](const Settings& s) {
       return !s.compat && s.ranges.calibrate_method == CalibrateMethod::kDistribution &&
              s.formats.activation_type != DataType::kFloat8E4M3Fn;
     },
     kForFloat8},
    {"RandomDataReaderInputShape", kNoEffect, [](const Settings& s) { return !s.ranges.use_random_data; },
     "needs UseRandomData true"},
    {"RandomDataReaderInputDataRange", kNoEffect, [](const Settings& s) { return !s.ranges.use_random_data; },
     "needs UseRandomData true"},
    {"QDQOpTypePerChannelSupportToAxis", kNoEffect, [](const Settings& s) { return !s.formats.per_channel; },
     "needs per_channel true"},
    {"BFPAttributes", kNoEffect, [](const Settings& s) { return !uses(s, DataType::kBfp); }, "no type is QBFP"},
    {"MXAttributes", kNoEffect, [](const Settings& s) { return !uses(s, DataType::kMx); }, "no type is QMX"},
    {"Int32Bias", kNoEffect, [](const Settings& s) { return s.bias.int32_bias && !s.bias.quantize_bias; },
     "QuantizeBias is false"},
    {"UseUnsignedReLU", kNoEffect,
     [](const Settings& s) {
       const DataType type = s.formats.activation_type;
       const bool is_float = is_half(type) || is_block(type) || type == DataType::kFloat8E4M3Fn;
       const bool applies = !s.compat && !s.traits().is_cnn_overlay && s.formats.activation_symmetric && !is_float;
       return s.formats.use_unsigned_relu && !applies;
     },
     "needs symmetric integer activations of a quantizer other than npu-cnn, and has no effect with --compat"},
    {"Scenario", kNoEffect, [](const Settings& s) { return s.ranges.scenario != "same"; },
     "same and p3 give the same ranges"},
    {"UsePowerOf2Scale", kNoEffect, [](const Settings& s) { return !is_pow2(s); },
     "applies to the methods PowerOfTwoMethod.* only"},
    {"MinMSEModePof2Scale", kNoEffect,
     [](const Settings& s) { return s.ranges.calibrate_method != CalibrateMethod::kMinMSE; },
     "applies to the method PowerOfTwoMethod.MinMSE only"},
    {"NumBins", kNoEffect,
     [](const Settings& s) { return !s.compat && s.ranges.calibrate_method != CalibrateMethod::kEntropy; },
     "statistics have fixed bins; takes effect with --compat only"},
    {"Percentile", kNoEffect,
     [](const Settings& s) {
       return !s.compat && s.ranges.calibrate_method != CalibrateMethod::kPercentile &&
              s.ranges.calibrate_method != CalibrateMethod::kMinMSE &&
              s.ranges.weight_calibrate_method != CalibrateMethod::kFloatMinMSE;
     },
     "applies to the methods Percentile and PowerOfTwoMethod.MinMSE only"},
    {"PercentileCandidates", kNoEffect,
     [](const Settings& s) { return s.ranges.calibrate_method != CalibrateMethod::kLayerWisePercentile; },
     "applies to the method LayerWisePercentile only"},
    {"LWPUseHistogram", kNoEffect, [](const Settings& s) { return !s.compat; }, kOnlyCompat},
    {"CalibOptimizeMem", kNoEffect, [](const Settings& s) { return !s.compat; }, kOnlyCompat},
    {"CalibWorkerNum", kNoEffect, [](const Settings& s) { return !s.compat; }, kOnlyCompat},
    {"UseFP32Scale", kNoEffect, [](const Settings& s) { return s.formats.use_fp32_scale && !s.formats.quantize_fp16; },
     "needs QuantizeFP16"},
    {"enable_npu_cnn", kNoEffect, [](const Settings& s) { return s.npu.enable_npu_cnn && !s.traits().is_cnn_overlay; },
     "chooses no quantizer without a power-of-two method and QuantFormat.QDQ"},
    {"enable_npu_transformer", kConflict,
     [](const Settings& s) { return s.npu.enable_npu_transformer && s.npu.enable_npu_cnn; },
     "enable_npu_cnn is true too"},
    {"OpTypesToExcludeOutputQuantization", kNoEffect, [](const Settings& s) { return s.selection.weights_only; },
     "WeightsOnly is true: no output is quantized"},
    {"NodesToExcludeOutputQuantization", kNoEffect, [](const Settings& s) { return s.selection.weights_only; },
     "WeightsOnly is true: no output is quantized"},
    {"UseRandomData", kConflict,
     [](const Settings& s) { return s.ranges.use_random_data && s.calibration.dir.has_value(); },
     "calibration.dir is given and takes precedence"},
    {"activation_type", kNotLoaded,
     [](const Settings& s) { return !s.compat && has_32_bits(s.formats.activation_type); }, kNoPairsOf32Bits},
    {"weight_type", kNotLoaded, [](const Settings& s) { return !s.compat && has_32_bits(s.formats.weight_type); },
     kNoPairsOf32Bits},
    {"RemoveInputInit", kNoEffect,
     [](const Settings& s) {
       const bool rewrites = s.preprocessing.simplify_model || s.preprocessing.optimize_model;
       return !s.compat && !s.runtime.remove_input_init && rewrites;
     },
     "SimplifyModel and OptimizeModel remove initializers from the inputs as well"},
    {"extra_op_types_to_quantize", kNoEffect,
     [](const Settings& s) {
       return s.selection.quantize_all_op_types && !s.selection.extra_op_types_to_quantize.empty();
     },
     "QuantizeAllOpTypes is true, which includes all op types"},
};

bool equalizes(const Settings& s) { return s.algorithms.include_cle; }
bool rotates(const Settings& s) { return s.algorithms.include_rotation; }

/// Whether single layers or tensors may have types of their own.
bool has_own_types(const Settings& s) {
  return !s.specific_layers.empty() || !s.layer_types.empty() || s.algorithms.include_auto_mp ||
         s.algorithms.specific_tensor_precision || !s.ranges.tensor_quant_overrides.node.entries().empty();
}
bool uses_bfloat16(const Settings& s) { return uses(s, DataType::kBFloat16) || has_own_types(s); }
bool uses_blocks(const Settings& s) {
  return is_block(s.formats.activation_type) || is_block(s.formats.weight_type) || has_own_types(s);
}

/// Settings that something else switches on.
constexpr struct {
  const char* setting;
  bool (*is_read)(const Settings&);
  const char* needs;
} kNeeds[] = {
    {"SmoothAlpha", [](const Settings& s) { return s.algorithms.include_sq; }, "include_sq true"},
    {"RMatrixDim", rotates, "include_rotation true"},
    {"UseRandomHad", rotates, "include_rotation true"},
    {"RConfigPath", rotates, "include_rotation true"},
    {"CLESteps", equalizes, "include_cle true"},
    {"CLEBalanceMethod", equalizes, "include_cle true"},
    {"CLEWeightThreshold", equalizes, "include_cle true"},
    {"CLEScaleAppendBias", equalizes, "include_cle true"},
    {"CLEScaleUseThreshold", equalizes, "include_cle true"},
    {"CLETotalLayerDiffThreshold", equalizes, "include_cle true"},
    {"GPTQParams", [](const Settings& s) { return s.algorithms.use_gptq || s.packs_matrices(); },
     "UseGPTQ or UseMatMulNBits true"},
    {"FastFinetune", [](const Settings& s) { return s.algorithms.include_fast_ft; }, "include_fast_ft true"},
    {"AutoMixprecision", [](const Settings& s) { return s.algorithms.include_auto_mp; }, "include_auto_mp true"},
    {"MixedPrecisionTensor", [](const Settings& s) { return s.algorithms.specific_tensor_precision; },
     "specific_tensor_precision true"},
    {"NodesWithMixedPrecision", [](const Settings& s) { return s.qdq.enable_dual_quant_node_pairs; },
     "EnableDualQuantNodePairs true"},
    {"SimplifyModelOptions", [](const Settings& s) { return s.preprocessing.simplify_model; }, "SimplifyModel true"},
    {"EvalDataReader", [](const Settings& s) { return s.evaluation.eval_metrics; }, "EvalMetrics true"},
    {"LWPMetric", [](const Settings& s) { return s.ranges.calibrate_method == CalibrateMethod::kLayerWisePercentile; },
     "the method LayerWisePercentile"},
    {"NumQuantizedBins", [](const Settings& s) { return s.ranges.calibrate_method == CalibrateMethod::kEntropy; },
     "the method Entropy"},
    {"MinMSEModeFloatScale",
     [](const Settings& s) { return s.ranges.weight_calibrate_method == CalibrateMethod::kFloatMinMSE; },
     "WeightCalibrateMethod ExtendedCalibrationMethod.MinMSE"},
    {"ActivationScaled", [](const Settings& s) { return is_half(s.formats.activation_type) || has_own_types(s); },
     "activations in bfloat16 or float16"},
    {"WeightScaled", [](const Settings& s) { return is_half(s.formats.weight_type) || has_own_types(s); },
     "weights in bfloat16 or float16"},
    {"BF16WithClip", uses_bfloat16, "a type QBFloat16"},
    {"BF16QDQToCast", uses_bfloat16, "a type QBFloat16"},
    {"RefineBlockAxis", uses_blocks, "a type QBFP or QMX"},
    {"RemoveFusedQDQ", uses_blocks, "a type QBFP or QMX"},
};

/// Whether `value` is the default. A default that depends on other settings is false for all rows of kNeeds.
bool is_default(const Field& field, const Node& value) {
  return value == (field.depends() ? Node(false) : literal(field.by_default));
}

void check_needs(const Settings& settings, Asked asked, Diagnostics& diagnostics) {
  for (const auto& row : kNeeds) {
    const Field& field = *find_field(row.setting);
    const bool is_asked = counts(settings.origin_of(row.setting), asked) && !is_default(field, field.value(settings));
    if (!is_asked || row.is_read(settings)) continue;
    diagnostics.add(kNoEffect, row.setting, cat("needs ", row.needs));
  }
}

std::string quantizers_of(unsigned bits) {
  std::vector<std::string> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(Quantizer::kNone); ++i) {
    const auto quantizer = static_cast<Quantizer>(i);
    if ((bits & scope::bit(quantizer)) != 0) names.push_back(quantizer_name(quantizer));
  }
  return join(names, ", ");
}

/// Options that this quantizer does not read. Off values say nothing, so they are no finding.
void check_scopes(const Settings& settings, Asked asked, Diagnostics& diagnostics) {
  for (const Field& field : all_fields()) {
    const bool is_read = (field.scope & scope::bit(settings.quantizer)) != 0;
    if (is_read || !counts(settings.origin_of(field.name), asked) || is_off_value(field, field.value(settings)))
      continue;
    diagnostics.add(kNoEffect, field.name,
                    cat("has an effect with the quantizers ", quantizers_of(field.scope), " only; this is ",
                        quantizer_name(settings.quantizer)));
  }
}

void check_selectors(const Settings& settings, Diagnostics& diagnostics) {
  const std::vector<std::string>& wanted = settings.selection.nodes_to_quantize;
  for (const Selector& selector : settings.exclude_selectors) {
    const bool is_pattern = selector.kind == Selector::Kind::kPattern;
    if (is_pattern && selector.text.find(".*") == std::string::npos) {
      diagnostics.add(kNoEffect, selector.text, "is ignored: a pattern needs .* in it");
    }
    if (std::find(wanted.begin(), wanted.end(), selector.text) != wanted.end()) {
      diagnostics.add(kConflict, selector.text, "listed in nodes_to_quantize and exclude; exclusion takes precedence");
    }
  }
}

}  // namespace

void validate(const Settings& settings, Asked asked, Diagnostics& diagnostics) {
  for (const auto& rule : kRules) {
    if (!counts(settings.origin_of(rule.setting), asked) || !rule.applies(settings)) continue;
    diagnostics.add(rule.id, rule.setting, rule.text);
  }
  check_needs(settings, asked, diagnostics);
  check_scopes(settings, asked, diagnostics);
  check_selectors(settings, diagnostics);
}

}  // namespace quarkq::config
