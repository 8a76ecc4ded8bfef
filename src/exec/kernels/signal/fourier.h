// SPDX-License-Identifier: MIT
// Discrete Fourier transforms of any length in double: powers of two by halves, all others as a convolution of such a
// length (Bluestein's chirp transform).
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace quarkq::exec {

constexpr int64_t kLongestTransform = int64_t{1} << 24;

class Fourier {
 public:
  using Value = std::complex<double>;

  /// REQUIRES: 1 <= length <= kLongestTransform.
  explicit Fourier(int64_t length);

  int64_t length() const { return length_; }
  /// Values of work memory that transform() needs.
  size_t work() const { return chirp_.empty() ? 0 : power_; }
  /// x[k] = sum over n of x[n] * exp(-2 pi i n k / length), in place. The inverse has the other sign and divides by
  /// the length.
  void transform(Value* x, Value* work, bool inverse) const;

 private:
  void forward(Value* x, Value* work) const;
  void halves(Value* x) const;

  int64_t length_;
  size_t power_ = 1;           ///< length of the power-of-two transform underneath
  std::vector<Value> roots_;   ///< exp(-2 pi i k / power_) for k < power_ / 2
  std::vector<Value> chirp_;   ///< exp(-pi i k^2 / length); empty when the length is a power of two
  std::vector<Value> filter_;  ///< transform of the conjugate chirp, divided by power_
};

}  // namespace quarkq::exec
