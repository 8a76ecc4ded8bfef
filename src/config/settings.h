// SPDX-License-Identifier: MIT
// Settings: the values that apply in one run. resolve() makes it; nothing changes it afterwards.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "config/field_types.h"
#include "config/layer_config.h"
#include "config/pass_list.h"
#include "config/quant_config.h"
#include "config/quantizer_traits.h"
#include "config/quirks.h"

namespace quarkq::config {

struct Settings {
  // Compiled once and not wherever one is copied or moved.
  Settings();
  Settings(const Settings&);
  Settings(Settings&&) noexcept;
  Settings& operator=(const Settings&);
  Settings& operator=(Settings&&) noexcept;
  ~Settings();

  // One struct per group of fields.def, one member per row: formats.per_channel, ranges.percentile, npu.align_concat,
  // ...
#define GROUP(category, Type, member) struct Type {
#define END_GROUP(member) \
  }                       \
  member;
#define LEGACY(member, Type, by_default, support, off, doc) Type member{};
#define OPTION(member, Key, Type, by_default, scope, support, off, doc) Type member{};
#include "config/fields.def"

  QuantConfig::Mode mode = QuantConfig::Mode::kFields;
  std::string preset;  ///< empty: none
  Quantizer quantizer = Quantizer::kCpu;
  /// quant_format before overrides turned it into the extended one. The default op set depends on this one.
  QuantFormat asked_quant_format = QuantFormat::kQdq;
  /// nodes_to_exclude, subgraphs_to_exclude and exclude together, in this order.
  std::vector<Selector> exclude_selectors;
  std::vector<std::string> exclude_op_types;  ///< from layer_type_config entries without a config
  std::vector<LayerRule> specific_layers, layer_types;
  CalibrationBlock calibration;
  std::optional<std::string> evaluation_dir;
  ToolBlock tool;
  LegalizeBlock legalize;
  std::optional<std::string> target;
  Node preprocess;
  std::optional<std::string> input_model_path, output_model_path;
  bool compat = false;
  PassList passes;                        ///< of ShapeShifterYaml
  std::map<std::string, Origin> origins;  ///< by key or field; absent: default

  const QuantizerTraits& traits() const { return traits_of(quantizer); }

  // Which steps this run has, for the rows of passes.def and other code.

  bool always() const { return true; }
  /// The result is a graph with Q and DQ (or block format) nodes.
  bool inserts_qdq() const { return traits().form == ResultForm::kQdq; }
  bool writes_integer_operators() const { return traits().writes_integer_operators; }
  bool packs_matrices() const { return traits().form == ResultForm::kPackedMatrices; }
  bool emits_dynamic() const { return traits().form == ResultForm::kDynamicOperators; }
  bool stays_float() const { return traits().form == ResultForm::kFloat; }
  /// Rewrites of the float model; rows of the kind QQ_PREPROCESS_PASS need it in any case.
  bool preprocesses() const { return !preprocessing.skip_preprocess; }
  bool raises_opset() const { return quirk(Quirk::kRaiseOpsetForQdq); }
  /// Q/DQ nodes of 8-bit activations are written so that ONNX Runtime's default optimizations find kernels for them.
  bool fits_runtime() const {
    const bool is_byte = formats.activation_type == DataType::kInt8 || formats.activation_type == DataType::kUInt8;
    return inserts_qdq() && is_byte && quirk(Quirk::kFitOnnxRuntime);
  }
  /// Constant folding and no-op removal of our own, where the simplifier does not do it.
  bool prepares_plainly() const { return !preprocessing.simplify_model; }
  bool fuses_batch_norm_first() const {
    return prepares_plainly() && preprocessing.fold_batch_norm &&
           (!preprocessing.optimize_model || quirk(Quirk::kFuseBatchNormFirst));
  }
  bool replaces_clip6() const { return algorithms.include_cle && preprocessing.replace_clip6_relu; }
  bool unit_variances() const { return quirk(Quirk::kUnitVariances); }
  bool folds_gemm_beta() const { return quirk(Quirk::kFoldGemmBeta); }
  bool resets_gemm_beta() const { return !folds_gemm_beta(); }
  bool plans_dual_pairs() const { return traits().has_dual_pairs && qdq.enable_dual_quant_node_pairs; }
  bool widens_weight_scales() const {
    return (traits().widens_weight_scales && bias.adjust_weight_scale_for_int32_bias) ||
           quirk(Quirk::kKeepBiasesInRange);
  }
  /// Parts of a float32 model that compute in float16 compute in float32. Where all is float16, or float16 was asked
  /// for, UseFP32Scale and ConvertFP16ToFP32 decide.
  bool widens_float16_parts() const {
    return quirk(Quirk::kWidenFloat16Parts) && !formats.quantize_fp16 && !stays_float();
  }
  /// Operators and parameters are adjusted for the NPU after calibration (ref:npu#which-rules-run).
  bool meets_npu_limits() const { return traits().simulates_dpu; }
  bool simulates_dpu() const { return meets_npu_limits() && npu.simulate_dpu; }
  bool refines_positions() const { return traits().is_cnn_overlay && npu.npu_limitation_check; }
  bool aligns_scales() const { return traits().aligns_scales && npu.npu_limitation_check; }
  bool removes_pairs() const { return qdq.remove_qdq_mul_add || !qdq.remove_qdq_between_ops.node.items().empty(); }
  bool widens_to_fp32_scales() const { return formats.use_fp32_scale && formats.quantize_fp16; }
  /// Codes of weights and biases are chosen by the error of their layers on samples.
  bool compensates_rounding() const { return inserts_qdq() && tool.rounding.value_or("nearest") != "nearest"; }
  bool equalizes_clipped() const { return inserts_qdq() && tool.equalize_clipped.value_or(false); }
  /// `format`: channel_scales, 16_bits or float_nodes.
  bool may_rescue_with(const std::string& format) const {
    return !tool.rescue || std::find(tool.rescue->begin(), tool.rescue->end(), format) != tool.rescue->end();
  }
  /// Mixed precision or fine-tuning works on the plan.
  bool tunes() const { return inserts_qdq() && (algorithms.include_auto_mp || algorithms.include_fast_ft); }
  // Rewrites for a target's compiler (legalize.def).
  bool legalizes_opset() const { return legalize.opset.has_value() || legalize.most_opset.has_value(); }
  bool limits_rank() const { return legalize.most_rank.has_value(); }
  bool names_nodes() const { return legalize.node_names.value_or(false); }
  bool replaces_prelu() const { return legalize.prelu_to_leaky_relu.value_or(false); }
  bool keeps_tail_float() const { return legalize.tail == "float"; }
  bool cuts_tail() const { return legalize.tail == "cut"; }
  bool writes_conv_attributes() const {
    return legalize.explicit_conv_attributes.value_or(quirk(Quirk::kExplicitConvAttributes));
  }
  /// Guards repair what calibration alone would ruin (docs/guards.md); like the reference.
  bool guards() const { return !compat && tool.guards.value_or(true); }
  /// The result names the version, settings and calibration that made it; the reference writes nothing of the kind.
  bool writes_metadata() const { return !compat && tool.metadata.value_or(true); }
  /// Whether a difference from the reference holds in this run.
  bool quirk(Quirk) const { return !compat; }
  /// Part of the key of what a run keeps for the next one.
  const char* mode_key() const { return compat ? "compat" : ""; }
  Origin origin_of(const std::string& name) const {
    const auto found = origins.find(name);
    return found == origins.end() ? Origin::kDefault : found->second;
  }
};

}  // namespace quarkq::config
