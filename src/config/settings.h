// SPDX-License-Identifier: MIT
// Settings: what holds in one run, each value decided. resolve() makes it; nothing changes it afterwards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/field_types.h"
#include "config/layer_config.h"
#include "config/quant_config.h"
#include "config/quantizer_traits.h"
#include "config/quirks.h"

namespace quarkq::config {

struct Settings {
  // One member per row of fields.def, fields first: per_channel, calibrate_method, ..., percentile, align_concat, ...
#define LEGACY(member, Type, by_default, support, off, doc) Type member{};
#include "config/fields.def"
#define OPTION(member, Key, Type, by_default, category, scope, support, off, doc) Type member{};
#include "config/fields.def"

  QuantConfig::Mode mode = QuantConfig::Mode::kFields;
  std::string preset;  ///< empty: none
  Quantizer quantizer = Quantizer::kCpu;
  /// quant_format before overrides turned it into the extended one. The default op set depends on this one (01 E.1 step
  /// 24).
  QuantFormat asked_quant_format = QuantFormat::kQdq;
  /// nodes_to_exclude, subgraphs_to_exclude and exclude together, in this order.
  std::vector<Selector> exclude_selectors;
  std::vector<std::string> exclude_op_types;  ///< from layer_type_config entries without a config
  std::vector<LayerRule> specific_layers, layer_types;
  CalibrationBlock calibration;
  std::optional<std::string> evaluation_dir;
  ToolBlock tool;
  Node preprocess;
  std::optional<std::string> input_model_path, output_model_path;
  bool compat = false;
  std::map<std::string, Origin> origins;  ///< by key or field; absent: default

  const QuantizerTraits& traits() const { return traits_of(quantizer); }

  // What takes place in this run, for the rows of passes.def and whoever asks the same.

  bool always() const { return true; }
  /// The result is a graph with Q and DQ (or block format) nodes.
  bool inserts_qdq() const { return traits().form == ResultForm::kQdq; }
  bool packs_matrices() const { return traits().form == ResultForm::kPackedMatrices; }
  bool emits_dynamic() const { return traits().form == ResultForm::kDynamicOperators; }
  /// Rewrites of the float model; rows of the kind QQ_PREPROCESS_PASS need it in any case.
  bool preprocesses() const { return !skip_preprocess; }
  bool raises_opset() const { return quirk(Quirk::kRaiseOpsetForQdq); }
  /// Constant folding and no-op removal of our own, where the simplifier does not do it.
  bool prepares_plainly() const { return !simplify_model; }
  bool fuses_batch_norm_first() const {
    return prepares_plainly() && fold_batch_norm && (!optimize_model || quirk(Quirk::kFuseBatchNormFirst));
  }
  bool replaces_clip6() const { return include_cle && replace_clip6_relu; }
  bool folds_gemm_beta() const { return quirk(Quirk::kFoldGemmBeta); }
  bool resets_gemm_beta() const { return !folds_gemm_beta(); }
  bool plans_dual_pairs() const { return traits().has_dual_pairs && enable_dual_quant_node_pairs; }
  bool widens_weight_scales() const { return traits().widens_weight_scales && adjust_weight_scale_for_int32_bias; }
  /// Operators and parameters are adjusted for the NPU after calibration (spec 05 A.0).
  bool meets_npu_limits() const { return traits().simulates_dpu; }
  bool simulates_dpu() const { return meets_npu_limits() && simulate_dpu; }
  bool refines_positions() const { return traits().is_cnn_overlay && npu_limitation_check; }
  bool aligns_scales() const { return traits().aligns_scales && npu_limitation_check; }
  bool removes_pairs() const { return remove_qdq_mul_add || !remove_qdq_between_ops.node.items().empty(); }
  bool widens_to_fp32_scales() const { return use_fp32_scale && quantize_fp16; }
  /// Mixed precision or fine-tuning works on the plan.
  bool tunes() const { return inserts_qdq() && (include_auto_mp || include_fast_ft); }
  /// Guards repair what calibration alone would ruin (docs/guards.md); what the reference does, it does.
  bool guards() const { return !compat && tool.guards.value_or(true); }
  bool quirk(Quirk id) const { return quirk_value(id, compat); }
  Origin origin_of(const std::string& name) const {
    const auto found = origins.find(name);
    return found == origins.end() ? Origin::kDefault : found->second;
  }
};

}  // namespace quarkq::config
