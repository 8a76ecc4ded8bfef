// SPDX-License-Identifier: MIT
// The one fold of a factor and an offset per channel (BatchNormalization, Mul, Add) into the weights and bias of the
// layer that makes the channels. Differences between the passes are named arithmetics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "config/settings.h"
#include "ir/patch.h"
#include "rewrite/weights.h"

namespace quarkq::rewrite {

/// Order and precision of the computation of the bias, on which its bits depend. A weight is its product, rounded once,
/// in each.
enum class FoldArithmetic : uint8_t {
  kFloat,      ///< float32: factor * bias + (beta - mean * factor); a missing bias adds nothing. The quantizer, ORT
  kMeanFirst,  ///< float32: (bias - mean) * factor + beta; a missing bias is 0. onnxslim
  kDouble,     ///< as kFloat, rounded to float32 at the end only; a missing bias is 0. Ours
};

/// y = factor * (x - mean) + offset for each channel. The numbers are float32 ones unless the arithmetic is kDouble.
struct ChannelAffine {
  std::vector<double> factor;
  std::vector<double> offset = {};  ///< empty: none
  std::vector<double> mean = {};    ///< of kMeanFirst
  FoldArithmetic arithmetic = FoldArithmetic::kFloat;

  /// Channels [first, first + count) alone.
  ChannelAffine part(int64_t first, int64_t count) const;
};

using NormTensors = std::array<const ir::Tensor*, 4>;  ///< gamma, beta, mean, variance: float32 or float16

/// BatchNormalization at inference time; factor is gamma / sqrt(variance + epsilon). Nothing when what is computed here
/// is not finite. REQUIRES: tensors with equally many elements.
std::optional<ChannelAffine> norm_affine(const NormTensors& params, float epsilon, FoldArithmetic arithmetic);

/// The same in kFloat. Nothing, too, when the node is in training mode, has more outputs, or its four parameters are
/// not stored floats of one length.
std::optional<ChannelAffine> read_batch_norm(const ir::Graph& graph, const ir::Node& node,
                                             const config::Settings& settings);

/// `weight` with every element multiplied by the factor of its channel, in its own type.
ir::Tensor fold_into_weight(const ir::Tensor& weight, const ChannelView& view, const ChannelAffine& affine);
/// The new bias, with one element per channel; null: there was none.
std::vector<float> fold_into_bias(const ir::Tensor* bias, const ChannelAffine& affine);

/// Output channels of a layer with stored weight and bias that LayerFolds takes; nothing otherwise.
/// Conv (any group), ConvTranspose (group 1), Gemm with alpha and beta 1 and a bias per column.
std::optional<int64_t> foldable_channels(const ir::Graph& graph, const ir::Node& layer);

/// Proposes new weights and biases of layers, as one patch: stored in place, or in a copy while others read the old
/// ones.
class LayerFolds {
 public:
  LayerFolds(const ir::Graph& graph, ir::GraphPatch& patch) : graph_(graph), patch_(patch) {}

  /// `affine` has as many channels as `layer`. A missing bias becomes "<node name>_bias_4bn".
  /// REQUIRES: foldable_channels().
  void add(const ir::Node& layer, const ChannelAffine& affine);

 private:
  void store(const ir::Node& layer, size_t input, ir::Tensor data);

  const ir::Graph& graph_;
  ir::GraphPatch& patch_;
  std::map<ir::ValueId, size_t> copied_;  ///< readers that the patch gives a copy
};

}  // namespace quarkq::rewrite
