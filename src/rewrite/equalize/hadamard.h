// SPDX-License-Identifier: MIT
// Rotations by Hadamard matrices (ref:equalization#quarot), applied without storing the full matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace quarkq::rewrite {

/// Returns a Hadamard matrix of this order, row by row, with entries +1 and -1. Returns an empty list unless the order
/// is 12, 20, 28, 36, 40, 52, 60, 108, 140, 156 or 172, the orders of the reference.
std::vector<int8_t> hadamard_matrix(int64_t order);

/// R = kron(Had_K, H_m) / sqrt(K m), with Sylvester's H_m. If random: diag(+-1) R.
class Rotation {
 public:
  /// `size` = K m, where m is a power of two and K is 1 or an order of hadamard_matrix(). Fails with kInvalidArgument
  /// for other sizes; the message names these orders. The random signs are always the same.
  static Result<Rotation> make(int64_t size, bool is_random);

  int64_t size() const { return size_; }
  /// Replaces `row` by row R. REQUIRES: row.size() == size().
  void apply(std::span<double> row) const;

 private:
  int64_t size_ = 1, order_ = 1;  ///< order_ is K.
  std::vector<int8_t> table_;     ///< Had_K.
  std::vector<int8_t> signs_;     ///< Signs of diag(+-1); empty: all +1.
};

/// Interprets `values` as [outer, size, inner] and replaces each of its outer * inner rows of `size` values by row R,
/// in float64.
void rotate_axis(const Rotation& rotation, std::span<float> values, int64_t inner);

}  // namespace quarkq::rewrite
