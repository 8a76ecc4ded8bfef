// SPDX-License-Identifier: MIT
// Rotations made of Hadamard matrices (ref:equalization#quarot), applied without ever being written out as a whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace quarkq::rewrite {

/// A Hadamard matrix of this order, row by row, +1 and -1. Empty unless it is one of 12, 20, 28, 36, 40, 52, 60, 108,
/// 140, 156 and 172, which are those of the reference.
std::vector<int8_t> hadamard_matrix(int64_t order);

/// R = kron(Had_K, H_m) / sqrt(K m), with H_m of Sylvester's form; random: diag(+-1) R.
class Rotation {
 public:
  /// `size` = K m, where m is a power of two and K is 1 or one of the orders that the reference has. Fails with
  /// kInvalidArgument naming those. The random signs are always the same.
  static Result<Rotation> make(int64_t size, bool is_random);

  int64_t size() const { return size_; }
  /// `row` becomes row R. REQUIRES: row.size() == size().
  void apply(std::span<double> row) const;

 private:
  int64_t size_ = 1, order_ = 1;  ///< order_: K
  std::vector<int8_t> table_;     ///< Had_K
  std::vector<int8_t> signs_;     ///< of diag(+-1); empty: all +1
};

/// `values` seen as [outer, size, inner], each of its outer * inner rows of `size` values becomes row R. In float64.
void rotate_axis(const Rotation& rotation, std::span<float> values, int64_t inner);

}  // namespace quarkq::rewrite
