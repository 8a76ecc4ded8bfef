// SPDX-License-Identifier: MIT
// Integer convolutions and products, boxes, and quantized pairs with random shapes and parameters, against sums in 64
// bits and against what their definitions promise for every input.
#include <algorithm>
#include <cmath>
#include <limits>

#include "support/op_checks.h"
#include "support/random_draws.h"

namespace quarkq::test {
namespace {

using Ints = std::vector<int64_t>;

class RandomBytesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  struct Bounds {
    double low, high;
  };
  static Bounds bounds_of(ElementType type) { return type == ElementType::kInt8 ? Bounds{-128, 127} : Bounds{0, 255}; }
  ElementType byte_type() { return draws_.coin() ? ElementType::kInt8 : ElementType::kUInt8; }
  ir::Tensor bytes(ElementType type, ir::Shape dims) {
    const auto low = static_cast<float>(bounds_of(type).low);
    return as_type(draws_.tensor(std::move(dims), low, low + 255.9f), type);
  }
  ir::Tensor byte(ElementType type) { return bytes(type, {}); }

  Draws draws_{GetParam() + 1700};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomBytesTest, ::testing::Range(1u, 17u));

/// A convolution over two spatial dimensions.
struct ByteConv {
  ir::Tensor x, w;
  Ints strides, pads, output;
  int64_t groups = 1;

  std::vector<ir::Attribute> attributes() const {
    return {attribute("strides", strides), attribute("pads", pads), number("group", groups)};
  }
  ir::Shape dims() const { return {x.dims()[0], w.dims()[0], output[0], output[1]}; }
  /// Sum over the window of (x - x0) * (w - w0) for each output; padding counts as x0.
  std::vector<int64_t> sums(int64_t x0, const std::vector<double>& w0) const {
    const std::vector<double> xs = values(x), ws = values(w);
    const int64_t per_group = w.dims()[0] / groups;
    std::vector<int64_t> all;
    for_each_index(dims(), [&](const ir::Shape& at) {
      int64_t sum = 0;
      for_each_index({w.dims()[1], w.dims()[2], w.dims()[3]}, [&](const ir::Shape& tap) {
        const int64_t row = at[2] * strides[0] + tap[1] - pads[0], column = at[3] * strides[1] + tap[2] - pads[1];
        if (row < 0 || column < 0 || row >= x.dims()[2] || column >= x.dims()[3]) return;
        const int64_t channel = at[1] / per_group * w.dims()[1] + tap[0];
        const auto left = static_cast<int64_t>(xs[offset_of(x.dims(), {at[0], channel, row, column})]) - x0;
        const auto right = static_cast<int64_t>(ws[offset_of(w.dims(), {at[1], tap[0], tap[1], tap[2]})]) -
                           static_cast<int64_t>(w0[w0.size() == 1 ? 0 : static_cast<size_t>(at[1])]);
        sum += left * right;
      });
      all.push_back(sum);
    });
    return all;
  }
};

class RandomByteConvTest : public RandomBytesTest {
 protected:
  ByteConv draw(ElementType x_type, ElementType w_type) {
    ByteConv drawn;
    drawn.groups = draws_.integer(1, 3);
    const int64_t inputs = draws_.integer(1, 5);
    const Ints kernel = draws_.integers(2, 1, 3);
    drawn.strides = draws_.integers(2, 1, 2);
    for (size_t d = 0; d < 4; ++d) drawn.pads.push_back(draws_.integer(0, kernel[d % 2] - 1));
    Ints image;
    for (size_t d = 0; d < 2; ++d) {
      image.push_back(kernel[d] + draws_.integer(0, 5));
      drawn.output.push_back((image[d] + drawn.pads[d] + drawn.pads[d + 2] - kernel[d]) / drawn.strides[d] + 1);
    }
    drawn.x = bytes(x_type, {draws_.integer(1, 2), drawn.groups * inputs, image[0], image[1]});
    drawn.w = bytes(w_type, {drawn.groups * draws_.integer(1, 5), inputs, kernel[0], kernel[1]});
    return drawn;
  }
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomByteConvTest, ::testing::Range(1u, 13u));

TEST_P(RandomByteConvTest, ConvIntegerSumsExactly) {
  const ElementType x_type = byte_type(), w_type = byte_type();
  const ByteConv conv = draw(x_type, w_type);
  const ir::Tensor x0 = byte(x_type), w0 = byte(w_type);
  std::vector<double> expected;
  for (const int64_t sum : conv.sums(static_cast<int64_t>(values(x0)[0]), values(w0)))
    expected.push_back(static_cast<double>(sum));
  SCOPED_TRACE(cat(shape_text(conv.x.dims()), " with ", shape_text(conv.w.dims()), " pads ", shape_text(conv.pads)));
  expect_op({"ConvInteger", "", 10, conv.attributes()}, {conv.x, conv.w, x0, w0}, conv.dims(), expected, 0);
}

TEST_P(RandomByteConvTest, QLinearConvRequantizesTheSum) {
  const ElementType x_type = byte_type(), w_type = ElementType::kInt8, y_type = x_type;
  const ByteConv conv = draw(x_type, w_type);
  const int64_t channels = conv.w.dims()[0];
  const bool per_channel = draws_.coin();
  const ir::Shape each = per_channel ? ir::Shape{channels} : ir::Shape{};
  const ir::Tensor x0 = byte(x_type), y0 = byte(y_type), w0 = as_type(draws_.tensor(each, 0, 0), w_type);
  const ir::Tensor x_scale = draws_.tensor({}, 0.01f, 0.1f), y_scale = draws_.tensor({}, 0.5f, 2.0f),
                   w_scale = draws_.tensor(each, 0.01f, 0.1f);
  const ir::Tensor bias = as_type(draws_.tensor({channels}, -3000, 3000), ElementType::kInt32);
  const std::vector<int64_t> sums = conv.sums(static_cast<int64_t>(values(x0)[0]), values(w0));
  const std::vector<double> scales = values(w_scale), biases = values(bias);
  const Bounds bounds = bounds_of(y_type);
  OpCall call = {"QLinearConv", "", 10, conv.attributes()};
  for (const exec::Layout layout : {exec::Layout::kPlain, exec::Layout::kChannelsLast}) {
    call.layout = layout;
    const auto found = run_op(call, {conv.x, x_scale, x0, conv.w, w_scale, w0, y_scale, y0, bias});
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found.value()[0].dims(), conv.dims());
    const std::vector<double> ys = values(found.value()[0]);
    size_t i = 0;
    for_each_index(conv.dims(), [&](const ir::Shape& at) {
      const auto channel = static_cast<size_t>(at[1]);
      const double scale = values(x_scale)[0] * scales[per_channel ? channel : 0] / values(y_scale)[0];
      const double real = (static_cast<double>(sums[i]) + biases[channel]) * scale + values(y0)[0];
      const double clipped = std::clamp(real, bounds.low, bounds.high);
      // Scales are joined in float32: a value between two steps may go to either.
      EXPECT_NEAR(ys[i], clipped, 0.5 + 1e-4 * (1 + std::abs(real))) << shape_text(at);
      ++i;
    });
  }
}

