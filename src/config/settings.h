// SPDX-License-Identifier: MIT
// Settings: the values that apply in one run. resolve() makes it; nothing changes it afterwards.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "config/enums.h"
#include "config/layer_config.h"
#include "config/pass_list.h"
#include "config/quant_config.h"

namespace quarkq::config {

// The table of quantizers (ref:settings#quantizers): one row per class of the reference, so that no code tests for a
// quantizer by name. resolve_defaults.cpp selects the quantizer of a run.

/// The kind of model that a quantizer writes.
enum class ResultForm {
  kQdq,               ///< A graph with Q and DQ (or block format) nodes, from a plan.
  kDynamicOperators,  ///< Integer operators whose activations are quantized at run time.
  kPackedMatrices,    ///< Matrices in 4 bits.
  kFloat,             ///< The rewritten float model, for compilers that convert it themselves.
};
/// The column of the op rules table that a quantizer reads (ref:settings#quantizers).
enum class Registry { kCpu, kNpuCnn, kNpuTransformer };
/// The domain in which Q and DQ nodes are written (ref:writing#domains).
enum class DomainPolicy {
  kStandard,        ///< ai.onnx; com.microsoft for a 16-bit type at an opset below 21, or if UseQDQContribOps is set.
  kAlwaysStandard,  ///< ai.onnx
  kContrib,         ///< com.microsoft for 8- and 16-bit types and int32 biases
};
/// Default of Int32Bias.
enum class Int32BiasDefault { kOff, kOn, kUnlessFloatWeights };

struct QuantizerTraits {
  Quantizer quantizer;
  const char* name;
  ResultForm form = ResultForm::kQdq;
  Registry registry = Registry::kCpu;
  DomainPolicy domains = DomainPolicy::kStandard;
  Int32BiasDefault int32_bias = Int32BiasDefault::kUnlessFloatWeights;
  bool clips_weights_narrow =
      true;  ///< weights are clipped to the symmetric limits whatever their symmetry (ref:scales#stored-weights)
  bool per_channel_bias = true;  ///< a bias quantized as a weight follows per_channel
  bool folds_removable = true;   ///< Relu and Clip may be folded when activations are asymmetric (ref:marking#op-rules)
  bool folds_need_option = false;        ///< ... and only with FoldRelu
  bool excludes_outputs_by_name = true;  ///< reads NodesToExcludeOutputQuantization
  bool widens_weight_scales = true;      ///< reads AdjustWeightScaleForInt32Bias
  bool is_cnn_overlay = false;           ///< symmetric int8 with positions that the CNN overlay of the NPU limits
  bool simulates_dpu = false;   ///< operators and parameters are adjusted after calibration (ref:npu#which-rules-run)
  bool aligns_scales = false;   ///< one scale around Concat, pooling and similar operators
  bool has_dual_pairs = false;  ///< reads EnableDualQuantNodePairs
  bool aligns_elementwise = false;  ///< reads AlignEltwiseQuantType
  bool clips_bfloat16_weights = false;
  bool writes_integer_operators = false;  ///< Replaces Q/DQ pairs and the operators between them.
  bool runs_16_bits = true;               ///< Its targets accept single activations in 16 bits (ref:npu#targets).
  bool finds_shapes_through_pairs =
      true;  ///< the reference finds the shape of a tensor through its DQ node (ref:npu#pools)
};

const QuantizerTraits& traits_of(Quantizer quantizer);

/// The rows of quirks.def as an enum and a table, and the value of each in a run.
enum class Quirk {
#define QUIRK(id, section, summary) k##id,
#include "config/quirks.def"
#undef QUIRK
};

struct QuirkInfo {
  const char* id;       ///< Id in quirks.def: "FoldGemmBeta".
  const char* section;  ///< Section of docs/reference: "scales#limits".
  const char* summary;  ///< Default behaviour, which compat mode does not have.
};

inline constexpr QuirkInfo kQuirks[] = {
#define QUIRK(id, section, summary) {#id, section, summary},
#include "config/quirks.def"
#undef QUIRK
};
inline constexpr size_t kQuirkCount = std::size(kQuirks);

/// Returns "fold_gemm_beta" for "FoldGemmBeta", the name of a quirk in listings.
std::string quirk_name(const QuirkInfo& quirk);

/// Returns whether a target that the user did not name set this value. `from` is a QuantConfig or Settings.
template <typename Source>
bool is_of_default_target(const Source& from, const std::string& name) {
  return from.origin_of(name) == Origin::kTarget && !is_users(from.origin_of("target"));
}

struct Settings {
  // Defined in the .cpp file, so that it is compiled only once.
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
  std::string preset;  ///< Empty: none.
  Quantizer quantizer = Quantizer::kCpu;
  /// quant_format before overrides changed it to the extended format. Determines the default op set.
  QuantFormat asked_quant_format = QuantFormat::kQdq;
  /// nodes_to_exclude, subgraphs_to_exclude and exclude, in this order.
  std::vector<Selector> exclude_selectors;
  std::vector<std::string> exclude_op_types;  ///< Operator types of layer_type_config entries without a config.
  std::vector<LayerRule> specific_layers, layer_types;
#define BLOCK(key, Type, member) Type member;
#define END_BLOCK(member)
#include "config/blocks.def"
  std::optional<std::string> target;  ///< The requested target, or the target of the preset.
  Node preprocess;
  std::optional<std::string> input_model_path, output_model_path;
  bool compat = false;
  PassList passes;                        ///< Passes of ShapeShifterYaml.
  std::map<std::string, Origin> origins;  ///< Keyed by option or field; absent: default.

