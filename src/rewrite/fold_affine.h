// SPDX-License-Identifier: MIT
// Folding of a factor and an offset per channel (BatchNormalization, Mul, Add) into the weights and bias of the layer
// that computes the channels. Differences between passes are named arithmetics.
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

/// Order and precision of the computation of the bias, which determine its bits. A weight is always its product,
/// rounded once.
enum class FoldArithmetic : uint8_t {
  kFloat,      ///< float32: factor * bias + (beta - mean * factor); a missing bias adds nothing. Used by the quantizer
               ///< and by ORT's optimizer.
  kMeanFirst,  ///< float32: (bias - mean) * factor + beta; a missing bias is 0. Used by onnxslim.
  kDouble,     ///< Like kFloat, but rounded to float32 only at the end; a missing bias is 0. Used by quarkq's own
               ///< passes.
};

/// y = factor * (x - mean) + offset for each channel. All numbers are float32 values unless the arithmetic is kDouble.
struct ChannelAffine {
  std::vector<double> factor;
  std::vector<double> offset = {};  ///< Empty: no offset.
  std::vector<double> mean = {};    ///< Only for kMeanFirst.
  FoldArithmetic arithmetic = FoldArithmetic::kFloat;

  /// Returns the channels [first, first + count).
  ChannelAffine part(int64_t first, int64_t count) const;
};

using NormTensors = std::array<const ir::Tensor*, 4>;  ///< gamma, beta, mean, variance: float32 or float16.

/// Returns BatchNormalization at inference time; factor is gamma / sqrt(variance + epsilon). Returns nullopt if a
/// result is not finite. REQUIRES: tensors with equal numbers of elements.
std::optional<ChannelAffine> norm_affine(const NormTensors& params, float epsilon, FoldArithmetic arithmetic);

/// Returns norm_affine() of the node in kFloat. Returns nullopt also if the node is in training mode, has more outputs,
/// or its four parameters are not stored floats of equal length.
std::optional<ChannelAffine> read_batch_norm(const ir::Graph& graph, const ir::Node& node,
                                             const config::Settings& settings);

/// Returns `weight` with every element multiplied by the factor of its channel, in its own type.
ir::Tensor fold_into_weight(const ir::Tensor& weight, const ChannelView& view, const ChannelAffine& affine);
/// Returns the new bias with one element per channel. A null `bias` means that there was none.
std::vector<float> fold_into_bias(const ir::Tensor* bias, const ChannelAffine& affine);

/// Returns the number of output channels of a layer with stored weight and bias that LayerFolds supports, otherwise
/// nullopt. Supported are Conv (any group), ConvTranspose (group 1), and Gemm with alpha and beta 1 and a bias per
/// column.
std::optional<int64_t> foldable_channels(const ir::Graph& graph, const ir::Node& layer);

/// Proposes new weights and biases of layers as one patch: stored in place, or in a copy if other nodes read the old
/// ones.
class LayerFolds {
 public:
  LayerFolds(const ir::Graph& graph, ir::GraphPatch& patch) : graph_(graph), patch_(patch) {}

  /// `affine` has as many channels as `layer`. A missing bias becomes "<node name>_bias_4bn". REQUIRES:
  /// foldable_channels().
  void add(const ir::Node& layer, const ChannelAffine& affine);

 private:
  void store(const ir::Node& layer, size_t input, ir::Tensor data);

  const ir::Graph& graph_;
  ir::GraphPatch& patch_;
  std::map<ir::ValueId, size_t> copied_;  ///< Number of readers that the patch redirects to a copy.
};

}  // namespace quarkq::rewrite
