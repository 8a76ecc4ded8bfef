// SPDX-License-Identifier: MIT
// Operators along axes and over broadcast inputs, with random shapes in both memory layouts, against loops over the
// elements: reductions, normalizations, cumulative sums, extremes, selections, quantization per axis and per block.
#include <algorithm>
#include <functional>
#include <limits>

#include "numeric/linear_quant.h"
#include "support/op_checks.h"
#include "support/random_draws.h"

namespace quarkq::test {
namespace {

using Ints = std::vector<int64_t>;

class RandomAxesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  /// An axis of this rank, counted from either side.
  int64_t axis(int64_t rank) { return draws_.integer(-rank, rank - 1); }
  static size_t front(int64_t axis, int64_t rank) { return static_cast<size_t>(axis < 0 ? axis + rank : axis); }

  /// Rewrites each line of `x` along `axis` by `change`.
  static std::vector<double> along(const ir::Tensor& x, size_t axis,
                                   const std::function<void(std::vector<double>&)>& change) {
    std::vector<double> all = values(x);
    ir::Shape lines = x.dims();
    lines[axis] = 1;
    for_each_index(lines, [&](ir::Shape at) {
      std::vector<double> line;
      for (at[axis] = 0; at[axis] < x.dims()[axis]; ++at[axis]) line.push_back(all[offset_of(x.dims(), at)]);
      change(line);
      for (at[axis] = 0; at[axis] < x.dims()[axis]; ++at[axis])
        all[offset_of(x.dims(), at)] = line[static_cast<size_t>(at[axis])];
    });
    return all;
  }

  Draws draws_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomAxesTest, ::testing::Range(1u, 21u));

TEST_P(RandomAxesTest, SoftmaxAndItsRelatives) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 6), -30, 30);
  const int64_t a = axis(x.rank());
  struct Row {
    const char* op;
    std::function<void(std::vector<double>&)> change;
  };
  const auto log_sum = [](const std::vector<double>& line) {
    const double most = *std::max_element(line.begin(), line.end());
    double sum = 0;
    for (const double value : line) sum += std::exp(value - most);
    return most + std::log(sum);
  };
  const Row rows[] = {
      {"Softmax",
       [&](std::vector<double>& line) {
         const double sum = log_sum(line);
         for (double& value : line) value = std::exp(value - sum);
       }},
      {"LogSoftmax",
       [&](std::vector<double>& line) {
         const double sum = log_sum(line);
         for (double& value : line) value -= sum;
       }},
      {"Hardmax",
       [](std::vector<double>& line) {
         const auto most = std::max_element(line.begin(), line.end()) - line.begin();
         for (size_t i = 0; i < line.size(); ++i) line[i] = static_cast<std::ptrdiff_t>(i) == most;
       }},
      {"LpNormalization",
       [](std::vector<double>& line) {
         double sum = 0;
         for (const double value : line) sum += value * value;
         for (double& value : line) value /= std::sqrt(sum);
       }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(cat(row.op, " ", shape_text(x.dims()), " axis ", a));
    expect_op({row.op, "", 13, {number("axis", a)}}, {x}, x.dims(), along(x, front(a, x.rank()), row.change), 1e-5);
  }
}

TEST_P(RandomAxesTest, ReductionsOfAnyAxes) {
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 4, 1, 5));
  Ints axes;
  ir::Shape kept = x.dims();
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!draws_.coin()) continue;
    axes.push_back(draws_.coin() ? d : d - x.rank());
    kept[static_cast<size_t>(d)] = 1;
  }
  if (axes.empty()) return;  // means all of them
  struct Row {
    const char* op;
    double start;
    double (*join)(double sum, double value);
  };
  const Row rows[] = {
      {"ReduceSum", 0, [](double sum, double value) { return sum + value; }},
      {"ReduceSumSquare", 0, [](double sum, double value) { return sum + value * value; }},
      {"ReduceL1", 0, [](double sum, double value) { return sum + std::fabs(value); }},
      {"ReduceProd", 1, [](double product, double value) { return product * value; }},
      {"ReduceMax", -1e30, [](double most, double value) { return std::max(most, value); }},
      {"ReduceMin", 1e30, [](double least, double value) { return std::min(least, value); }},
  };
  const std::vector<double> xs = values(x);
  for (const Row& row : rows) {
    std::vector<double> expected(static_cast<size_t>(ir::checked_count(kept)), row.start);
    for_each_index(x.dims(), [&](const ir::Shape& at) {
      ir::Shape place = at;
      for (size_t d = 0; d < place.size(); ++d) place[d] = kept[d] == 1 ? 0 : at[d];
      double& result = expected[offset_of(kept, place)];
      result = row.join(result, xs[offset_of(x.dims(), at)]);
    });
    SCOPED_TRACE(cat(row.op, " ", shape_text(x.dims()), " axes ", shape_text(axes)));
    expect_op({row.op, "", 18, {number("keepdims", 1)}}, {x, ints(axes)}, kept, expected, 1e-5);
  }
}

