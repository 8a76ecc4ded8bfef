// SPDX-License-Identifier: MIT
#include "exec/kernels/signal/fourier.h"

#include <numbers>
#include <utility>

namespace quarkq::exec {
namespace {

using Value = Fourier::Value;

/// Without the checks for infinities that operator* has.
Value times(const Value& a, const Value& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Value turn(double part) {  // exp(-2 pi i part)
  const double angle = -2.0 * std::numbers::pi * part;
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

Fourier::Fourier(int64_t length) : length_(length) {
  const auto n = static_cast<size_t>(length);
  const bool plain = (n & (n - 1)) == 0;
  while (power_ < (plain ? n : 2 * n - 1)) power_ *= 2;
  roots_.resize(power_ / 2);
  for (size_t k = 0; k < roots_.size(); ++k) roots_[k] = turn(static_cast<double>(k) / static_cast<double>(power_));
  if (plain) return;
  chirp_.resize(n);
  filter_.resize(power_);
  for (size_t k = 0; k < n; ++k) {
    // k^2 modulo 2 n: the angle stays small, so that no precision is lost.
    chirp_[k] = turn(static_cast<double>(k * k % (2 * n)) / static_cast<double>(2 * n));
    const Value mirrored = std::conj(chirp_[k]) / static_cast<double>(power_);
    filter_[k] = mirrored;
    if (k != 0) filter_[power_ - k] = mirrored;
  }
  halves(filter_.data());
}

/// Transform of power_ values: bit reversal, then butterflies.
void Fourier::halves(Value* x) const {
  for (size_t i = 1, j = 0; i < power_; ++i) {
    size_t bit = power_ / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t half = 1; half < power_; half *= 2) {
    const size_t step = power_ / (2 * half);
    for (size_t begin = 0; begin < power_; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const Value odd = times(x[begin + k + half], roots_[k * step]), even = x[begin + k];
        x[begin + k] = even + odd;
        x[begin + k + half] = even - odd;
      }
    }
  }
}

void Fourier::forward(Value* x, Value* work) const {
  if (chirp_.empty()) return halves(x);
  const size_t n = chirp_.size();
  for (size_t k = 0; k < power_; ++k) work[k] = k < n ? times(x[k], chirp_[k]) : Value();
  halves(work);
  for (size_t k = 0; k < power_; ++k) work[k] = std::conj(times(work[k], filter_[k]));
  halves(work);  // of the conjugate: the inverse, whose division is in filter_
  for (size_t k = 0; k < n; ++k) x[k] = times(std::conj(work[k]), chirp_[k]);
}

void Fourier::transform(Value* x, Value* work, bool inverse) const {
  if (!inverse) return forward(x, work);
  for (int64_t k = 0; k < length_; ++k) x[k] = std::conj(x[k]);
  forward(x, work);
  for (int64_t k = 0; k < length_; ++k) x[k] = std::conj(x[k]) / static_cast<double>(length_);
}

}  // namespace quarkq::exec
