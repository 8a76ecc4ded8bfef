// SPDX-License-Identifier: MIT
// The table of quantizers (spec 02 A.0): one row per class of the reference, so that no code asks for a quantizer's
// name.
#pragma once

#include "config/settings.h"
#include "numeric/quant_spec.h"

namespace quarkq::plan {

/// Which column of the op rules table a quantizer reads (spec 01 A.4).
enum class Registry { kCpu, kNpuCnn, kNpuTransformer };
/// In which domain Q and DQ nodes are written (spec 02 B.3).
enum class DomainPolicy {
  kStandard,        ///< ai.onnx; com.microsoft when a 16-bit type meets an opset below 21 or UseQDQContribOps asks
  kAlwaysStandard,  ///< ai.onnx
  kContrib,         ///< com.microsoft for 8- and 16-bit types and int32 biases
};

struct Flavor {
  config::Quantizer quantizer;
  Registry registry;
  DomainPolicy domains;
  bool clips_weights_narrow;  ///< weights are clipped to the symmetric limits whatever their symmetry (spec 02 C.6)
  bool per_channel_bias;      ///< a bias quantized as a weight follows per_channel
  bool folds_removable;       ///< Relu and Clip may be folded into their producer when activations are asymmetric (A.3)
  bool folds_need_option;     ///< ... and only with FoldRelu
  bool honours_output_exclusion_by_name;
  bool runs_16_bits;  ///< what it is for takes single activations in 16 bits (spec 06 A.1)
};

/// REQUIRES: a quantizer that writes Q/DQ (not dynamic, not QOperator, not MatMulNBits).
const Flavor& flavor_of(config::Quantizer quantizer);

/// The element type behind a data type of the settings; undefined for block formats.
ElementType element_type(config::DataType type);

/// Kind of scale that the calibration method leads to, for activations and for weights (C.4: UsePowerOf2Scale).
numeric::ScaleKind activation_scale_kind(const config::Settings& settings);
numeric::ScaleKind weight_scale_kind(const config::Settings& settings);

/// May weights of this run have a scale per channel? Power-of-two targets take one per tensor (spec 06 A.1).
bool takes_channel_scales(const config::Settings& settings);
/// May single activations of this run have 16 bits?
bool takes_16_bit_activations(const config::Settings& settings);

}  // namespace quarkq::plan
