// SPDX-License-Identifier: MIT
// The table of quantizers (ref:settings#quantizers): one row per class of the reference, so that no code asks for a
// quantizer's name. Which one a run has is decided in resolve_defaults.cpp.
#pragma once

#include "config/enums.h"

namespace quarkq::config {

/// The kind of model that a quantizer writes.
enum class ResultForm {
  kQdq,               ///< a graph with Q and DQ (or block format) nodes, from a plan
  kDynamicOperators,  ///< operators on integers whose activations are quantized while the model runs
  kPackedMatrices,    ///< matrices in 4 bits
  kFloat,             ///< the float model, rewritten, for compilers that convert by themselves
};
/// Which column of the op rules table a quantizer reads (ref:settings#quantizers).
enum class Registry { kCpu, kNpuCnn, kNpuTransformer };
/// In which domain Q and DQ nodes are written (ref:writing#domains).
enum class DomainPolicy {
  kStandard,        ///< ai.onnx; com.microsoft when a 16-bit type meets an opset below 21 or UseQDQContribOps asks
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
  bool writes_integer_operators = false;  ///< in the place of Q/DQ pairs and what stands between them
  bool runs_16_bits = true;  ///< its targets take single activations in 16 bits (ref:npu#targets)
  bool finds_shapes_through_pairs =
      true;  ///< the reference finds the shape of a tensor through its DQ node (ref:npu#pools)
};

const QuantizerTraits& traits_of(Quantizer quantizer);

}  // namespace quarkq::config
