// SPDX-License-Identifier: MIT
// What resolve() refuses or gives notice of: contradictions, and the support column of fields.def.
#include <algorithm>
#include <utility>

#include "config/format_settings.h"
#include "config/low_bit_weights.h"
#include "config/named_files.h"
#include "config/resolve_steps.h"

namespace quarkq::config {
namespace {

/// Settings that a preset or default sets, but that would do nothing in this run: nothing is left out.
constexpr struct {
  const char* setting;
  bool (*has_no_effect)(const Settings&);
} kWithoutEffect[] = {
    {"SimulateDPU",
     [](const Settings& s) {
       return !(s.npu.convert_leaky_relu_to_dpu_version || s.npu.convert_sigmoid_to_hard_sigmoid ||
                s.npu.convert_hard_sigmoid_to_dpu_version || s.npu.convert_avg_pool_to_dpu_version ||
                s.npu.convert_reduce_mean_to_dpu_version || s.npu.convert_softmax_to_dpu_version ||
                s.npu.convert_instance_norm_to_dpu_version || s.npu.convert_clip_to_dpu_version);
     }},
    {"FoldRelu", [](const Settings& s) { return s.formats.activation_symmetric; }},
    {"AdjustBiasScale", [](const Settings& s) { return !s.bias.int32_bias; }},
};

bool has_no_effect(const Settings& settings, const std::string& name) {
  for (const auto& row : kWithoutEffect)
    if (row.setting == name) return row.has_no_effect(settings);
  return false;
}

Status not_supported(const std::string& subject) { return unsupported(subject, ": known, not supported yet"); }

/// One row of fields.def against its support column.
Status check_field(Resolving& r, const Field& field) {
  const Settings& s = r.settings;
  const Origin origin = s.origin_of(field.name);
  const Node value = field.value(s);
  if (field.support == Support::kBuilt || is_off_value(field, value)) return {};
  if (field.support == Support::kInert) {
    if (is_users(origin)) r.diagnostics.add("option-inert", field.name, field.doc);
    return {};
  }
  if (is_users(origin))
    return not_supported(cat("option ", field.name, " ", to_flow(value), origin_note(s, field.name)));
  const bool is_absent = std::string_view(field.off) == "absent" && origin == Origin::kDefault;
  const bool is_in_scope = (field.scope & scope::bit(s.quantizer)) != 0;
  if (is_absent || !is_in_scope || has_no_effect(s, field.name)) return {};
  r.diagnostics.add("option-left-out", field.name,
                    cat(to_flow(value), " by ", origin_name(origin), " is left out: known, not supported yet"));
  return {};
}

/// Types wider than 16 bits and half types need the extended format (ref:settings#wide-types).
Status check_wide_bits(const Settings& s) {
  if (s.formats.quant_format != QuantFormat::kQdq) return {};
  for (const char* name : {"activation_type", "weight_type"}) {
    const DataType type = name[0] == 'a' ? s.formats.activation_type : s.formats.weight_type;
    if (type != DataType::kInt32 && type != DataType::kUInt32 && !is_half(type)) continue;
    return invalid_argument(name, ": found ", enum_text(type), " with quant_format QuantFormat.QDQ, allowed is ",
                            "ExtendedQuantFormat.QDQ");
  }
  return {};
}

bool is_nibble(DataType type) { return type == DataType::kInt4 || type == DataType::kUInt4; }

/// ExtendedDequantizeLinear of half types makes float32 only, so its readers in a float16 model need UseFP32Scale.
Status check_half_scales(const Settings& s) {
  const bool is_written = is_half(s.formats.activation_type) && !s.blocks.bf16_qdq_to_cast && s.inserts_qdq();
  if (s.compat || !is_written || !s.formats.quantize_fp16 || s.formats.use_fp32_scale) return {};
  return invalid_argument("UseFP32Scale: found false", origin_note(s, "UseFP32Scale"), " for a float16 model with ",
                          enum_text(s.formats.activation_type), " activations, which no runtime loads; allowed is ",
                          "true, or set convert_fp16_to_fp32=true");
}

/// 4 bits are for stored weights that a DequantizeLinear reads. The reference fails on all of them
/// (ref:settings#data-types).
Status check_nibbles(const Settings& s) {
  if (is_nibble(s.formats.activation_type)) {
    return invalid_argument("activation_type: found ", enum_text(s.formats.activation_type),
                            ", 4-bit types are for weights only (weight_type); allowed are 8 bits and more");
  }
  if (!is_nibble(s.formats.weight_type) || s.packs_matrices()) return {};
  const char* why = refusal_of_4_bits(s);
  if (why == nullptr) return {};
  return invalid_argument("weight_type: found ", enum_text(s.formats.weight_type), origin_note(s, "weight_type"),
                          " with ", why);
}

/// Requirements of the XINT8 quantizer (ref:settings#quantizers). Symmetries count only when they were given.
Status check_npu_cnn(const Settings& s) {
  if (!s.traits().is_cnn_overlay) return {};
  const struct {
    const char* name;
    bool is_refused;
    const char* allowed;
  } rules[] = {
      {"per_channel", s.formats.per_channel, "false"},
      {"reduce_range", s.formats.reduce_range, "false"},
      {"weight_type", s.formats.weight_type != DataType::kInt8, "QuantType.QInt8"},
      {"WeightSymmetric", s.origins.contains("WeightSymmetric") && !s.formats.weight_symmetric, "true"},
      {"ActivationSymmetric", s.origins.contains("ActivationSymmetric") && !s.formats.activation_symmetric, "true"},
  };
  for (const auto& rule : rules) {
    if (!rule.is_refused) continue;
    return invalid_argument(rule.name, ": found ", to_flow(value_of(s, rule.name)), origin_note(s, rule.name),
                            " with enable_npu_cnn true, allowed is ", rule.allowed);
  }
  return {};
}

/// Operators on integers work on bytes. The reference makes them by another quantizer, whose results are not
/// reproduced.
Status check_integer_operators(const Settings& s) {
  if (!s.writes_integer_operators()) return {};
  if (s.compat)
    return not_supported(cat("quant_format ", enum_text(s.formats.quant_format), origin_note(s, "quant_format"),
                             " with --compat ", *s.tool.compat, " (it is supported without --compat)"));
  for (const auto& [name, type] :
       {std::pair("activation_type", s.formats.activation_type), std::pair("weight_type", s.formats.weight_type)}) {
    if (type == DataType::kInt8 || type == DataType::kUInt8) continue;
    return invalid_argument(name, ": found ", enum_text(type), origin_note(s, name), " with quant_format ",
                            enum_text(s.formats.quant_format), ", allowed are QuantType.QInt8 and QuantType.QUInt8");
  }
  return {};
}

/// Methods that fit only one side (ref:settings#calibration-methods-of-specs).
Status check_methods(const Settings& s) {
  const bool is_for_weights = s.compat && s.ranges.calibrate_method == CalibrateMethod::kFloatMinMSE;
  if (is_for_weights || s.ranges.calibrate_method == CalibrateMethod::kInt16MinMax) {
    return invalid_argument("calibrate_method: found ", enum_text(s.ranges.calibrate_method),
                            ", which does not apply to activations");
  }
  const OptMethod& weight = s.ranges.weight_calibrate_method;
  if (!weight || *weight == CalibrateMethod::kMinMax || *weight == CalibrateMethod::kFloatMinMSE) return {};
  return invalid_argument("WeightCalibrateMethod: found ", enum_text(*weight),
                          ", allowed are CalibrationMethod.MinMax and ExtendedCalibrationMethod.MinMSE");
}

/// Numbers whose wrong values would cause late failures.
Status check_number_ranges(const Settings& s) {
  if (s.ranges.calib_data_size && *s.ranges.calib_data_size < 0) {
    return invalid_argument("CalibDataSize: found ", *s.ranges.calib_data_size, ", allowed is 0 (all) or more");
  }
  if (s.ranges.calib_moving_average_constant < 0 || s.ranges.calib_moving_average_constant > 1) {
    return invalid_argument("CalibMovingAverageConstant: found ", s.ranges.calib_moving_average_constant,
                            ", allowed is 0 to 1");
  }
  if (s.ranges.percentile < 0 || s.ranges.percentile > 100) {
    return invalid_argument("Percentile: found ", s.ranges.percentile, ", allowed is 0 to 100");
  }
  return {};
}

/// Texts with a few allowed values. The reference interprets others as one of them, or fails later.
constexpr struct {
  const char* option;
  std::string (*value)(const Settings&);
  std::initializer_list<const char*> allowed;
} kChoices[] = {
    {"LWPMetric", [](const Settings& s) { return s.ranges.lwp_metric; }, {"mae", "mse"}},
    {"Scenario", [](const Settings& s) { return s.ranges.scenario; }, {"same", "p3"}},
    {"MinMSEModePof2Scale",
     [](const Settings& s) { return s.ranges.min_mse_mode_pof2_scale; },
     {"All", "MostCommon", "Percentile"}},
    {"MinMSEModeFloatScale",
     [](const Settings& s) { return s.ranges.min_mse_mode_float_scale.value_or("Percentile"); },
     {"Percentile", "HistCenter", "All"}},
};

Status check_choices(const Settings& s) {
  if (s.compat) return {};
  for (const auto& row : kChoices) {
    const std::vector<std::string> allowed(row.allowed.begin(), row.allowed.end());
    const std::string found = row.value(s);
    if (std::find(allowed.begin(), allowed.end(), found) != allowed.end()) continue;
    return invalid_argument(row.option, ": found ", found, ", allowed is ", join(allowed, " or "));
  }
  return {};
}

/// The reference enters bodies in its dynamic quantizer alone, whose results there are not reproduced.
Status check_bodies(const Settings& s, Diagnostics& diagnostics) {
  if (!s.compat || !s.selection.enable_subgraph) return {};
  if (s.emits_dynamic()) {
    return not_supported(cat("option EnableSubgraph true", origin_note(s, "EnableSubgraph"), " with --compat ",
                             *s.tool.compat, " and use_dynamic_quant (it is supported without --compat)"));
  }
  diagnostics.add("option-no-effect", "EnableSubgraph",
                  cat("has no effect with --compat ", *s.tool.compat,
                      ": the reference writes Q/DQ in the main graph only, bodies of If, Loop and Scan stay float"));
  return {};
}

/// Keys of matrices that this run does not read.
Status check_matrix_keys(const Settings& s, Diagnostics& diagnostics) {
  if (s.packs_matrices()) return check_matrix_params(s, diagnostics);
  const std::pair<const char*, bool> given[] = {{"quarkq.target_bits", s.tool.target_bits.has_value()},
                                                {"quarkq.target_size", s.tool.target_size.has_value()},
                                                {"quarkq.nbits_plan", s.tool.nbits_plan.has_value()}};
  for (const auto& [key, is_given] : given)
    if (is_given) diagnostics.add("option-no-effect", key, "needs UseMatMulNBits true, as in the preset LLM_W4");
  return {};
}

Status check_target(const Settings& s) {
  if (!s.compat || !s.target) return {};
  return invalid_argument("--compat ", *s.tool.compat, ": found together with target ", *s.target,
                          "; the reference does not support targets; leave out one of the two");
}

}  // namespace

const char* refusal_of_4_bits(const Settings& s) {
  const struct {
    bool is_refused;
    const char* why;
  } rules[] = {
      {s.npu.enable_npu_cnn, "enable_npu_cnn true, whose weights have 8 bits"},
      {s.emits_dynamic(), "use_dynamic_quant true, whose operators accept 8 bits"},
      {s.algorithms.use_gptq, "UseGPTQ true, which writes 8 bits (use_matmul_nbits writes 4)"},
      {s.compat, "--compat quark-0.13: the reference cannot write them"},
  };
  const auto* found = std::ranges::find_if(rules, [](const auto& rule) { return rule.is_refused; });
  return found == std::end(rules) ? nullptr : found->why;
}

Status check_restrictions(const Resolving& r) {
  QQ_RETURN_IF_ERROR(check_target(r.settings));
  QQ_RETURN_IF_ERROR(check_methods(r.settings));
  QQ_RETURN_IF_ERROR(check_wide_bits(r.settings));
  QQ_RETURN_IF_ERROR(check_half_scales(r.settings));
  QQ_RETURN_IF_ERROR(check_npu_cnn(r.settings));
  QQ_RETURN_IF_ERROR(check_nibbles(r.settings));
  QQ_RETURN_IF_ERROR(check_integer_operators(r.settings));
  QQ_RETURN_IF_ERROR(check_override_keys(r.settings));
  QQ_RETURN_IF_ERROR(check_choices(r.settings));
  QQ_RETURN_IF_ERROR(check_bodies(r.settings, r.diagnostics));
  QQ_RETURN_IF_ERROR(check_matrix_keys(r.settings, r.diagnostics));
  QQ_RETURN_IF_ERROR(check_crypto(r.settings, r.diagnostics));
  return check_number_ranges(r.settings);
}

Status check_support(Resolving& r) {
  for (const Field& field : all_fields()) QQ_RETURN_IF_ERROR(check_field(r, field));
  return {};
}

}  // namespace quarkq::config