TEST_P(RandomBytesTest, MatMulIntegerBroadcastsAndSums) {
  const ElementType left_type = byte_type(), right_type = byte_type();
  const int64_t m = draws_.integer(1, 6), k = draws_.integer(1, 40), n = draws_.integer(1, 6);
  const int64_t batch = draws_.integer(1, 3);
  const ir::Tensor a = bytes(left_type, {draws_.coin() ? batch : 1, m, k}), b = bytes(right_type, {batch, k, n});
  const ir::Tensor a0 = byte(left_type), b0 = byte(right_type);
  const ir::Shape dims = {batch, m, n};
  const std::vector<double> as = values(a), bs = values(b);
  std::vector<double> expected;
  for_each_index(dims, [&](const ir::Shape& at) {
    double sum = 0;  // exact: far below 2^53
    for (int64_t i = 0; i < k; ++i) {
      const int64_t own = a.dims()[0] == 1 ? 0 : at[0];
      sum += (as[offset_of(a.dims(), {own, at[1], i})] - values(a0)[0]) *
             (bs[offset_of(b.dims(), {at[0], i, at[2]})] - values(b0)[0]);
    }
    expected.push_back(sum);
  });
  SCOPED_TRACE(cat(shape_text(a.dims()), " times ", shape_text(b.dims())));
  expect_op({"MatMulInteger", "", 10}, {a, b, a0, b0}, dims, expected, 0);
}