TEST_P(RandomAxesTest, ExtremesAndSumsAlongOneAxis) {
  const ir::Shape dims = draws_.shape(1, 4, 1, 5);
  const ir::Tensor x = ints(dims, draws_.integers(static_cast<size_t>(ir::checked_count(dims)), -3, 3));  // ties
  const int64_t a = axis(x.rank());
  const size_t f = front(a, x.rank());
  const bool last = draws_.coin(), exclusive = draws_.coin(), reverse = draws_.coin();
  ir::Shape one = dims;
  one[f] = 1;
  std::vector<double> places;
  const std::vector<double> xs = values(x);
  for_each_index(one, [&](ir::Shape at) {
    int64_t best = 0;
    const auto value = [&](int64_t i) {
      at[f] = i;
      return xs[offset_of(dims, at)];
    };
    for (int64_t i = 1; i < dims[f]; ++i) {
      if (value(i) > value(best) || (last && value(i) == value(best))) best = i;
    }
    places.push_back(static_cast<double>(best));
  });
  expect_op({"ArgMax", "", 13, {number("axis", a), number("select_last_index", last)}}, {x}, one, places, 0);
  const std::vector<double> sums = along(x, f, [&](std::vector<double>& line) {
    if (reverse) std::reverse(line.begin(), line.end());
    double sum = 0;
    for (double& value : line) {
      const double before = sum;
      sum += value;
      value = exclusive ? before : sum;
    }
    if (reverse) std::reverse(line.begin(), line.end());
  });
  expect_op({"CumSum", "", 14, {number("exclusive", exclusive), number("reverse", reverse)}}, {x, ints({}, {a})}, dims,
            sums, 0);
}

TEST_P(RandomAxesTest, SelectionsBroadcastThreeInputs) {
  const ir::Shape dims = draws_.shape(1, 4, 1, 4);
  /// `dims` with some dimensions of one, and without some leading ones.
  const auto narrowed = [&] {
    ir::Shape narrow = dims;
    for (int64_t& size : narrow) size = draws_.coin() ? size : 1;
    narrow.erase(narrow.begin(), narrow.begin() + draws_.integer(0, static_cast<int64_t>(narrow.size())));
    return narrow;
  };
  const ir::Shape condition_dims = narrowed();
  std::vector<int> flags;
  for (int64_t i = ir::checked_count(condition_dims); i > 0; --i) flags.push_back(draws_.coin());
  const ir::Tensor condition = bools(condition_dims, flags), a = draws_.tensor(dims), b = draws_.tensor(narrowed());
  std::vector<double> selected, largest;
  for_each_index(dims, [&](const ir::Shape& at_index) {
    selected.push_back(at(condition, at_index) != 0 ? at(a, at_index) : at(b, at_index));
    largest.push_back(std::max(at(a, at_index), at(b, at_index)));
  });
  expect_op({"Where"}, {condition, a, b}, dims, selected, 0);
  expect_op({"Max"}, {b, a, b}, dims, largest, 0);
}

/// Scales and zero points of each index of an axis, or of each block of indices.
TEST_P(RandomAxesTest, QuantizationPerAxisAndBlockIsItsDefinition) {
  const ir::Tensor x = draws_.tensor(draws_.shape(2, 4, 2, 6), -40, 40);
  const int64_t a = axis(x.rank());
  const size_t f = front(a, x.rank());
  const int64_t block = draws_.coin() ? 0 : draws_.integer(2, 3);
  ir::Shape params = block == 0 ? ir::Shape{x.dims()[f]} : x.dims();
  if (block != 0) params[f] = (x.dims()[f] + block - 1) / block;
  const ir::Tensor scale = draws_.tensor(params, 0.1f, 0.4f);
  ir::Tensor zero = ir::Tensor::allocate(ElementType::kInt8, params);
  for (int8_t& one : zero.mutable_data<int8_t>()) one = static_cast<int8_t>(draws_.integer(-9, 9));
  const std::vector<double> xs = values(x);
  std::vector<double> codes, back;
  for_each_index(x.dims(), [&](const ir::Shape& at_index) {
    ir::Shape place = block == 0 ? ir::Shape{at_index[f]} : at_index;
    if (block != 0) place[f] /= block;
    const size_t own = offset_of(params, place);
    const numeric::LinearParams linear{
        scale.data<float>()[own], zero.data<int8_t>()[own], {-128, 127}, numeric::Overflow::kSaturate};
    const int64_t code = numeric::quantize(static_cast<float>(xs[offset_of(x.dims(), at_index)]), linear);
    codes.push_back(static_cast<double>(code));
    back.push_back(static_cast<double>(numeric::dequantize(code, linear)));
  });
  const std::vector<ir::Attribute> attributes = {number("axis", a), number("block_size", block)};
  SCOPED_TRACE(cat(shape_text(x.dims()), " axis ", a, " block ", block));
  expect_op({"QuantizeLinear", "", 21, attributes}, {x, scale, zero}, x.dims(), codes, 0);
  const auto stored = run_op({"QuantizeLinear", "", 21, attributes}, {x, scale, zero});
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  expect_op({"DequantizeLinear", "", 21, attributes}, {stored.value()[0], scale, zero}, x.dims(), back, 0);
}

}  // namespace
}  // namespace quarkq::test
