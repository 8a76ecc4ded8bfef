// SPDX-License-Identifier: MIT
// Integer products and convolutions against sums in 64 bits, MatMulNBits against dequantized weights. All of them were
// also compared with ONNX Runtime 1.31 on random models: no byte differed.
#include <cmath>
#include <random>

#include "support/op_checks.h"

namespace quarkq::test {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";

ir::Tensor bytes(ElementType type, ir::Shape dims, uint32_t seed) {
  const float low = type == ElementType::kInt8 ? -128.99f : 0.0f;
  return as_type(random_floats(std::move(dims), low, low + 255.9f, seed), type);
}
ir::Tensor byte(ElementType type, float value) { return as_type(floats({}, {value}), type); }

double requantized(int64_t sum, float scale, int zero_point, ElementType type) {
  const double low = type == ElementType::kInt8 ? -128 : 0;
  const double steps = std::nearbyint(static_cast<double>(static_cast<float>(sum) * scale));
  return std::clamp(steps + zero_point, low, low + 255);
}

// ---- products -------------------------------------------------------------------------------------------------------

struct ProductCase {
  ElementType left, right;
  ir::Shape a, b, y;
};

/// Sum over k of (a - left) * (b - right[n]) for every element of the result.
std::vector<int64_t> sums_of(const ProductCase& c, const ir::Tensor& a, const ir::Tensor& b, int64_t left,
                             const std::vector<double>& right) {
  std::vector<int64_t> sums;
  for_each_index(c.y, [&](const ir::Shape& index) {
    ir::Shape at_a = index, at_b = index;
    int64_t sum = 0;
    for (int64_t k = 0; k < c.a.back(); ++k) {
      at_a.back() = at_b[at_b.size() - 2] = k;
      const size_t n = right.size() == 1 ? 0 : static_cast<size_t>(index.back());
      sum += (static_cast<int64_t>(at(a, at_a)) - left) *
             (static_cast<int64_t>(at(b, at_b)) - static_cast<int64_t>(right[n]));
    }
    sums.push_back(sum);
  });
  return sums;
}

TEST(QuantizedTest, ProductsOfEveryTypeAndShape) {
  constexpr ElementType kS = ElementType::kInt8, kU = ElementType::kUInt8;
  for (const ProductCase& c : {ProductCase{kU, kS, {5, 7}, {7, 9}, {5, 9}},
                               {kS, kU, {4, 33}, {33, 3}, {4, 3}},
                               {kU, kU, {2, 3, 5}, {5, 6}, {2, 3, 6}},
                               {kS, kS, {2, 1, 3, 5}, {3, 5, 2}, {2, 3, 3, 2}}}) {
    SCOPED_TRACE(shape_text(c.a) + " times " + shape_text(c.b));
    const ir::Tensor a = bytes(c.left, c.a, 1), b = bytes(c.right, c.b, 2), left = byte(c.left, 11);
    const int64_t columns = c.b.back();
    for (const bool per_column : {false, true}) {
      const ir::Tensor right = bytes(c.right, per_column ? ir::Shape{columns} : ir::Shape{}, 3);
      const ir::Tensor scale = random_floats(right.dims(), 0.001f, 0.02f, 4);
      const std::vector<int64_t> sums = sums_of(c, a, b, 11, values(right));
      expect_op({"MatMulInteger", "", 10}, {a, b, left, right}, c.y, {sums.begin(), sums.end()}, 0);
      std::vector<double> y;
      for (size_t i = 0; i < sums.size(); ++i) {
        const size_t n = per_column ? i % static_cast<size_t>(columns) : 0;
        y.push_back(requantized(sums[i], 0.02f * scale.data<float>()[n] / 0.3f, 7, c.left));
      }
      expect_op({"QLinearMatMul", "", 21},
                {a, floats({}, {0.02f}), left, b, scale, right, floats({}, {0.3f}), byte(c.left, 7)}, c.y, y, 0);
    }
  }
}

TEST(QuantizedTest, MatMulIntegerByHand) {
  const ir::Tensor a = as_type(floats({2, 2}, {1, 2, 3, 255}), ElementType::kUInt8);
  const ir::Tensor b = as_type(floats({2, 2}, {1, -1, 0, 2}), ElementType::kInt8);
  expect_op({"MatMulInteger", "", 10}, {a, b}, {2, 2}, {1, 3, 3, 507}, 0);
  const ir::Tensor rows = as_type(floats({2}, {1, 3}), ElementType::kUInt8);
  expect_op({"MatMulInteger", "", 10}, {a, b, rows}, {2, 2}, {0, 2, 0, 504}, 0);
  const ir::Tensor x = as_type(floats({2}, {1, 2}), ElementType::kUInt8);
  expect_op({"MatMulInteger", "", 10}, {x, as_type(floats({2}, {3, 4}), ElementType::kInt8)}, {}, {11}, 0);
  expect_op({"MatMulInteger", "", 10}, {as_type(floats({0, 2}, {}), ElementType::kUInt8), b}, {0, 2}, {}, 0);
  expect_op({"MatMulInteger", "", 10},
            {as_type(floats({1, 0}, {}), ElementType::kUInt8), as_type(floats({0, 2}, {}), ElementType::kInt8)}, {1, 2},
            {0, 0}, 0);
}

/// 255 * 255 * 33100 exceeds 2^31: the sum wraps, as 32-bit hardware does.
TEST(QuantizedTest, LongSumsWrap) {
  const std::vector<float> ones(33100, 255);
  const ir::Tensor a = as_type(floats({1, 33100}, ones), ElementType::kUInt8);
  const ir::Tensor b = as_type(floats({33100, 1}, ones), ElementType::kUInt8);
  expect_op({"MatMulInteger", "", 10}, {a, b}, {1, 1}, {255.0 * 255 * 33100 - 0x1p32}, 0);
}

TEST(QuantizedTest, QGemm) {
  const ir::Tensor a = as_type(floats({2, 2}, {1, 2, 3, 4}), ElementType::kUInt8);
  const ir::Tensor b = as_type(floats({2, 2}, {1, 2, 3, 4}), ElementType::kInt8);
  const ir::Tensor scale = floats({}, {0.5f}), zero = byte(ElementType::kUInt8, 1), none = byte(ElementType::kInt8, 0);
  const ir::Tensor bias = as_type(floats({2}, {10, -10}), ElementType::kInt32);
  const std::vector<ir::Tensor> inputs = {a, scale, zero, b, scale, none, bias};
  // (a - 1) * b + c = [[0 1] [2 3]] * [[1 2] [3 4]] + c = [13 -6; 21 6]
  expect_op({"QGemm", kMicrosoft, 1}, inputs, {2, 2}, {3.25, -1.5, 5.25, 1.5});
  expect_op({"QGemm", kMicrosoft, 1, {attribute("transB", int64_t{1}), attribute("alpha", 2.0f)}}, inputs, {2, 2},
            {6, -3, 9, 4});
  // (a^T - 1) * b = [[0 2] [1 3]] * [[1 2] [3 4]]
  expect_op({"QGemm", kMicrosoft, 1, {attribute("transA", int64_t{1})}}, inputs, {2, 2}, {4, -0.5, 5, 1});
  std::vector<ir::Tensor> stored = inputs;
  stored.push_back(floats({}, {0.5f}));
  stored.push_back(byte(ElementType::kUInt8, 100));
  expect_op({"QGemm", kMicrosoft, 1}, stored, {2, 2}, {106, 97, 110, 103}, 0);
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

struct ConvCase {
  ir::Shape x, w, y;
  int64_t group = 1, stride = 1, dilation = 1, pad = 0;
};

int64_t conv_sum(const ConvCase& c, const ir::Tensor& x, const ir::Tensor& w, const ir::Shape& at_y) {
  constexpr int64_t kInputZero = 9, kWeightZero = 0;
  int64_t sum = 0;
  for_each_index({c.w[1], c.w[2], c.w[3]}, [&](const ir::Shape& k) {
    const int64_t row = at_y[2] * c.stride + k[1] * c.dilation - c.pad,
                  column = at_y[3] * c.stride + k[2] * c.dilation - c.pad;
    if (row < 0 || column < 0 || row >= c.x[2] || column >= c.x[3]) return;
    const int64_t channel = at_y[1] / (c.w[0] / c.group) * c.w[1] + k[0];
    sum += (static_cast<int64_t>(at(x, {at_y[0], channel, row, column})) - kInputZero) *
           (static_cast<int64_t>(at(w, {at_y[1], k[0], k[1], k[2]})) - kWeightZero);
  });
  return sum;
}

TEST(QuantizedTest, ConvolutionsOfBytes) {
  for (const ConvCase& c : {ConvCase{{2, 3, 5, 6}, {4, 3, 3, 3}, {2, 4, 5, 6}, 1, 1, 1, 1},
                            ConvCase{{1, 4, 7, 7}, {6, 2, 3, 3}, {1, 6, 3, 3}, 2, 2, 1, 0},
                            ConvCase{{1, 5, 6, 6}, {5, 1, 3, 3}, {1, 5, 6, 6}, 5, 1, 2, 2},
                            ConvCase{{1, 8, 3, 3}, {7, 8, 1, 1}, {1, 7, 3, 3}}}) {
    SCOPED_TRACE(shape_text(c.x) + " with " + shape_text(c.w));
    const ir::Tensor x = bytes(ElementType::kUInt8, c.x, 1), w = bytes(ElementType::kInt8, c.w, 2);
    const ir::Tensor zero = byte(ElementType::kUInt8, 9), none = byte(ElementType::kInt8, 0);
    const std::vector<ir::Attribute> attributes = {
        attribute("group", c.group), attribute("strides", std::vector<int64_t>(2, c.stride)),
        attribute("dilations", std::vector<int64_t>(2, c.dilation)), attribute("pads", std::vector<int64_t>(4, c.pad))};
    const ir::Tensor scale = random_floats({c.w[0]}, 0.001f, 0.01f),
                     bias = as_type(random_floats({c.w[0]}, -999, 999), ElementType::kInt32);
    std::vector<double> sums, y;
    for_each_index(c.y, [&](const ir::Shape& index) {
      const int64_t sum = conv_sum(c, x, w, index);
      const float factor = 0.02f * scale.data<float>()[static_cast<size_t>(index[1])] / 0.1f;
      sums.push_back(static_cast<double>(sum));
      y.push_back(requantized(sum + static_cast<int64_t>(at(bias, {index[1]})), factor, 3, ElementType::kUInt8));
    });
    expect_op({"ConvInteger", "", 10, attributes}, {x, w, zero, none}, c.y, sums, 0);
    expect_op({"QLinearConv", "", 10, attributes},
              {x, floats({}, {0.02f}), zero, w, scale, none, floats({}, {0.1f}), byte(ElementType::kUInt8, 3), bias},
              c.y, y, 0);
  }
}

// ---- elementwise ----------------------------------------------------------------------------------------------------

/// From ONNX Runtime 1.31.
TEST(QuantizedTest, AddAndMultiply) {
  const ir::Tensor a = as_type(floats({2, 3}, {0, 10, 100, 128, 200, 255}), ElementType::kUInt8);
  const ir::Tensor b = as_type(floats({3}, {0, 120, 255}), ElementType::kUInt8);
  const std::vector<ir::Tensor> inputs = {a,
                                          floats({}, {0.02f}),
                                          byte(ElementType::kUInt8, 10),
                                          b,
                                          floats({}, {0.03f}),
                                          byte(ElementType::kUInt8, 120),
                                          floats({}, {0.05f}),
                                          byte(ElementType::kUInt8, 60)};
  expect_op({"QLinearAdd", kMicrosoft, 1}, inputs, {2, 3}, {0, 60, 177, 35, 136, 239}, 0);
  expect_op({"QLinearMul", kMicrosoft, 1}, inputs, {2, 3}, {74, 60, 206, 0, 60, 255}, 0);
}

// ---- weights of few bits --------------------------------------------------------------------------------------------

std::vector<ir::Attribute> nbits(int64_t k, int64_t n, int64_t bits, int64_t block) {
  return {attribute("K", k), attribute("N", n), attribute("bits", bits), attribute("block_size", block)};
}

TEST(QuantizedTest, WeightsOfFewBits) {
  for (const int64_t bits : {int64_t{4}, int64_t{8}}) {
    const int64_t k = 40, n = 3, block = 16, per_column = 3, bytes_in_block = block * bits / 8;
    const ir::Tensor a = random_floats({2, 2, k}),
                     codes = bytes(ElementType::kUInt8, {n, per_column, bytes_in_block}, 5);
    const ir::Tensor scale = random_floats({n, per_column}, 0.1f, 1.0f), bias = random_floats({n});
    const ir::Tensor packed_zero = bytes(ElementType::kUInt8, {n, (per_column * bits + 7) / 8}, 6),
                     real_zero = random_floats({n, per_column}, 0, 15);
    const auto code = [&](const ir::Tensor& from, int64_t row, int64_t i) {
      const auto stride = static_cast<size_t>(from.size() / n);
      const uint8_t byte_at =
          from.data<uint8_t>()[static_cast<size_t>(row) * stride + static_cast<size_t>(i * bits / 8)];
      return bits == 8 ? byte_at : byte_at >> (i % 2 * 4) & 15;
    };
    for (const int zero_kind : {0, 1, 2}) {
      std::vector<double> y;
      for_each_index({2, 2, n}, [&](const ir::Shape& index) {
        double sum = at(bias, {index[2]});
        for (int64_t i = 0; i < k; ++i) {
          const double zero = zero_kind == 0   ? static_cast<double>(1 << (bits - 1))
                              : zero_kind == 1 ? static_cast<double>(code(packed_zero, index[2], i / block))
                                               : at(real_zero, {index[2], i / block});
          sum += at(a, {index[0], index[1], i}) * (code(codes, index[2], i) - zero) * at(scale, {index[2], i / block});
        }
        y.push_back(sum);
      });
      const ir::Tensor zero = zero_kind == 0 ? ir::Tensor() : zero_kind == 1 ? packed_zero : real_zero;
      expect_op({"MatMulNBits", kMicrosoft, 1, nbits(k, n, bits, block)}, {a, codes, scale, zero, ir::Tensor(), bias},
                {2, 2, n}, y, 1e-4);
    }
  }
}

TEST(QuantizedTest, RejectsWhatDoesNotFit) {
  const ir::Tensor a = bytes(ElementType::kUInt8, {2, 3}, 1), b = bytes(ElementType::kUInt8, {3, 4}, 2),
                   x = floats({2, 3}, std::vector<float>(6));
  const ir::Tensor zero = byte(ElementType::kUInt8, 0), scale = floats({}, {1});
  expect_error({"MatMulInteger"}, {a, a}, "inner dimensions differ");
  expect_error({"MatMulInteger"}, {x, b}, "allowed: INT8, UINT8");
  expect_error({"MatMulInteger"}, {a, zero}, "scalar operand");
  expect_error({"MatMulInteger"}, {a, b, bytes(ElementType::kUInt8, {5}, 1)},
               "zero point (input 2) has 5 elements, allowed: 1 or 2");
  expect_error({"MatMulInteger"}, {a, b, byte(ElementType::kInt8, 0)}, "allowed: UINT8");
  expect_error({"QLinearMatMul"}, {a, floats({2}, {1, 1}), zero, b, scale, zero, scale, zero},
               "scale (input 1) has 2 elements");
  expect_error({"QLinearMatMul"}, {a, scale, zero, b, scale, zero, scale}, "input 7 is missing");
  const ir::Tensor image = bytes(ElementType::kUInt8, {1, 2, 4, 4}, 1),
                   filter = bytes(ElementType::kUInt8, {2, 2, 3, 3}, 2);
  expect_error({"ConvInteger", "", 10, {attribute("group", int64_t{0})}}, {image, filter}, "group 0");
  expect_error({"ConvInteger", "", 10, {attribute("group", int64_t{2})}}, {image, filter}, "take 2 for each group");
  expect_error({"ConvInteger"}, {image, bytes(ElementType::kUInt8, {2, 2, 5, 5}, 2)}, "larger than the padded input");
  expect_error({"ConvInteger"}, {a, b}, "supported ranks are 3 to 5");
  expect_error({"ConvInteger"}, {image, bytes(ElementType::kUInt8, {2, 2, 3}, 2)}, "do not fit");
  expect_error({"QLinearConv"}, {image, scale, zero, filter, scale, zero, scale, zero, x},
               "bias is FLOAT[2,3], INT32[2]");
  expect_error({"QLinearAdd", kMicrosoft, 1}, {a, scale, zero, b, scale, zero, scale, zero}, "broadcast");
  expect_error({"QGemm", kMicrosoft, 1}, {image, scale, zero, b, scale, zero}, "rank 2");
  expect_error({"QGemm", kMicrosoft, 1}, {a, scale, zero, b, scale, zero, as_type(x, ElementType::kInt32)},
               "does not broadcast");
}

TEST(QuantizedTest, RejectsBadWeightsOfFewBits) {
  const ir::Tensor a = random_floats({2, 32}), codes = bytes(ElementType::kUInt8, {3, 2, 8}, 1),
                   scale = random_floats({6});
  const auto call = [&](int64_t k, int64_t n, int64_t bits, int64_t block) {
    return OpCall{"MatMulNBits", kMicrosoft, 1, nbits(k, n, bits, block)};
  };
  expect_error(call(31, 3, 4, 16), {a, codes, scale}, "must be K = 31");
  expect_error(call(32, 0, 4, 16), {a, codes, scale}, "N is 0");
  expect_error(call(32, 3, 5, 16), {a, codes, scale}, "bits is 5, allowed: 2, 4, 8");
  expect_error(call(32, 3, 4, 24), {a, codes, scale}, "block_size is 24");
  expect_error(call(32, 4, 4, 16), {a, codes, scale}, "weights (input 1) is [3,2,8], 64 elements");
  expect_error(call(32, INT64_MAX, 4, 16), {a, codes, scale}, "n (MatMulNBits)");
  expect_error(call(32, 3, 4, 16), {a, codes, random_floats({5})}, "scales (input 2)");
  expect_error(call(32, 3, 4, 16), {a, codes, scale, codes}, "zero points (input 3)");
  expect_error(call(32, 3, 4, 16), {a, codes, scale, ir::Tensor(), codes}, "g_idx");
  expect_error(call(32, 3, 4, 16), {a, codes, scale, ir::Tensor(), ir::Tensor(), scale}, "bias (input 5)");
}

/// Whatever comes in any of nine inputs: an error or a result, never a crash. Sanitizers watch.
TEST(QuantizedTest, OddInputsDoNotCrash) {
  const std::vector<ir::Tensor> odd = {floats({}, {0}),
                                       floats({0}, {}),
                                       floats({2, 3}, {1, 2, 3, 4, 5, NAN}),
                                       ints({INT64_MAX, INT64_MIN}),
                                       bytes(ElementType::kUInt8, {}, 1),
                                       bytes(ElementType::kInt8, {2}, 1),
                                       bytes(ElementType::kUInt8, {2, 2}, 1),
                                       bytes(ElementType::kUInt8, {1, 2, 2}, 1),
                                       bytes(ElementType::kInt8, {2, 0, 2}, 1),
                                       bytes(ElementType::kUInt8, {1, 2, 3, 3}, 1),
                                       bytes(ElementType::kInt8, {2, 2, 1, 1}, 1),
                                       ir::Tensor::zeros(ElementType::kInt4, {2}),
                                       as_type(floats({2}, {1, 2}), ElementType::kInt32),
                                       ir::Tensor()};
  std::mt19937 generator(5);
  for (const exec::OpDef* op : exec::all_ops()) {
    const bool linear = op->name.find("QuantizeLinear") != std::string_view::npos ||
                        op->name.find("DequantizeLinear") != std::string_view::npos;
    const bool product =
        op->name.find("QLinear") == 0 || op->name.find("Integer") != std::string_view::npos || op->name == "QGemm";
    if (!linear && !product && op->name != "MatMulNBits" && op->name.find("Cast") != 0) continue;
    for (int round = 0; round < 3000; ++round) {
      std::vector<ir::Tensor> inputs(generator() % 10);
      for (ir::Tensor& input : inputs) input = odd[generator() % odd.size()];
      std::vector<ir::Attribute> attributes = nbits(2, 2, 8, 16);
      attributes.push_back(attribute("axis", static_cast<int64_t>(generator() % 5) - 2));
      attributes.push_back(attribute("to", static_cast<int64_t>(generator() % 26)));
      attributes.push_back(attribute("group", static_cast<int64_t>(generator() % 3)));
      attributes[3] = attribute("block_size", static_cast<int64_t>(generator() % 4));
      (void)run_op({std::string(op->name), std::string(op->domain), 21, attributes}, inputs);
    }
  }
}

}  // namespace
}  // namespace quarkq::test
