// SPDX-License-Identifier: MIT
// Settings that depend on each other: the quantizer (ref:settings#quantizers), the defaults that
// "depends" stands for in fields.def (kDependent below; ref:settings#symmetry, ref:settings#presets,
// ref:settings#options), and the changes that another setting or the model forces (ref:settings).
#include <algorithm>
#include <array>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "config/resolve_steps.h"

namespace quarkq::config {

namespace {

bool has_block_type(const Settings& s) {
  return is_block(s.formats.weight_type) || is_block(s.formats.activation_type);
}

/// Defaults of calibration by method (ref:calibration#method-options). -1: the method has no such setting.
struct MethodDefaults {
  CalibrateMethod method;
  bool range_symmetric;
  int64_t num_bins;
  bool optimize_mem;
};
constexpr MethodDefaults kMethodDefaults[] = {
    {CalibrateMethod::kNonOverflow, true, -1, true},
    {CalibrateMethod::kMinMSE, true, 2048, true},
    {CalibrateMethod::kMinMax, false, -1, true},
    {CalibrateMethod::kEntropy, false, 128, true},
    {CalibrateMethod::kPercentile, true, 2048, true},
    {CalibrateMethod::kDistribution, false, 2048, true},
    {CalibrateMethod::kLayerWisePercentile, true, 2048, false},
};

const MethodDefaults& method_defaults(const Settings& s) {
  for (const MethodDefaults& row : kMethodDefaults)
    if (row.method == s.ranges.calibrate_method) return row;
  return kMethodDefaults[2];
}

Node num_bins(const Settings& s) {
  const int64_t bins = method_defaults(s).num_bins;
  return bins < 0 ? Node() : Node(bins);
}

/// Weights of floating types keep their value under a Q/DQ pair; fast fine-tuning takes the pair off block types'
/// option.
Node add_pair_to_weight(const Settings& s) {
  return Node(is_half(s.formats.weight_type) || is_block(s.formats.weight_type));
}

/// The four substitutes that the reference injects for its hardware flows (ref:settings#presets).
Node injects_converts(const Settings& s) {
  const bool is_extended =
      s.formats.quant_format == QuantFormat::kExtendedQdq && !s.blocks.bf16_qdq_to_cast && !s.blocks.enable_vaiml_bf16;
  return Node(s.npu.enable_npu_cnn || s.npu.enable_npu_transformer || is_extended);
}

Node int32_bias(const Settings& s) {
  const Int32BiasDefault by_default = s.traits().int32_bias;
  if (by_default != Int32BiasDefault::kUnlessFloatWeights) return Node(by_default == Int32BiasDefault::kOn);
  const bool is_float = is_half(s.formats.weight_type) || is_block(s.formats.weight_type) ||
                        s.formats.weight_type == DataType::kFloat8E4M3Fn;
  return Node(!is_float);
}

Node activation_symmetric(const Settings& s) {
  return Node(is_half(s.formats.activation_type) || is_block(s.formats.activation_type));
}
Node weight_symmetric(const Settings& s) { return Node(is_signed_or_float(s.formats.weight_type)); }
Node for_npu_cnn(const Settings& s) { return Node(s.traits().is_cnn_overlay); }
Node method_symmetric(const Settings& s) { return Node(method_defaults(s).range_symmetric); }
Node method_optimize_mem(const Settings& s) { return Node(method_defaults(s).optimize_mem); }
Node as_optimize_model(const Settings& s) { return Node(s.preprocessing.optimize_model); }
Node as_vaiml(const Settings& s) { return Node(s.blocks.enable_vaiml_bf16); }
Node as_fp16(const Settings& s) { return Node(s.formats.quantize_fp16); }
Node as_block_type(const Settings& s) { return Node(has_block_type(s)); }
Node const_b_only(const Settings& s) { return Node(s.npu.enable_npu_transformer || s.emits_dynamic()); }
Node never(const Settings&) { return Node(false); }

/// One row per "depends" in fields.def. Rows are filled from the top, so that a row may read those above it.
constexpr struct {
  const char* option;
  Node (*value)(const Settings&);
  const char* rule;
} kDependent[] = {
    {"ActivationSymmetric", activation_symmetric, "true for float16, bfloat16, BFP and MX activations"},
    {"WeightSymmetric", weight_symmetric, "true for signed integer and floating weights"},
    {"QuantizeFP16", never, "true for a model whose tensors are all float16"},
    {"UseFP32Scale", as_fp16, "as QuantizeFP16"},
    {"FoldBatchNorm", as_optimize_model, "as optimize_model"},
    {"BF16QDQToCast", as_vaiml, "as EnableVaimlBF16"},
    {"ConvertBNToConv", injects_converts, "true for NPU flags and the extended format"},
    {"ConvertReduceMeanToGlobalAvgPool", injects_converts, "true for NPU flags and the extended format"},
    {"SplitLargeKernelPool", injects_converts, "true for NPU flags and the extended format"},
    {"ConvertSplitToSlice", injects_converts, "true for NPU flags and the extended format"},
    {"MatMulConstBOnly", const_b_only, "true for transformers and dynamic quantization"},
    {"AddQDQPairToWeight", add_pair_to_weight, "true for floating weights"},
    {"CalibTensorRangeSymmetric", method_symmetric, "by calibrate_method"},
    {"NumBins", num_bins, "by calibrate_method"},
    {"CalibOptimizeMem", method_optimize_mem, "by calibrate_method"},
    {"Int32Bias", int32_bias, "false for XINT8 and for floating weights"},
    {"ConvertLeakyReluToDPUVersion", for_npu_cnn, "true for XINT8"},
    {"ConvertSigmoidToHardSigmoid", for_npu_cnn, "true for XINT8"},
    {"ConvertHardSigmoidToDPUVersion", for_npu_cnn, "true for XINT8"},
    {"ConvertAvgPoolToDPUVersion", for_npu_cnn, "true for XINT8"},
    {"ConvertReduceMeanToDPUVersion", for_npu_cnn, "true for XINT8"},
    {"AdjustShiftCut", for_npu_cnn, "true for XINT8"},
    {"AdjustShiftBias", for_npu_cnn, "true for XINT8"},
    {"AdjustShiftRead", for_npu_cnn, "true for XINT8"},
    {"AdjustShiftWrite", for_npu_cnn, "true for XINT8"},
    {"AdjustHardSigmoid", for_npu_cnn, "true for XINT8"},
    {"AdjustShiftSwish", for_npu_cnn, "true for XINT8"},
    {"AlignConcat", for_npu_cnn, "true for XINT8"},
    {"AlignPool", for_npu_cnn, "true for XINT8"},
    {"AlignPad", for_npu_cnn, "true for XINT8"},
    {"AlignSlice", for_npu_cnn, "true for XINT8"},
    {"RefineBlockAxis", as_block_type, "true for BFP and MX types"},
};

bool is_set(const Settings& s, const std::string& name) { return s.origins.contains(name); }

void force_with_warning(Resolving& r, const std::string& name, const Node& value, const std::string& why) {
  r.diagnostics.add("setting-forced", name, cat("is ", to_flow(value), ": ", why));
  force(r, name, value);
}

/// One row of ref:settings#quantizers. kAny: the flag does not matter; rows are tried from the top.
enum class Flag { kAny, kNpuCnn, kNpuTransformer };
constexpr struct {
  bool is_float;
  QuantFormat format;
  Flag flag;
  Quantizer quantizer;
} kDispatch[] = {
    {true, QuantFormat::kQdq, Flag::kNpuTransformer, Quantizer::kNpuTransformer},
    {true, QuantFormat::kQdq, Flag::kAny, Quantizer::kCpu},
    {true, QuantFormat::kExtendedQdq, Flag::kAny, Quantizer::kExtended},
    {true, QuantFormat::kQOperator, Flag::kAny, Quantizer::kQOperator},
    {false, QuantFormat::kQdq, Flag::kNpuCnn, Quantizer::kNpuCnn},
    {false, QuantFormat::kQdq, Flag::kAny, Quantizer::kCpu},
    {false, QuantFormat::kExtendedQdq, Flag::kAny, Quantizer::kExtended},
    {false, QuantFormat::kQOperator, Flag::kAny, Quantizer::kQOperator},
};

bool holds(Flag flag, const Settings& s) {
  if (flag == Flag::kNpuCnn) return s.npu.enable_npu_cnn;
  return flag == Flag::kAny || s.npu.enable_npu_transformer;
}

/// A float16 model is quantized as it is, and not optimized (ref:settings#float16-models).
void force_fp16(Resolving& r) {
  Settings& s = r.settings;
  if (r.facts.all_float16 && !s.preprocessing.convert_fp16_to_fp32 && !s.formats.quantize_fp16) {
    force_with_warning(r, "QuantizeFP16", Node(true), "all tensors of the model are float16");
  }
  if (s.formats.quantize_fp16 && s.preprocessing.optimize_model) {
    force_with_warning(r, "optimize_model", Node(false), "a float16 model is not optimized");
  }
}

/// Dynamic quantization takes the model as it is (ref:writing#dynamic-quantization).
void leave_model_alone(Resolving& r) {
  force(r, "SkipPreprocess", Node(true));
  for (const char* name : {"include_cle", "include_sq", "include_rotation"}) {
    if (value_of(r.settings, name).as_bool()) force(r, name, Node(false));
  }
}

/// A list of passes takes the place of what rewrites the float model otherwise (ref:settings#pass-lists).
Status take_pass_list(Resolving& r) {
  const OptText &list = r.settings.preprocessing.shape_shifter_yaml, &old = r.settings.preprocessing.preprocess_yaml;
  if (old) {
    const char* text = list ? "is ignored because ShapeShifterYaml is set" : "is called ShapeShifterYaml now";
    r.diagnostics.add("deprecated-name", "PreprocessYAML", text);
  }
  QQ_TRY(r.settings.passes, asked_pass_list(r.config));
  if (r.settings.passes.before.empty()) return {};
  force(r, "SkipPreprocess", Node(true));
  if (r.settings.passes.lists("onnx_cross_layer_equalization") && r.settings.algorithms.include_cle)
    force(r, "include_cle", Node(false));
  return {};
}

}  // namespace

Quantizer choose_quantizer(const Settings& s) {
  if (s.tool.float_result.value_or(false)) return Quantizer::kNone;
  if (s.formats.use_dynamic_quant) return Quantizer::kDynamic;
  if (s.matmul_nbits.use_matmul_nbits) return Quantizer::kMatMulNBits;
  const Family kind =
      s.formats.int16_scale && !s.npu.enable_npu_cnn ? Family::kInt16 : family(s.ranges.calibrate_method);
  const bool is_float = kind == Family::kFloat || kind == Family::kLayerwise;
  for (const auto& row : kDispatch)
    if (row.is_float == is_float && row.format == s.formats.quant_format && holds(row.flag, s)) return row.quantizer;
  QQ_CHECK(false);
  return Quantizer::kCpu;
}

Status force_before_quantizer(Resolving& r) {
  Settings& s = r.settings;
  QQ_RETURN_IF_ERROR(take_pass_list(r));
  if (s.runtime.crypto_mode && s.preprocessing.optimize_model)
    force_with_warning(r, "optimize_model", Node(false), "crypto_mode is true");
  force_fp16(r);
  if (s.algorithms.include_fast_ft && !s.algorithms.include_auto_mp) {
    const Node value(is_half(s.formats.weight_type));
    if (is_set(s, "AddQDQPairToWeight") && Node(s.qdq.add_qdq_pair_to_weight) != value) {
      r.diagnostics.add("setting-forced", "AddQDQPairToWeight",
                        cat("is ", to_flow(value), ": include_fast_ft is true"));
    }
    force(r, "AddQDQPairToWeight", value);
  }
  if (!s.ranges.save_and_restore && s.algorithms.tensors_range_file) {
    QQ_RETURN_IF_ERROR(
        set_value(s, "SaveAndRestore", Node(*s.algorithms.tensors_range_file), s.origin_of("TensorsRangeFile")));
    r.diagnostics.add("deprecated-name", "TensorsRangeFile", "is called SaveAndRestore now");
  }
  s.asked_quant_format = s.formats.quant_format;
  const bool has_overrides =
      !s.ranges.tensor_quant_overrides.node.entries().empty() || !s.specific_layers.empty() || !s.layer_types.empty();
  if (has_overrides && s.formats.quant_format == QuantFormat::kQdq) {
    force_with_warning(r, "quant_format", Node("ExtendedQuantFormat.QDQ"), "there are settings for single tensors");
  }
  return {};
}

void fill_dependent_defaults(Resolving& r) {
  for (const auto& row : kDependent) {
    if (is_set(r.settings, row.option)) continue;
    const Status status = find_field(row.option)->assign(row.value(r.settings), r.settings);
    QQ_CHECK(status.ok());
  }
}

namespace {

/// Q and DQ of float8 load in ONNX Runtime from this opset on only.
constexpr int kOpsetWithFloat8 = 21;

void raise_opset_for_float8(Resolving& r) {
  const Settings& s = r.settings;
  const bool has_float8 =
      s.formats.activation_type == DataType::kFloat8E4M3Fn || s.formats.weight_type == DataType::kFloat8E4M3Fn;
  if (!has_float8 || r.facts.opset >= kOpsetWithFloat8 || s.preprocessing.convert_opset_version) return;
  force_with_warning(r, "ConvertOpsetVersion", Node(int64_t{kOpsetWithFloat8}), "float8 types need that opset");
}

}  // namespace

Status force_after_defaults(Resolving& r) {
  Settings& s = r.settings;
  raise_opset_for_float8(r);
  if (has_block_type(s) && s.bias.int32_bias) {
    force_with_warning(r, "Int32Bias", Node(false), "BFP and MX types have no int32 bias");
  }
  if (s.bias.int16_bias && !s.bias.int32_bias) force_with_warning(r, "Int32Bias", Node(true), "Int16Bias is true");
  if (s.formats.int16_scale && s.npu.enable_npu_cnn) {
    force_with_warning(r, "Int16Scale", Node(false), "enable_npu_cnn is true");
  }
  if (s.emits_dynamic()) leave_model_alone(r);
  if (!s.traits().is_cnn_overlay) return {};
  for (const char* name : {"ActivationSymmetric", "WeightSymmetric"}) {
    if (!value_of(s, name).as_bool()) force(r, name, Node(true));
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> dependent_rules() {
  std::vector<std::pair<std::string, std::string>> rules;
  for (const auto& row : kDependent) rules.emplace_back(row.option, row.rule);
  return rules;
}

// QuantizationPreference (ref:settings#preference): one word that changes several settings.

namespace {

bool is_pow2_mse(const Settings& s) { return s.ranges.calibrate_method == CalibrateMethod::kMinMSE; }
bool always(const Settings&) { return true; }
bool wants_bins(const Settings& s) {
  return is_pow2_mse(s) && s.ranges.min_mse_mode_pof2_scale == "All" && s.ranges.num_bins.value_or(0) == 0;
}
bool by_layers(const Settings& s) { return s.ranges.calibrate_method == CalibrateMethod::kLayerWisePercentile; }
bool keeps_samples(const Settings& s) { return !s.ranges.calib_optimize_mem; }
bool has_workers(const Settings& s) { return s.ranges.calib_worker_num > 1 || !s.origins.contains("CalibWorkerNum"); }

constexpr const char kWorkers[] = "";  // as many as the machine has, at most 8

/// What a preference makes of a setting.
constexpr struct {
  const char* preference;
  const char* setting;
  const char* value;
  bool (*applies)(const Settings&);
} kSettings[] = {
    {"accuracy", "MinMSEModePof2Scale", "All", is_pow2_mse},
    {"speed", "NumBins", "2048", wants_bins},
    {"speed", "LWPUseHistogram", "true", by_layers},
    {"speed", "CalibOptimizeMem", "false", always},
    {"speed", "CalibWorkerNum", kWorkers, has_workers},
    {"resource_efficiency", "NumBins", "2048", wants_bins},
    {"resource_efficiency", "LWPUseHistogram", "true", by_layers},
    {"resource_efficiency", "CalibOptimizeMem", "true", keeps_samples},
    {"resource_efficiency", "CalibWorkerNum", "1", has_workers},
};

/// The same for keys of FastFinetune.
constexpr struct {
  const char* preference;
  const char* key;
  const char* value;
} kFinetune[] = {
    {"accuracy", "EarlyStop", "false"},
    {"accuracy", "UpdateBias", "true"},
    {"accuracy", "OutputQDQ", "true"},
    {"speed", "EarlyStop", "true"},
    {"speed", "MemOptLevel", "0"},
    {"speed", "NumWorkers", kWorkers},
    {"resource_efficiency", "MemOptLevel", "2"},
    {"resource_efficiency", "NumWorkers", "1"},
};

Node value_for(const char* text) {
  if (*text != '\0') return literal(text);
  return Node(static_cast<int64_t>(std::min(std::thread::hardware_concurrency(), 8u)));
}

void report(Resolving& r, const std::string& name, const Node& before, const Node& after) {
  if (to_flow(before) == to_flow(after)) return;
  r.diagnostics.add(
      "setting-forced", name,
      cat("is ", to_flow(after), ": QuantizationPreference is ", *r.settings.runtime.quantization_preference));
}

}  // namespace

Status apply_preference(Resolving& r) {
  Settings& s = r.settings;
  if (!s.runtime.quantization_preference) return {};
  const std::string& asked = *s.runtime.quantization_preference;
  if (asked != "accuracy" && asked != "speed" && asked != "resource_efficiency") {
    return invalid_argument("QuantizationPreference: found ", asked, ", allowed is accuracy, speed or ",
                            "resource_efficiency");
  }
  for (const auto& row : kSettings) {
    if (asked != row.preference || !row.applies(s)) continue;
    const Node value = value_for(row.value);
    report(r, row.setting, value_of(s, row.setting), value);
    force(r, row.setting, value);
  }
  if (!s.algorithms.include_fast_ft) return {};
  Node params = value_of(s, "FastFinetune");
  for (const auto& row : kFinetune) {
    if (asked != row.preference) continue;
    const Node* before = params.find(row.key);
    const bool keeps =
        row.key == std::string_view("NumWorkers") && *row.value == '\0' && before != nullptr && to_flow(*before) != "1";
    if (keeps) continue;
    const Node value = value_for(row.value);
    report(r, cat("FastFinetune.", row.key), before != nullptr ? *before : Node(), value);
    params = params.with(row.key, value);
  }
  force(r, "FastFinetune", params);
  return {};
}

}  // namespace quarkq::config
