// SPDX-License-Identifier: MIT
// Paley's two constructions over fields of p or p^2 elements, doubling, and the array of Goethals and Seidel for the
// orders that these leave out.
#include "rewrite/equalize/hadamard.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace quarkq::rewrite {
namespace {

using Matrix = std::vector<int8_t>;

enum class Construction : uint8_t { kPaley1, kPaley2, kPaley2Square, kDoubled, kGoethalsSeidel };

/// The orders of the reference, in the order it tries them.
struct Known {
  int64_t order;
  Construction construction;
  int64_t parameter;  ///< p of the field, half the order, or a quarter of it
};
constexpr Known kKnown[] = {{172, Construction::kGoethalsSeidel, 43}, {156, Construction::kGoethalsSeidel, 39},
                            {140, Construction::kPaley1, 139},        {108, Construction::kPaley1, 107},
                            {60, Construction::kPaley1, 59},          {52, Construction::kPaley2Square, 5},
                            {40, Construction::kDoubled, 20},         {36, Construction::kPaley2, 17},
                            {28, Construction::kPaley2, 13},          {20, Construction::kPaley1, 19},
                            {12, Construction::kPaley1, 11}};

/// Legendre symbol: 0, +1 for squares, -1 for others.
int8_t legendre(int64_t x, int64_t p) {
  x = (x % p + p) % p;
  if (x == 0) return 0;
  int64_t power = 1;
  for (int64_t i = 0; i < (p - 1) / 2; ++i) power = power * x % p;
  return static_cast<int8_t>(power == 1 ? 1 : -1);
}

/// The Legendre symbol for the difference of elements number i and j of the field with p^2: a + b sqrt(r), with r not a
/// square mod p.
int8_t legendre_of_square(int64_t i, int64_t j, int64_t p) {
  int64_t r = 2;
  while (legendre(r, p) != -1) ++r;
  const int64_t a = i / p - j / p, b = i % p - j % p;
  return legendre(a * a - r * b * b, p);
}

/// Order p + 1, p = 3 mod 4: the identity plus a skew matrix of squares.
Matrix paley_1(int64_t p) {
  const int64_t order = p + 1;
  Matrix matrix(static_cast<size_t>(order * order), 1);
  for (int64_t i = 0; i < order; ++i) {
    for (int64_t j = 1; j < order; ++j) {
      if (i == j) continue;
      matrix[static_cast<size_t>(i * order + j)] = i == 0 ? int8_t{-1} : legendre(i - j, p);
    }
  }
  return matrix;
}

/// Order 2 (q + 1), q = 1 mod 4: each entry of a symmetric conference matrix becomes a block of 2 x 2.
template <typename Character>
Matrix paley_2(int64_t q, Character character) {
  constexpr int8_t kOfZero[2][2] = {{1, -1}, {-1, -1}}, kOfOne[2][2] = {{1, 1}, {1, -1}};
  const int64_t order = 2 * (q + 1);
  Matrix matrix(static_cast<size_t>(order * order));
  for (int64_t i = 0; i < order; ++i) {
    for (int64_t j = 0; j < order; ++j) {
      const int64_t row = i / 2, column = j / 2;
      const bool is_border = row == 0 || column == 0;
      const int8_t entry = row == column ? int8_t{0} : is_border ? int8_t{1} : character(row - 1, column - 1);
      const int8_t block = entry == 0 ? kOfZero[i % 2][j % 2] : kOfOne[i % 2][j % 2];
      matrix[static_cast<size_t>(i * order + j)] = static_cast<int8_t>(entry == 0 ? block : entry * block);
    }
  }
  return matrix;
}

Matrix doubled(int64_t half) {
  const Matrix part = hadamard_matrix(half);
  const int64_t order = 2 * half;
  Matrix matrix(static_cast<size_t>(order * order));
  for (int64_t i = 0; i < order; ++i) {
    for (int64_t j = 0; j < order; ++j) {
      const int8_t entry = part[static_cast<size_t>(i % half * half + j % half)];
      matrix[static_cast<size_t>(i * order + j)] = static_cast<int8_t>(i >= half && j >= half ? -entry : entry);
    }
  }
  return matrix;
}

/// Four sequences of +-1 whose periodic autocorrelations cancel, constant on the orbits of a multiplier mod `length`:
/// bit b is set where orbit b, counted by smallest member, is -1. Found by search.
struct Sequences {
  int64_t length, multiplier;
  uint32_t negative[4];
};
constexpr Sequences kSequences[] = {{39, 16, {1083, 1814, 63, 414}}, {43, 6, {3130, 3784, 126, 575}}};

std::vector<int8_t> sequence(const Sequences& of, size_t index) {
  std::vector<int8_t> values(static_cast<size_t>(of.length), 0);
  uint32_t orbit = 0;
  for (int64_t start = 0; start < of.length; ++start) {
    if (values[static_cast<size_t>(start)] != 0) continue;
    const bool is_negative = (of.negative[index] >> orbit++ & 1U) != 0;
    for (int64_t at = start; values[static_cast<size_t>(at)] == 0; at = at * of.multiplier % of.length) {
      values[static_cast<size_t>(at)] = is_negative ? int8_t{-1} : int8_t{1};
    }
  }
  return values;
}

/// Blocks A, +-X R and +-X^T R, where A and X are circulants and R turns the order of columns around.
Matrix goethals_seidel(const Sequences& of) {
  struct Block {
    size_t which;
    int8_t sign;
    bool is_transposed;
  };
  constexpr Block kBlocks[4][4] = {{{0, 1, false}, {1, 1, false}, {2, 1, false}, {3, 1, false}},
                                   {{1, -1, false}, {0, 1, false}, {3, 1, true}, {2, -1, true}},
                                   {{2, -1, false}, {3, -1, true}, {0, 1, false}, {1, 1, true}},
                                   {{3, -1, false}, {2, 1, true}, {1, -1, true}, {0, 1, false}}};
  const int64_t n = of.length, order = 4 * n;
  std::vector<int8_t> sequences[4];
  for (size_t k = 0; k < 4; ++k) sequences[k] = sequence(of, k);
  Matrix matrix(static_cast<size_t>(order * order));
  for (int64_t row = 0; row < order; ++row) {
    for (int64_t column = 0; column < order; ++column) {
      const Block& block = kBlocks[row / n][column / n];
      const int64_t i = row % n, j = column % n;
      const int64_t shift = block.which == 0 ? j - i + n : block.is_transposed ? i + j + 1 : 2 * n - 1 - j - i;
      const int8_t entry = sequences[block.which][static_cast<size_t>(shift % n)];
      matrix[static_cast<size_t>(row * order + column)] = static_cast<int8_t>(block.sign * entry);
    }
  }
  return matrix;
}

/// row H_m for each of the consecutive rows of m values.
void transform_blocks(std::span<double> values, size_t m) {
  for (size_t half = 1; half < m; half *= 2) {
    for (size_t begin = 0; begin < values.size(); begin += 2 * half) {
      for (size_t i = begin; i < begin + half; ++i) {
        const double a = values[i], b = values[i + half];
        values[i] = a + b;
        values[i + half] = a - b;
      }
    }
  }
}

}  // namespace

