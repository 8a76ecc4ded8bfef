// SPDX-License-Identifier: MIT
// Algorithms of MatMulNBits that learn from the inputs of matrices (ADR 0026): AWQ, which scales the channels of an
// input, and AUTOROUND, which learns how each weight is rounded. Both start from K_QUANT and keep only what is better.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/isa.h"
#include "qdq/write/nbits_choice.h"
#include "qdq/write/nbits_writer.h"

namespace quarkq::qdq {

// AWQ (Lin et al. 2023): X W = (X / s) (s W) with a scale s for each channel of X.

/// A stored constant whose last axis has an entry for each channel of an input, and is divided by the scales.
struct ScaleTaker {
  ir::ValueId constant;
  std::vector<int64_t> places = {};  ///< Place of each channel on the last axis; empty: the channels in order.
};

/// Returns the constants that scale `value` exactly when they are divided by the scales of its `channels` (size of the
/// last axis): weights and biases of normalizations, vectors of Mul and Add, columns of a matrix. Follows the value
/// through operators that keep such scales apart, among them the heads of an attention without a cache. Returns nullopt
/// if there are none.
std::optional<std::vector<ScaleTaker>> find_scale_takers(const ir::Graph& graph, ir::ValueId value, int64_t channels);

/// Returns the takers before the reshapes and products of an attention that computes `value`, or nullopt.
std::optional<std::vector<ScaleTaker>> find_head_takers(const ir::Graph& graph, ir::ValueId value, int64_t channels);

/// A matrix and its samples for the choice of scales.
struct ScaledMatrix {
  std::span<const float> weight;  ///< [depth, columns]
  NBitsShape shape;
  bool is_symmetric = false;
};
/// Returns the scales of the channels for which the products of `inputs` [rows, depth] with all matrices have the
/// smallest error after k_quant_blocks(): powers 0 to 1 of the channels' magnitudes. Returns an empty vector if no
/// scales are better than none. `moments` are the second moments of the channels.
std::vector<float> find_awq_scales(std::span<const ScaledMatrix> matrices, std::span<const float> inputs,
                                   std::span<const float> moments);

/// Scales the inputs of all matrices whose scales a producer can take: sets row_scales and column_scales of `matrices`,
/// adapts `moments` and changes constants of the model. `is_tied` marks matrices that a table reads as well.
Status scale_by_activations(pass::QdqContext& context, std::vector<LowBitMatrix>& matrices, InputMoments& moments,
                            const std::vector<bool>& is_tied, const pass::KeptInputs& inputs);

// AUTOROUND (Cheng et al. 2023), for each matrix against its own products.

struct AutoRoundOptions {
  bool is_symmetric = false;
  int64_t steps = 200;
  std::span<const float> gram = {};  ///< Gram matrix of the inputs, [depth, depth].
};
/// Learns offsets of -0.5 to 0.5 before rounding and factors of each block's range by signed gradients of
/// tr(E^T G E), where E is the error of the weights and G the Gram matrix. Each column keeps its best state; the first
/// one is k_quant_blocks(). The result does not depend on the number of threads.
NBitsWeight autoround_blocks(std::span<const float> weight, const NBitsShape& shape, const AutoRoundOptions& options);

/// Rounds the matrices by AUTOROUND on the samples; one result per matrix. Fails without samples.
Result<std::vector<PackedMatrix>> pack_with_autoround(pass::QdqContext& context,
                                                      const config::MatMulNBitsSettings& options,
                                                      const std::vector<LowBitMatrix>& matrices);

// Inner loops of AUTOROUND. Matrices are row-major; grids are [blocks, columns].

struct RoundingPiece {
  int64_t depth = 0, columns = 0, block = 0;
  float largest = 0;              ///< The largest code.
  const float* weight = nullptr;  ///< [depth, columns], like all that follow.
  float* offsets = nullptr;
  float* error = nullptr;  ///< Stored value minus weight.
  uint8_t* codes = nullptr;
  const float *scale = nullptr, *zero = nullptr;  ///< [blocks, columns]
};
/// Gradients of half the loss.
struct RoundingGradient {
  const float* products = nullptr;          ///< Gram matrix times error, [depth, columns].
  float *scale = nullptr, *zero = nullptr;  ///< [blocks, columns]
};
/// A row of the weights and its entry on the diagonal of the Gram matrix.
struct RoundingRow {
  int64_t row = 0;
  float moment = 0;
};

QQ_DECLARE_ISA(
    /// Computes codes and error of each weight.
    void round_with_offsets(const RoundingPiece& piece);
    /// Sums error * products of each column.
    void column_losses(const RoundingPiece& piece, const float* products, double* losses);
    /// Moves the offsets by `rate` against the sign of their gradient, and computes the gradients of the grids.
    void move_offsets(const RoundingPiece& piece, const RoundingGradient& gradient, float rate);
    /// Moves the codes of a row to where the loss is least while all others stay. `products` is the row
    /// of the products, which is not adapted; `moved` becomes the change of its error. Returns whether a code moved.
    bool move_codes(const RoundingPiece& piece, const float* products, RoundingRow row, float* moved);)

}  // namespace quarkq::qdq