  const QuantizerTraits& traits() const { return traits_of(quantizer); }

  // The steps of this run, for the rows of passes.def and other code.

  bool always() const { return true; }
  /// Returns whether the result is a graph with Q and DQ (or block format) nodes.
  bool inserts_qdq() const { return traits().form == ResultForm::kQdq; }
  bool writes_integer_operators() const { return traits().writes_integer_operators; }
  bool packs_matrices() const { return traits().form == ResultForm::kPackedMatrices; }
  bool emits_dynamic() const { return traits().form == ResultForm::kDynamicOperators; }
  bool stays_float() const { return traits().form == ResultForm::kFloat; }
  /// Returns whether the float model is rewritten. Rows of the kind QQ_PREPROCESS_PASS always require it.
  bool preprocesses() const { return !preprocessing.skip_preprocess; }
  bool raises_opset() const { return quirk(Quirk::kRaiseOpsetForQdq); }
  /// Returns whether Q/DQ nodes of 8-bit activations are written so that ONNX Runtime's default optimizations find
  /// kernels for them.
  bool fits_runtime() const {
    const bool is_byte = formats.activation_type == DataType::kInt8 || formats.activation_type == DataType::kUInt8;
    return inserts_qdq() && is_byte && quirk(Quirk::kFitOnnxRuntime);
  }
  /// Returns whether quarkq's own constant folding and no-op removal run because the simplifier does not.
  bool prepares_plainly() const { return !preprocessing.simplify_model; }
  bool fuses_batch_norm_first() const {
    return prepares_plainly() && preprocessing.fold_batch_norm &&
           (!preprocessing.optimize_model || quirk(Quirk::kFuseBatchNormFirst));
  }
  bool replaces_clip6() const { return algorithms.include_cle && preprocessing.replace_clip6_relu; }
  bool unit_variances() const { return quirk(Quirk::kUnitVariances); }
  bool folds_channel_affines() const { return inserts_qdq() && quirk(Quirk::kFoldChannelAffines); }
  bool folds_gemm_beta() const { return quirk(Quirk::kFoldGemmBeta); }
  bool resets_gemm_beta() const { return !folds_gemm_beta(); }
  bool plans_dual_pairs() const { return traits().has_dual_pairs && qdq.enable_dual_quant_node_pairs; }
  bool widens_weight_scales() const {
    return (traits().widens_weight_scales && bias.adjust_weight_scale_for_int32_bias) ||
           quirk(Quirk::kKeepBiasesInRange);
  }
  /// Returns whether parts of a float32 model that compute in float16 compute in float32. If the whole model is
  /// float16, or float16 was requested, UseFP32Scale and ConvertFP16ToFP32 decide.
  bool widens_float16_parts() const {
    return quirk(Quirk::kWidenFloat16Parts) && !formats.quantize_fp16 && !stays_float();
  }
  /// Returns whether operators and parameters are adjusted for the NPU after calibration (ref:npu#which-rules-run).
  bool meets_npu_limits() const { return traits().simulates_dpu; }
  bool simulates_dpu() const { return meets_npu_limits() && npu.simulate_dpu; }
  bool refines_positions() const { return traits().is_cnn_overlay && npu.npu_limitation_check; }
  bool aligns_scales() const { return traits().aligns_scales && npu.npu_limitation_check; }
  bool removes_pairs() const { return qdq.remove_qdq_mul_add || !qdq.remove_qdq_between_ops.node.items().empty(); }
  bool widens_to_fp32_scales() const { return formats.use_fp32_scale && formats.quantize_fp16; }
  /// Returns whether codes of weights and biases are selected by the error of their layers on samples.
  bool compensates_rounding() const { return inserts_qdq() && tool.rounding.value_or("nearest") != "nearest"; }
  bool equalizes_clipped() const { return inserts_qdq() && tool.equalize_clipped.value_or(false); }
  /// Returns whether microscaling formats are written with operators of ai.onnx.
  bool writes_standard_mx() const { return inserts_qdq() && tool.mx_form.value_or("custom") == "standard"; }
  bool fits_gates() const {
    return inserts_qdq() && simulates_dpu() && npu.convert_sigmoid_to_hard_sigmoid && tool.fit_gates.value_or(!compat);
  }
  /// Returns whether the user named the target; otherwise the preset did.
  bool asks_for_target() const { return target && is_users(origin_of("target")); }
  /// Returns whether the preset's target set this setting, so that it must not make a run fail.
  bool is_of_default_target(const std::string& name) const { return config::is_of_default_target(*this, name); }
  /// Returns whether remedies may leave nodes in float that the target's compiler refuses.
  bool allows_float() const { return tool.allow_float.value_or(false); }
  /// `format` is channel_scales, 16_bits or float_nodes.
  bool may_rescue_with(const std::string& format) const {
    if (format == "float_nodes" && allows_float()) return true;
    return !tool.rescue || std::find(tool.rescue->begin(), tool.rescue->end(), format) != tool.rescue->end();
  }
  /// Returns whether a rescue tries `format` before `other`: quarkq.rescue lists them in their order.
  bool rescues_first_with(const std::string& format, const std::string& other) const {
    if (!may_rescue_with(format) || !tool.rescue) return may_rescue_with(format);
    const std::vector<std::string>& order = *tool.rescue;
    return std::find(order.begin(), order.end(), format) < std::find(order.begin(), order.end(), other);
  }
  /// Returns whether mixed precision or fine-tuning works on the plan.
  bool tunes() const { return inserts_qdq() && (algorithms.include_auto_mp || algorithms.include_fast_ft); }
  // Rewrites for a target's compiler (the block "legalize").
  bool legalizes_opset() const { return legalize.opset.has_value() || legalize.most_opset.has_value(); }
  bool limits_rank() const { return legalize.most_rank.has_value(); }
  bool names_nodes() const { return legalize.node_names.value_or(false); }
  bool convolves_shuffles() const { return legalize.channel_shuffle_to_conv.value_or(false); }
  bool saturates_clips() const { return legalize.clip_to_relu.value_or(false); }
  bool convolves_vectors() const { return legalize.vectors_to_images.value_or(false); }
  bool convolves_resizes() const { return legalize.resize_to_conv.value_or(false); }
  bool convolves_transposed() const { return legalize.conv_transpose_to_conv.value_or(false); }
  bool adds_negated() const { return legalize.sub_to_add.value_or(false); }
  bool replaces_tanh() const { return legalize.tanh_to_sigmoid.value_or(false); }
  bool reshapes_views() const { return legalize.views_to_reshape.value_or(false); }
  bool counts_slices_forward() const { return legalize.positive_slice_bounds.value_or(false); }
  bool replaces_layer_norms() const { return legalize.layer_norm_to_instance_norm.value_or(false); }
  bool normalizes_at_rank_4() const { return legalize.normalization_at_rank_4.value_or(false); }
  bool pads_before_convs() const { return legalize.pad_before_conv.value_or(false); }
  bool quantizes_edges() const { return legalize.quantized_edges.value_or(false); }
  bool quantizes_inputs_once() const { return legalize.one_input_quantizer.value_or(false); }
  bool takes_sample_shapes() const { return legalize.shapes_of_samples.value_or(false); }
  bool replaces_prelu() const { return legalize.prelu_to_leaky_relu.value_or(false); }
  bool keeps_tail_float() const { return legalize.tail == "float"; }
  bool cuts_tail() const { return legalize.tail == "cut"; }
  bool may_cut_tail() const { return legalize.tail == "auto"; }
  bool writes_conv_attributes() const {
    return legalize.explicit_conv_attributes.value_or(quirk(Quirk::kExplicitConvAttributes));
  }
  /// Guards repair what calibration alone would ruin (docs/guards.md); like the reference.
  bool guards() const { return !compat && tool.guards.value_or(Switch{true}).is_on; }
  /// The result names the version, settings and calibration that made it; the reference writes nothing of the kind.
  bool writes_metadata() const { return !compat && tool.metadata.value_or(true); }
  /// Returns whether a difference from the reference applies in this run.
  bool quirk(Quirk) const { return !compat; }
  /// Returns a part of the key of caches between runs.
  const char* mode_key() const { return compat ? "compat" : ""; }
  Origin origin_of(const std::string& name) const {
    const auto found = origins.find(name);
    return found == origins.end() ? Origin::kDefault : found->second;
  }
};

}  // namespace quarkq::config
