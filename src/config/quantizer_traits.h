// SPDX-License-Identifier: MIT
// The table of quantizers (spec 02 A.0): one row per class of the reference, so that no code asks for a quantizer's
// name. Which one a run has is decided in resolve_defaults.cpp.
#pragma once

#include "config/enums.h"

namespace quarkq::config {

/// What a quantizer makes of the model.
enum class ResultForm {
  kQdq,               ///< a graph with Q and DQ (or block format) nodes, from a plan
  kDynamicOperators,  ///< operators on integers whose activations are quantized while the model runs
  kPackedMatrices,    ///< matrices in 4 bits
  kIntegerOperators,  ///< the operator format, which is not built
};
/// Which column of the op rules table a quantizer reads (spec 01 A.4).
enum class Registry { kCpu, kNpuCnn, kNpuTransformer };
/// In which domain Q and DQ nodes are written (spec 02 B.3).
enum class DomainPolicy {
  kStandard,        ///< ai.onnx; com.microsoft when a 16-bit type meets an opset below 21 or UseQDQContribOps asks
  kAlwaysStandard,  ///< ai.onnx
  kContrib,         ///< com.microsoft for 8- and 16-bit types and int32 biases
};
/// What Int32Bias is unless it is given.
enum class Int32BiasDefault { kOff, kOn, kUnlessFloatWeights };

struct QuantizerTraits {
  Quantizer quantizer;
  const char* name;
  ResultForm form = ResultForm::kQdq;
  Registry registry = Registry::kCpu;
  DomainPolicy domains = DomainPolicy::kStandard;
  Int32BiasDefault int32_bias = Int32BiasDefault::kUnlessFloatWeights;
  bool clips_weights_narrow = true;      ///< weights are clipped to the symmetric limits whatever their symmetry (C.6)
  bool per_channel_bias = true;          ///< a bias quantized as a weight follows per_channel
  bool folds_removable = true;           ///< Relu and Clip may be folded when activations are asymmetric (A.3)
  bool folds_need_option = false;        ///< ... and only with FoldRelu
  bool excludes_outputs_by_name = true;  ///< reads NodesToExcludeOutputQuantization
  bool widens_weight_scales = true;      ///< reads AdjustWeightScaleForInt32Bias
  bool is_cnn_overlay = false;           ///< symmetric int8 with positions that the CNN overlay of the NPU limits
  bool simulates_dpu = false;            ///< operators and parameters are adjusted after calibration (spec 05 A.0)
  bool aligns_scales = false;            ///< one scale around Concat, pools and the like
  bool has_dual_pairs = false;           ///< reads EnableDualQuantNodePairs
  bool aligns_elementwise = false;       ///< reads AlignEltwiseQuantType
  bool clips_bfloat16_weights = false;
  bool runs_16_bits = true;  ///< its targets take single activations in 16 bits (spec 06 A.1)
  bool has_shapes_behind_pairs = true;  ///< the reference finds the shape of a tensor behind its DQ node (spec 05 B.4)
};

const QuantizerTraits& traits_of(Quantizer quantizer);

}  // namespace quarkq::config