/// A second pair with the same parameters changes nothing, and no value moves further than half a step.
TEST_P(RandomBytesTest, PairsAreIdempotentAndNear) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kUInt8, ElementType::kInt16, ElementType::kUInt16}) {
    SCOPED_TRACE(std::string(name(type)));
    const ir::Tensor x = draws_.tensor(draws_.shape(2, 4, 1, 5), -3, 3);
    const bool is_wide = type == ElementType::kInt16 || type == ElementType::kUInt16;
    const bool is_signed = type == ElementType::kInt8 || type == ElementType::kInt16;
    const int64_t axis = draws_.integer(-x.rank(), x.rank() - 1);
    const int64_t length = x.dims()[static_cast<size_t>(axis < 0 ? axis + x.rank() : axis)];
    const float step = is_wide ? 3.5f / 32768 : 3.5f / 128, middle = is_signed ? 0 : (is_wide ? 32768 : 128);
    const ir::Tensor scale = draws_.tensor({length}, step, 2 * step),
                     zero = as_type(draws_.tensor({length}, middle, middle), type);
    const std::vector<ir::Attribute> attributes = {number("axis", axis)};
    ir::Tensor once = x;
    std::vector<double> first;
    for (int round = 0; round < 2; ++round) {
      const auto codes = run_op({"QuantizeLinear", "", 21, attributes}, {once, scale, zero});
      ASSERT_TRUE(codes.ok()) << codes.status().message();
      EXPECT_EQ(codes.value()[0].type(), type);
      const auto back = run_op({"DequantizeLinear", "", 21, attributes}, {codes.value()[0], scale, zero});
      ASSERT_TRUE(back.ok()) << back.status().message();
      once = back.value()[0];
      if (round == 0) first = values(once);
    }
    EXPECT_EQ(values(once), first);
    const std::vector<double> xs = values(x);
    for (size_t i = 0; i < xs.size(); ++i) EXPECT_NEAR(first[i], xs[i], 1.001 * static_cast<double>(step));
  }
}

TEST_P(RandomBytesTest, DynamicQuantizationHoldsZeroAndEveryValue) {
  const float low = static_cast<float>(draws_.integer(-50, 20)) / 10;
  const ir::Tensor x = draws_.tensor(draws_.shape(1, 3, 1, 20), low, low + 3);
  OpCall call = {"DynamicQuantizeLinear", "", 11};
  call.outputs = 3;
  const auto found = run_op(call, {x});
  ASSERT_TRUE(found.ok()) << found.status().message();
  const std::vector<double> codes = values(found.value()[0]), xs = values(x);
  const double scale = values(found.value()[1])[0], zero = values(found.value()[2])[0];
  EXPECT_GT(scale, 0);
  EXPECT_TRUE(zero >= 0 && zero <= 255 && zero == std::nearbyint(zero));
  for (size_t i = 0; i < xs.size(); ++i) EXPECT_NEAR((codes[i] - zero) * scale, xs[i], 1.0001 * scale) << i;
  // No step is wasted: the range of the values with zero takes all 255 of them.
  const double least = std::min(0.0, *std::min_element(xs.begin(), xs.end()));
  const double most = std::max(0.0, *std::max_element(xs.begin(), xs.end()));
  EXPECT_NEAR(scale, (most - least) / 255, 1e-6);
}

/// What is kept overlaps with nothing that is kept and better; what is left out overlaps with something better.
TEST_P(RandomBytesTest, SuppressionKeepsTheBestOfWhatOverlaps) {
  const int64_t count = draws_.integer(1, 20);
  std::vector<float> corners;
  for (int64_t i = 0; i < count; ++i) {
    const auto y = static_cast<float>(draws_.integer(0, 8)), x = static_cast<float>(draws_.integer(0, 8));
    const auto h = static_cast<float>(draws_.integer(1, 6)), w = static_cast<float>(draws_.integer(1, 6));
    corners.insert(corners.end(), {y, x, y + h, x + w});
  }
  const ir::Tensor boxes = floats({1, count, 4}, corners), scores = draws_.tensor({1, 1, count}, 0, 1);
  constexpr float kOverlap = 0.35f, kLeast = 0.2f;
  const auto found = run_op({"NonMaxSuppression", "", 11},
                            {boxes, scores, ints({count}), floats({1}, {kOverlap}), floats({1}, {kLeast})});
  ASSERT_TRUE(found.ok()) << found.status().message();
  const std::vector<double> picked = values(found.value()[0]), score = values(scores);
  std::vector<size_t> kept;
  for (size_t i = 0; i < picked.size(); i += 3) kept.push_back(static_cast<size_t>(picked[i + 2]));
  const auto overlap = [&](size_t a, size_t b) {
    const float *p = corners.data() + 4 * a, *q = corners.data() + 4 * b;
    const float h = std::min(p[2], q[2]) - std::max(p[0], q[0]), w = std::min(p[3], q[3]) - std::max(p[1], q[1]);
    const float both = h > 0 && w > 0 ? h * w : 0;
    return both / ((p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - both);
  };
  for (size_t i = 1; i < kept.size(); ++i) EXPECT_GE(score[kept[i - 1]], score[kept[i]]) << "best first";
  for (size_t box = 0; box < static_cast<size_t>(count); ++box) {
    const bool is_kept = std::find(kept.begin(), kept.end(), box) != kept.end();
    bool is_beaten = score[box] <= static_cast<double>(kLeast);
    for (const size_t better : kept)
      is_beaten = is_beaten || (better != box && score[better] >= score[box] && overlap(better, box) > kOverlap);
    EXPECT_NE(is_kept, is_beaten) << "box " << box;
  }
}

}  // namespace
}  // namespace quarkq::test
