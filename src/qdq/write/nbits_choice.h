// SPDX-License-Identifier: MIT
// The format of each matrix and table (ADR 0026): from a plan file, for a target size, or from MatMulNBitsParams.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "qdq/write/embedding_tables.h"
#include "qdq/write/nbits_matrices.h"

namespace quarkq::qdq {

/// Size and loss of one format of a matrix.
struct FormatCost {
  double bytes = 0, loss = 0;
};

/// Returns the index of the chosen format of each matrix. Starts with the smallest formats and upgrades along the lower
/// convex hull of (bytes, loss) in the order of loss saved per byte, skipping what exceeds `budget` bytes. Ties are
/// decided by the order of the matrices. Returns nullopt if the smallest formats exceed the budget. REQUIRES: at least
/// one format per matrix.
std::optional<std::vector<size_t>> allocate_formats(const std::vector<std::vector<FormatCost>>& costs, double budget);

/// Second moments of the matrices' inputs, [depth] each, or empty without samples.
using InputMoments = std::vector<std::vector<float>>;

/// Weighted squared error of a format relative to the weighted squares of the matrix. `algorithm` kDefault is judged by
/// its own rounding, the others by k_quant_blocks().
double format_loss(std::span<const float> weight, const NBitsShape& shape, bool is_symmetric,
                   std::span<const float> moments, config::NBitsAlgorithm algorithm);

/// Returns how much a relative error of each matrix changes the outputs of the model: the relative squared error of all
/// float outputs over a few samples when only that matrix is rounded to 2 bits, divided by its format_loss(). Returns
/// an empty vector without samples, and for models so large that a run per matrix would take too long.
Result<std::vector<double>> measure_effects(pass::QdqContext& context, const InputMoments& moments,
                                            const std::vector<LowBitMatrix>& matrices);

/// Sets the formats of `matrices` and `tables`, removes tables that a plan keeps in float, and writes the plan if the
/// settings name a file for it. Fails for a plan that names unknown matrices, and for sizes that cannot be reached.
Status choose_formats(pass::QdqContext& context, const config::MatMulNBitsSettings& options,
                      const InputMoments& moments, std::vector<LowBitMatrix>& matrices,
                      std::vector<LookupTable>& tables);

}  // namespace quarkq::qdq
