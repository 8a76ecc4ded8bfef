// SPDX-License-Identifier: MIT
// global_config and algo_config translated to fields and options. Source: ref:settings.
#include <algorithm>
#include <set>

#include "config/algorithms.h"
#include "config/resolve_steps.h"

namespace quarkq::config {
namespace {

/// Power-of-two scales are asked for with a method of float scales, such as Percentile, the default.
bool is_mismatch(const TensorSpec& spec) {
  return spec.scale_type == ScaleType::kPowerOf2 && spec.calibration_method != CalibMethod::kMinMSE &&
         spec.calibration_method != CalibMethod::kMinMax;
}

/// Activation method by method and scale of the global input_tensors (ref:settings#calibration-methods-of-specs).
Result<CalibrateMethod> activation_method(const TensorSpec& spec, bool guards) {
  if (guards && is_mismatch(spec)) return CalibrateMethod::kMinMSE;  // the others give scales that are no power of two
  switch (spec.calibration_method) {
    case CalibMethod::kMinMSE: {
      const bool is_float = guards && spec.scale_type == ScaleType::kFloat32;
      return is_float ? CalibrateMethod::kFloatMinMSE : CalibrateMethod::kMinMSE;
    }
    case CalibMethod::kPercentile: return CalibrateMethod::kPercentile;
    case CalibMethod::kEntropy: return CalibrateMethod::kEntropy;
    case CalibMethod::kDistribution: return CalibrateMethod::kDistribution;
    case CalibMethod::kLayerwisePercentile: return CalibrateMethod::kLayerWisePercentile;
    case CalibMethod::kMinMax: break;
  }
  if (spec.scale_type == ScaleType::kInt16) {
    return invalid_argument("global_config.input_tensors: found calibration_method CalibMethod.MinMax with scale_type ",
                            "ScaleType.Int16, allowed are ScaleType.Float32 and ScaleType.PowerOf2");
  }
  return spec.scale_type == ScaleType::kPowerOf2 ? CalibrateMethod::kNonOverflow : CalibrateMethod::kMinMax;
}

bool is_8_bit(DataType type) { return type == DataType::kInt8 || type == DataType::kUInt8; }

/// Attributes implied by the name of a data type (ref:settings#block-attributes). BFP16 implies the operator's
/// defaults.
constexpr struct {
  const char* data_type;
  const char* option;
  const char* attributes;
} kBlockAttributes[] = {
    {"MX4", "BFPAttributes",
     "{bfp_method: to_bfp_prime, axis: 1, bit_width: 11, block_size: 16, sub_block_size: 2, "
     "sub_block_shift_bits: 1, rounding_mode: 2}"},
    {"MX6", "BFPAttributes",
     "{bfp_method: to_bfp_prime, axis: 1, bit_width: 13, block_size: 16, sub_block_size: 2, "
     "sub_block_shift_bits: 1, rounding_mode: 2}"},
    {"MX9", "BFPAttributes",
     "{bfp_method: to_bfp_prime, axis: 1, bit_width: 16, block_size: 16, sub_block_size: 2, "
     "sub_block_shift_bits: 1, rounding_mode: 2}"},
    {"MXFP4E2M1", "MXAttributes", "{element_dtype: fp4_e2m1, axis: 1, block_size: 32, rounding_mode: 2}"},
    {"MXFP6E3M2", "MXAttributes", "{element_dtype: fp6_e3m2, axis: 1, block_size: 32, rounding_mode: 2}"},
    {"MXFP6E2M3", "MXAttributes", "{element_dtype: fp6_e2m3, axis: 1, block_size: 32, rounding_mode: 2}"},
    {"MXFP8E5M2", "MXAttributes", "{element_dtype: fp8_e5m2, axis: 1, block_size: 32, rounding_mode: 2}"},
    {"MXFP8E4M3", "MXAttributes", "{element_dtype: fp8_e4m3, axis: 1, block_size: 32, rounding_mode: 2}"},
    {"MXInt8", "MXAttributes", "{element_dtype: int8, axis: 1, block_size: 32, rounding_mode: 2}"},
};

/// Two block formats must be the same: one set of attributes serves both. The reference knows none but equal ones
/// (ref:settings#block-attributes) and gives one beside integers the operator's defaults, which are another format.
Status map_block_attributes(Resolving& r, const TensorSpec& input, const TensorSpec& weight, Origin origin) {
  if (r.config.options.bfp_attributes || r.config.options.mx_attributes) return {};
  for (const auto& row : kBlockAttributes) {
    const bool input_has = input.data_type == row.data_type;
    const bool weight_has = weight.data_type == row.data_type;
    if (!input_has && !weight_has) continue;
    const bool is_alone = !is_block(input.type) || !is_block(weight.type);
    if (is_alone && r.settings.compat) return {};
    if (is_alone || input_has == weight_has) return set_value(r.settings, row.option, literal(row.attributes), origin);
    return invalid_argument("global_config: found input_tensors ", input.data_type, " and weight ", weight.data_type,
                            ", allowed are equal block formats, or ", row.option, " in extra_options");
  }
  return {};
}

const char* block_option(DataType type) { return type == DataType::kBfp ? "BFPAttributes" : "MXAttributes"; }

/// Names of the block formats of this type that layers and the whole model ask for.
std::set<std::string> block_names(const Resolving& r, DataType type) {
  std::set<std::string> names;
  const auto add = [&](const std::optional<TensorSpec>& spec) {
    if (spec && spec->type == type) names.insert(spec->data_type);
  };
  for (const auto* rules : {&r.config.specific_layer_config, &r.config.layer_type_config}) {
    for (const LayerRule& rule : *rules) {
      if (!rule.config) continue;
      for (const auto* part :
           {&rule.config->input_tensors, &rule.config->weight, &rule.config->bias, &rule.config->output_tensors})
        add(*part);
    }
  }
  if (names.empty()) return names;
  const Settings::Formats& formats = r.settings.formats;
  if (r.config.mode == QuantConfig::Mode::kLayers) {
    add(r.config.global_config->input_tensors);
    add(r.config.global_config->weight);
  } else if ((formats.activation_type == type || formats.weight_type == type) &&
             value_of(r.settings, block_option(type)).entries().empty()) {
    names.insert(type == DataType::kBfp ? "BFP16" : "MXInt8");  // the operators' defaults
  }
  return names;
}

/// Layers of block formats: one set of attributes serves all tensors of an operator. Attributes that nobody gave are
/// those of the name; the reference leaves the operator's defaults, which are another format.
Status map_layer_blocks(Resolving& r, DataType type) {
  const char* const option = block_option(type);
  const std::set<std::string> names = block_names(r, type);
  if (names.empty() || r.settings.compat || is_users(r.config.origin_of(option))) return {};
  const Node given = value_of(r.settings, option);
  const auto* row =
      std::ranges::find(kBlockAttributes, *names.begin(), [](const auto& one) { return std::string(one.data_type); });
  const bool is_named = row != std::end(kBlockAttributes);
  const Node* method = given.find("bfp_method");
  const bool is_plain = method == nullptr || *method == Node("to_bfp");
  const bool fits = is_named ? given.entries().empty() || given == literal(row->attributes) : is_plain;
  if (names.size() > 1 || !fits) {
    return invalid_argument("layer settings: found ", join(names, " and "), " with ", option, " ", to_flow(given),
                            origin_note(r.settings, option), ", which serve all tensors; allowed is one ",
                            "format, or ", option, " in extra_options");
  }
  return is_named ? set_value(r.settings, option, literal(row->attributes), Origin::kForced) : Status();
}

/// Warnings of ref:settings#calibration-methods-of-specs about methods that do not fit the scale.
Status check_tensor_spec(Resolving& r, const TensorSpec& spec, const std::string& role) {
  const bool is_mse = spec.calibration_method == CalibMethod::kMinMSE;
  const std::string subject = "global_config." + role;
  if (!r.settings.guards() && spec.scale_type == ScaleType::kFloat32 && is_mse && role == "input_tensors") {
    r.diagnostics.add("method-changed", subject, "MinMSE with float scales is taken as the power-of-two MinMSE");
  }
  if (is_mismatch(spec)) {
    r.diagnostics.add("method-mismatch", subject,
                      cat("power-of-two scales go with MinMSE or MinMax",
                          r.settings.guards() ? "; MinMSE is taken" : ", and these will be float scales"));
  }
  if (r.settings.guards() && spec.scale_type == ScaleType::kInt16 && !r.config.options.int16_scale) {
    r.diagnostics.add("setting-no-effect", subject + ".scale_type",
                      "Int16 is taken as Float32; set Int16Scale=true in extra_options for scales of that form");
  }
  const bool is_silent = is_mse || spec.calibration_method == CalibMethod::kMinMax ||
                         spec.calibration_method == CalibMethod::kPercentile;  // Percentile is the classes' default
  if (r.settings.guards() && role == "weight" && !is_silent) {
    r.diagnostics.add("setting-no-effect", subject + ".calibration_method",
                      "weights use MinMax, or MinMSE if it is set; other methods apply to activations");
  }
  if (spec.quant_granularity != QuantGranularity::kGroup) return Status();
  if (r.settings.guards()) {
    return invalid_argument(subject, ".quant_granularity: found Group, allowed are Tensor and Channel; matrices in ",
                            "groups are what the preset MATMUL_NBITS writes");
  }
  r.diagnostics.add("setting-no-effect", subject + ".quant_granularity", "Group is taken as Tensor");
  return Status();
}

/// Weights have a method of their own only with float scales.
Status map_weight_method(Resolving& r, const TensorSpec& weight, Origin origin) {
  if (weight.scale_type != ScaleType::kFloat32) {
    if (r.config.options.weight_calibrate_method) {
      r.diagnostics.add("option-no-effect", "WeightCalibrateMethod",
                        "weights without float scales follow the activations");
    }
    return {};
  }
  const bool is_mse = weight.calibration_method == CalibMethod::kMinMSE;
  const auto method = is_mse ? CalibrateMethod::kFloatMinMSE : CalibrateMethod::kMinMax;
  return set_value(r.settings, "WeightCalibrateMethod", Node(enum_text(method)), origin);
}

/// Copies class defaults and given parameters of `algorithm` where extra_options has no value of its own.
Status merge_params(Resolving& r, const Algorithm& algorithm, const AlgorithmInfo& info, Origin origin) {
  const bool has_map = *info.option != '\0';
  Node params = has_map ? value_of(r.settings, info.option) : Node(Node::Map{});
  for (const AlgorithmParam& param : algorithm_params(algorithm.name)) {
    const Node* given = algorithm.params.find(param.name);
    const bool is_silent = given == nullptr && *param.by_default == '\0';
    const bool is_set = has_map ? params.find(param.key) != nullptr : r.config.origins.contains(param.key);
    if (is_silent || is_set) continue;
    const Node value = given != nullptr ? *given : literal(param.by_default);
    if (has_map) {
      params = params.with(param.key, value);
    } else {
      QQ_RETURN_IF_ERROR(set_value(r.settings, param.key, value, given != nullptr ? origin : Origin::kDefault));
    }
  }
  if (std::string_view(info.option) == "FastFinetune" && params.find("OptimAlgorithm") == nullptr) {
    params = params.with("OptimAlgorithm", Node(algorithm.name));
  }
  return has_map ? set_value(r.settings, info.option, params, origin) : Status();
}

}  // namespace

Status map_global_config(Resolving& r) {
  if (r.config.mode != QuantConfig::Mode::kLayers) return {};
  const TensorSpec& input = *r.config.global_config->input_tensors;
  const TensorSpec& weight = *r.config.global_config->weight;
  const Origin origin = r.config.origin_of("global_config");
  QQ_RETURN_IF_ERROR(check_tensor_spec(r, input, "input_tensors"));
  QQ_RETURN_IF_ERROR(check_tensor_spec(r, weight, "weight"));
  QQ_TRY(const CalibrateMethod method, activation_method(input, r.settings.guards()));
  const bool is_standard = is_8_bit(input.type) && is_8_bit(weight.type);
  const bool is_pow2 = input.scale_type == ScaleType::kPowerOf2 && weight.scale_type == ScaleType::kPowerOf2;
  const std::pair<const char*, Node> values[] = {
      {"calibrate_method", Node(enum_text(method))},
      {"quant_format", Node(enum_text(is_standard ? QuantFormat::kQdq : QuantFormat::kExtendedQdq))},
      {"activation_type", Node(enum_text(input.type))},
      {"weight_type", Node(enum_text(weight.type))},
      {"per_channel", Node(weight.quant_granularity == QuantGranularity::kChannel)},
      {"enable_npu_cnn", Node(is_pow2)},
  };
  for (const auto& [name, value] : values) QQ_RETURN_IF_ERROR(set_value(r.settings, name, value, origin));
  QQ_RETURN_IF_ERROR(set_value(r.settings, "include_cle", Node(false), Origin::kDefault));
  QQ_RETURN_IF_ERROR(map_weight_method(r, weight, origin));
  return map_block_attributes(r, input, weight, origin);
}

Status merge_algorithms(Resolving& r) {
  const Origin origin = r.config.origin_of("algo_config");
  const Algorithm* fine_tuning = nullptr;
  for (const Algorithm& algorithm : r.config.algo_config) {
    const AlgorithmInfo& info = *find_algorithm(algorithm.name);
    const bool is_fine_tuning = std::string_view(info.option) == "FastFinetune";
    if (is_fine_tuning && fine_tuning != nullptr) {
      r.diagnostics.add("setting-no-effect", "algo_config",
                        cat(algorithm.name, " is left out, ", fine_tuning->name, " was listed first"));
      continue;
    }
    if (is_fine_tuning) fine_tuning = &algorithm;
    QQ_RETURN_IF_ERROR(set_value(r.settings, info.flag, Node(true), origin));
    QQ_RETURN_IF_ERROR(merge_params(r, algorithm, info, origin).context("algo_config " + algorithm.name));
  }
  return {};
}

Status take_layers(Resolving& r) {
  Settings& s = r.settings;
  const QuantConfig& config = r.config;
  if (config.mode ==
      QuantConfig::Mode::kLayers) {  // both symmetries come from global_config alone (ref:settings#symmetry)
    s.formats.activation_symmetric = config.global_config->input_tensors->symmetric;
    s.formats.weight_symmetric = config.global_config->weight->symmetric;
    s.origins["ActivationSymmetric"] = s.origins["WeightSymmetric"] = config.origin_of("global_config");
    if (config.global_config->weight->scale_type != ScaleType::kFloat32) s.ranges.weight_calibrate_method.reset();
  }
  for (const std::string& name : s.selection.nodes_to_exclude) {
    const auto kind = name.starts_with('^') ? Selector::Kind::kPattern : Selector::Kind::kName;
    s.exclude_selectors.push_back({kind, name, {}, {}});
  }
  QQ_TRY(const std::vector<Selector> subgraphs,
         read_selectors(s.selection.subgraphs_to_exclude.node, "subgraphs_to_exclude"));
  s.exclude_selectors.insert(s.exclude_selectors.end(), subgraphs.begin(), subgraphs.end());
  s.exclude_selectors.insert(s.exclude_selectors.end(), config.exclude.begin(), config.exclude.end());
  s.specific_layers = config.specific_layer_config;
  for (const LayerRule& rule : config.layer_type_config) {
    if (rule.config) s.layer_types.push_back(rule);
    if (!rule.config) s.exclude_op_types.insert(s.exclude_op_types.end(), rule.op_types.begin(), rule.op_types.end());
  }
  for (const DataType type : {DataType::kBfp, DataType::kMx}) QQ_RETURN_IF_ERROR(map_layer_blocks(r, type));
  s.preprocess = config.preprocess;
  s.input_model_path = config.input_model_path;
  s.output_model_path = config.output_model_path;
  if (config.calibration.random.has_value() && !config.options.use_random_data) {
    const Origin origin = config.origin_of("calibration.random");
    QQ_RETURN_IF_ERROR(set_value(s, "UseRandomData", Node(*config.calibration.random), origin));
  }
  if (config.eval.dir && !config.options.eval_metrics) {
    return set_value(s, "EvalMetrics", Node(true), config.origin_of("evaluation.dir"));
  }
  return {};
}

}  // namespace quarkq::config