std::vector<int8_t> hadamard_matrix(int64_t order) {
  for (const Known& known : kKnown) {
    if (known.order != order) continue;
    const int64_t p = known.parameter;
    switch (known.construction) {
      case Construction::kPaley1: return paley_1(p);
      case Construction::kPaley2: return paley_2(p, [p](int64_t i, int64_t j) { return legendre(i - j, p); });
      case Construction::kPaley2Square:
        return paley_2(p * p, [p](int64_t i, int64_t j) { return legendre_of_square(i, j, p); });
      case Construction::kDoubled: return doubled(p);
      case Construction::kGoethalsSeidel: return goethals_seidel(kSequences[p == kSequences[0].length ? 0 : 1]);
    }
  }
  return {};
}

Result<Rotation> Rotation::make(int64_t size, bool is_random) {
  constexpr uint32_t kSeed = 42;
  const auto is_power_of_two = [](int64_t number) { return std::has_single_bit(static_cast<uint64_t>(number)); };
  Rotation rotation;
  rotation.size_ = size;
  if (size < 1 || !is_power_of_two(size)) {
    const auto* const known = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) {
      return size > 0 && size % k.order == 0 && is_power_of_two(size / k.order);
    });
    if (known == std::end(kKnown)) {
      return invalid_argument("RMatrixDim: no rotation of size ", size,
                              ", possible are powers of two and their products with 12, 20, 28, 36, 40, 52, 60, 108, "
                              "140, 156 and 172");
    }
    rotation.order_ = known->order;
    rotation.table_ = hadamard_matrix(known->order);
  }
  if (is_random) {
    NumpyRandom random(kSeed);
    for (int64_t i = 0; i < size; ++i) rotation.signs_.push_back(random.integer(0, 1) == 0 ? int8_t{-1} : int8_t{1});
  }
  return rotation;
}

void Rotation::apply(std::span<double> row) const {
  QQ_CHECK(static_cast<int64_t>(row.size()) == size_);
  for (size_t i = 0; i < signs_.size(); ++i) row[i] *= signs_[i];
  const auto k = static_cast<size_t>(order_), m = row.size() / k;
  transform_blocks(row, m);
  std::vector<double> mixed(k);
  for (size_t column = 0; order_ > 1 && column < m; ++column) {
    std::fill(mixed.begin(), mixed.end(), 0.0);
    for (size_t from = 0; from < k; ++from) {
      for (size_t to = 0; to < k; ++to) mixed[to] += row[from * m + column] * table_[from * k + to];
    }
    for (size_t to = 0; to < k; ++to) row[to * m + column] = mixed[to];
  }
  const double factor = 1.0 / std::sqrt(static_cast<double>(size_));
  for (double& value : row) value *= factor;
}

void rotate_axis(const Rotation& rotation, std::span<float> values, int64_t inner) {
  const auto size = static_cast<size_t>(rotation.size()), stride = static_cast<size_t>(inner);
  QQ_CHECK(values.size() % (size * stride) == 0);
  std::vector<double> row(size);
  for (size_t outer = 0; outer < values.size(); outer += size * stride) {
    for (size_t first = outer; first < outer + stride; ++first) {
      for (size_t i = 0; i < size; ++i) row[i] = values[first + i * stride];
      rotation.apply(row);
      for (size_t i = 0; i < size; ++i) values[first + i * stride] = static_cast<float>(row[i]);
    }
  }
}

}  // namespace quarkq::rewrite
