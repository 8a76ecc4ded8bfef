// SPDX-License-Identifier: MIT
// Tensors cut along an axis and put together again, and transforms of any length, by what holds for every tensor.
#include "exec/kernels/shared/tensor_copy.h"

#include <cmath>
#include <complex>
#include <random>

#include "exec/kernels/signal/fourier.h"
#include "support/op_checks.h"
#include "support/random_draws.h"

namespace quarkq::exec {
namespace {

using test::Draws;

class TensorPiecesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  Draws draws_{GetParam() + 40};
};
INSTANTIATE_TEST_SUITE_P(Seeds, TensorPiecesTest, ::testing::Range(1u, 17u));

TEST_P(TensorPiecesTest, PiecesGiveTheTensorBack) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 5));
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t length = x.dims()[static_cast<size_t>(axis)];
    const int64_t a = draws_.integer(0, length), b = draws_.integer(a, length);
    std::vector<ir::Tensor> pieces;
    for (const auto& [begin, end] : {std::pair(int64_t{0}, a), std::pair(a, b), std::pair(b, length)}) {
      const Result<ir::Tensor> piece = cut(x, axis, begin, end);
      ASSERT_TRUE(piece.ok()) << piece.status().message();
      ir::Shape dims = x.dims();
      dims[static_cast<size_t>(axis)] = end - begin;  // may be none
      EXPECT_EQ(piece.value().dims(), dims);
      pieces.push_back(piece.value());
    }
    const Result<ir::Tensor> whole = concatenate(pieces, axis);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    EXPECT_TRUE(whole.value().same_as(x)) << shape_text(x.dims()) << " axis " << axis;
  }
}

TEST_P(TensorPiecesTest, CutTakesEntriesOfItsAxis) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 5));
  const int64_t axis = draws_.integer(0, x.rank() - 1), length = x.dims()[static_cast<size_t>(axis)];
  const int64_t begin = draws_.integer(0, length - 1), end = draws_.integer(begin + 1, length);
  const Result<ir::Tensor> piece = cut(x, axis, begin, end);
  ASSERT_TRUE(piece.ok()) << piece.status().message();
  const std::vector<double> xs = test::values(x), found = test::values(piece.value());
  size_t i = 0;
  test::for_each_index(piece.value().dims(), [&](ir::Shape at) {
    at[static_cast<size_t>(axis)] += begin;
    EXPECT_EQ(found[i++], xs[test::offset_of(x.dims(), at)]);
  });
}

TEST_P(TensorPiecesTest, StackedTensorsAreEntriesOfTheNewAxis) {
  const ir::Shape dims = draws_.shape(0, 3, 1, 4);
  std::vector<ir::Tensor> tensors;
  for (int64_t i = 0, count = draws_.integer(1, 4); i < count; ++i) tensors.push_back(draws_.tensor(dims));
  for (int64_t axis = 0; axis <= static_cast<int64_t>(dims.size()); ++axis) {
    const Result<ir::Tensor> all = stack(tensors, axis);
    ASSERT_TRUE(all.ok()) << all.status().message();
    EXPECT_EQ(all.value().dims()[static_cast<size_t>(axis)], static_cast<int64_t>(tensors.size()));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto entry = static_cast<int64_t>(i);
      EXPECT_TRUE(without_axis(cut(all.value(), axis, entry, entry + 1).value(), axis).same_as(tensors[i]));
    }
  }
}

TEST(TensorPiecesRefusalTest, OddPiecesAreRefused) {
  const ir::Tensor x = test::floats({2, 3}, {1, 2, 3, 4, 5, 6}), tall = test::floats({3, 3}, std::vector<float>(9, 1));
  const ir::Tensor bytes = test::as_type(x, ElementType::kInt8),
                   nibbles = ir::Tensor::zeros(ElementType::kInt4, {2, 3});
  const auto joined = [](std::vector<ir::Tensor> tensors, int64_t axis) { return concatenate(tensors, axis).ok(); };
  EXPECT_TRUE(joined({x, tall}, 0));
  EXPECT_FALSE(joined({x, tall}, 1)) << "other dims differ";
  EXPECT_FALSE(joined({x, bytes}, 0)) << "types differ";
  EXPECT_FALSE(joined({x, test::floats({3}, {1, 2, 3})}, 0)) << "ranks differ";
  EXPECT_FALSE(cut(nibbles, 0, 0, 1).ok()) << "two elements share a byte";
}

// ---- transforms -----------------------------------------------------------------------------------------------------

using Values = std::vector<std::complex<double>>;

Values drawn(int64_t length, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> distribution;
  Values values(static_cast<size_t>(length));
  for (auto& value : values) value = {distribution(generator), distribution(generator)};
  return values;
}

Values transformed(const Fourier& fourier, Values values, bool inverse) {
  Values work(fourier.work());
  fourier.transform(values.data(), work.data(), inverse);
  return values;
}

class FourierTest : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Lengths, FourierTest,
                         ::testing::Values(1, 2, 3, 4, 5, 7, 8, 12, 31, 64, 97, 100, 255, 256, 257, 1000, 4096, 4099));

TEST_P(FourierTest, TheInverseGivesTheValuesBack) {
  const Fourier fourier(GetParam());
  const Values x = drawn(GetParam(), 3);
  const Values back = transformed(fourier, transformed(fourier, x, false), true);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(std::abs(back[i] - x[i]), 0, 1e-11) << i;
}

/// Parseval: the power of the spectrum is that of the values times their number.
TEST_P(FourierTest, PowerIsKept) {
  const Values x = drawn(GetParam(), 4), y = transformed(Fourier(GetParam()), x, false);
  double before = 0, after = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    before += std::norm(x[i]);
    after += std::norm(y[i]);
  }
  EXPECT_NEAR(after / static_cast<double>(GetParam()), before, 1e-9 * before);
}

/// A value moved by one place turns each entry of the spectrum by its angle.
TEST_P(FourierTest, AMoveIsARotation) {
  const int64_t length = GetParam();
  const Fourier fourier(length);
  const Values x = drawn(length, 5);
  Values moved(x.size());
  for (size_t i = 0; i < x.size(); ++i) moved[(i + 1) % x.size()] = x[i];
  const Values y = transformed(fourier, x, false), z = transformed(fourier, moved, false);
  for (size_t k = 0; k < x.size(); ++k) {
    const double angle = -2 * M_PI * static_cast<double>(k) / static_cast<double>(length);
    EXPECT_NEAR(std::abs(z[k] - y[k] * std::polar(1.0, angle)), 0, 1e-9 * std::sqrt(static_cast<double>(length))) << k;
  }
}

TEST_P(FourierTest, OneWaveIsOneEntry) {
  const int64_t length = GetParam(), wave = length / 3;
  Values x(static_cast<size_t>(length));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::polar(
        1.0, 2 * M_PI * static_cast<double>(static_cast<int64_t>(i) * wave % length) / static_cast<double>(length));
  const Values y = transformed(Fourier(length), x, false);
  for (size_t k = 0; k < y.size(); ++k) {
    const double expected = static_cast<int64_t>(k) == wave ? static_cast<double>(length) : 0;
    EXPECT_NEAR(std::abs(y[k] - expected), 0, 1e-10 * static_cast<double>(length)) << k;
  }
}

}  // namespace
}  // namespace quarkq::exec
