// SPDX-License-Identifier: MIT
// Conv, ConvTranspose, pools and products against loops written down from the ONNX definitions.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/run_node.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;
using test::attribute;
using test::random_floats;

struct ConvCase {
  ir::Shape x, w;
  std::vector<int64_t> strides, pads, dilations;
  int64_t group;
  bool bias;
};

/// One node in a model, weights as initializers or fed.
Result<Tensor> run_node(const std::string& op, const std::vector<ir::Attribute>& attributes,
                        const std::vector<Tensor>& inputs, size_t constants_from) {
  return test::run_node({op, attributes, constants_from}, inputs);
}

std::vector<double> naive_conv(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor* b,
                               ir::Shape& out_dims) {
  const int64_t oh = (c.x[2] + c.pads[0] + c.pads[2] - (c.w[2] - 1) * c.dilations[0] - 1) / c.strides[0] + 1;
  const int64_t ow = (c.x[3] + c.pads[1] + c.pads[3] - (c.w[3] - 1) * c.dilations[1] - 1) / c.strides[1] + 1;
  out_dims = {c.x[0], c.w[0], oh, ow};
  std::vector<double> out;
  const int64_t out_per_group = c.w[0] / c.group;
  test::for_each_index(out_dims, [&](const ir::Shape& i) {
    double sum = b == nullptr ? 0.0 : b->data<float>()[static_cast<size_t>(i[1])];
    for (int64_t ic = 0; ic < c.w[1]; ++ic) {
      for (int64_t kh = 0; kh < c.w[2]; ++kh) {
        for (int64_t kw = 0; kw < c.w[3]; ++kw) {
          const int64_t h = i[2] * c.strides[0] - c.pads[0] + kh * c.dilations[0];
          const int64_t v = i[3] * c.strides[1] - c.pads[1] + kw * c.dilations[1];
          if (h < 0 || v < 0 || h >= c.x[2] || v >= c.x[3]) continue;
          sum += test::at(x, {i[0], i[1] / out_per_group * c.w[1] + ic, h, v}) * test::at(w, {i[1], ic, kh, kw});
        }
      }
    }
    out.push_back(sum);
  });
  return out;
}

TEST(ConvTest, EqualsTheDefinition) {
  const ConvCase cases[] = {
      {{1, 3, 9, 8}, {5, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, true},
      {{2, 4, 7, 7}, {6, 4, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1, false},
      {{1, 8, 10, 10}, {8, 1, 3, 3}, {2, 2}, {0, 0, 1, 1}, {1, 1}, 8, true},
      {{1, 6, 11, 9}, {4, 3, 3, 2}, {1, 2}, {2, 0, 1, 1}, {2, 1}, 2, true},
      {{1, 1, 12, 12}, {3, 1, 5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 1, false},
      {{1, 16, 6, 6}, {32, 1, 5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}, 16, true},
      {{1, 1024, 3, 12}, {5, 1024, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, true},  // pixels share sets of the cache
      {{1, 512, 4, 40}, {6, 256, 3, 2}, {1, 2}, {1, 0, 1, 1}, {1, 1}, 2, true},
  };
  for (const ConvCase& c : cases) {
    const Tensor x = random_floats(c.x, -1, 1, 1), w = random_floats(c.w, -1, 1, 2),
                 b = random_floats({c.w[0]}, -1, 1, 3);
    std::vector<Tensor> inputs = {x, w};
    if (c.bias) inputs.push_back(b);
    const std::vector<ir::Attribute> attributes = {attribute("strides", c.strides), attribute("pads", c.pads),
                                                   attribute("dilations", c.dilations), attribute("group", c.group)};
    ir::Shape dims;
    const std::vector<double> expected = naive_conv(c, x, w, c.bias ? &b : nullptr, dims);
    // Partial sums of n products are about sqrt(n) / 3; n of their roundings, of 2^-24 each, add up as sqrt(n).
    const auto terms = static_cast<double>(c.w[1] * c.w[2] * c.w[3]);
    const double tolerance = std::max(2e-5, terms / 3 * std::ldexp(1.0, -24));
    for (const size_t constants_from : {size_t{1}, size_t{3}}) {
      const Result<Tensor> y = run_node("Conv", attributes, inputs, constants_from);
      ASSERT_TRUE(y.ok()) << y.status().message();
      EXPECT_EQ(y.value().dims(), dims);
      test::expect_near(y.value(), expected, tolerance);
    }
  }
}

TEST(ConvTest, TransposedEqualsTheDefinition) {
  struct Case {
    ir::Shape x, w;
    int64_t stride, pad, output_padding, group;
  };
  for (const Case& c : {Case{{1, 4, 5, 5}, {4, 3, 3, 3}, 2, 1, 1, 1}, Case{{1, 6, 4, 4}, {6, 2, 2, 2}, 2, 0, 0, 2},
                        Case{{2, 4, 3, 3}, {4, 1, 3, 3}, 1, 1, 0, 4}}) {
    const Tensor x = random_floats(c.x, -1, 1, 4), w = random_floats(c.w, -1, 1, 5);
    const int64_t side = (c.x[2] - 1) * c.stride + c.w[2] + c.output_padding - 2 * c.pad, made = c.w[1] * c.group;
    std::vector<double> expected(static_cast<size_t>(c.x[0] * made * side * side));
    test::for_each_index(c.x, [&](const ir::Shape& i) {
      const int64_t in_group = i[1] / (c.x[1] / c.group);
      for (int64_t o = 0; o < c.w[1]; ++o) {
        for (int64_t kh = 0; kh < c.w[2]; ++kh) {
          for (int64_t kw = 0; kw < c.w[3]; ++kw) {
            const int64_t h = i[2] * c.stride - c.pad + kh, v = i[3] * c.stride - c.pad + kw;
            if (h < 0 || v < 0 || h >= side || v >= side) continue;
            const int64_t place = ((i[0] * made + in_group * c.w[1] + o) * side + h) * side + v;
            expected[static_cast<size_t>(place)] += test::at(x, i) * test::at(w, {i[1], o, kh, kw});
          }
        }
      }
    });
    const Result<Tensor> y = run_node("ConvTranspose",
                                      {attribute("strides", std::vector<int64_t>{c.stride, c.stride}),
                                       attribute("pads", std::vector<int64_t>(4, c.pad)), attribute("group", c.group),
                                       attribute("output_padding", std::vector<int64_t>(2, c.output_padding))},
                                      {x, w}, 1);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ(y.value().dims(), (ir::Shape{c.x[0], made, side, side}));
    test::expect_near(y.value(), expected, 2e-5);
  }
}

TEST(ConvTest, RefusesWhatDoesNotFit) {
  const Tensor x = random_floats({1, 3, 8, 8}), w = random_floats({4, 3, 3, 3}), odd = random_floats({4, 2, 3, 3});
  struct Case {
    std::vector<Tensor> inputs;
    std::vector<ir::Attribute> attributes;
    const char* part;
  };
  const Case cases[] = {
      {{x, odd}, {}, "channels"},
      {{x, w}, {attribute("group", int64_t{3})}, "does not divide"},
      {{x, w}, {attribute("strides", std::vector<int64_t>{0, 1})}, "strides"},
      {{x, w}, {attribute("strides", std::vector<int64_t>{1})}, "strides has 1 entries"},
      {{x, w}, {attribute("kernel_shape", std::vector<int64_t>{5, 5})}, "disagrees"},
      {{x, w}, {attribute("dilations", std::vector<int64_t>{9, 9})}, "larger than the padded input"},
      {{x, w, random_floats({5})}, {}, "bias"},
      {{x, w}, {attribute("auto_pad", std::string("SAME"))}, "auto_pad"},
      {{random_floats({3, 8}), w}, {}, "rank"},
  };
  for (const Case& c : cases) {
    const Result<Tensor> y = run_node("Conv", c.attributes, c.inputs, 1);
    ASSERT_FALSE(y.ok()) << c.part;
    EXPECT_NE(y.status().message().find(c.part), std::string::npos) << y.status().message();
    EXPECT_NE(y.status().message().find("under_test"), std::string::npos) << y.status().message();
  }
}

TEST(ConvTest, GivesTheSameBytesForAnyThreadCount) {
  const Tensor x = random_floats({1, 64, 40, 40}), w = random_floats({96, 64, 3, 3}), dw = random_floats({64, 1, 5, 5});
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Tensor one = run_node("Conv", {}, {x, w}, 1).value();
  const Tensor one_dw = run_node("Conv", {attribute("group", int64_t{64})}, {x, dw}, 1).value();
  for (const int threads : {2, 3, 8}) {
    omp_set_num_threads(threads);
    EXPECT_TRUE(one.same_as(run_node("Conv", {}, {x, w}, 1).value())) << threads;
    EXPECT_TRUE(one_dw.same_as(run_node("Conv", {attribute("group", int64_t{64})}, {x, dw}, 1).value())) << threads;
  }
  omp_set_num_threads(before);
}

TEST(PoolTest, EqualsTheDefinition) {
  const Tensor x = random_floats({1, 5, 7, 6}, -3, 3, 9);
  struct Case {
    const char* op;
    std::vector<int64_t> kernel, strides, pads;
    int64_t ceil_mode, include_pad;
    ir::Shape out;
  };
  const Case cases[] = {
      {"MaxPool", {3, 3}, {2, 2}, {1, 1, 1, 1}, 0, 0, {1, 5, 4, 3}},
      {"MaxPool", {3, 3}, {2, 2}, {0, 0, 0, 0}, 1, 0, {1, 5, 3, 3}},
      {"AveragePool", {2, 2}, {2, 2}, {0, 0, 0, 0}, 1, 0, {1, 5, 4, 3}},
      {"AveragePool", {3, 3}, {1, 1}, {1, 1, 1, 1}, 0, 0, {1, 5, 7, 6}},
      {"AveragePool", {3, 3}, {1, 1}, {1, 1, 1, 1}, 0, 1, {1, 5, 7, 6}},
  };
  for (const Case& c : cases) {
    const bool is_max = std::string(c.op) == "MaxPool";
    std::vector<double> expected;
    test::for_each_index(c.out, [&](const ir::Shape& i) {
      double best = -std::numeric_limits<double>::infinity(), sum = 0, count = 0;
      for (int64_t kh = 0; kh < c.kernel[0]; ++kh) {
        for (int64_t kw = 0; kw < c.kernel[1]; ++kw) {
          const int64_t h = i[2] * c.strides[0] - c.pads[0] + kh, v = i[3] * c.strides[1] - c.pads[1] + kw;
          const bool inside = h >= 0 && v >= 0 && h < 7 && v < 6;
          if (inside) best = std::max(best, test::at(x, {i[0], i[1], h, v}));
          if (inside) sum += test::at(x, {i[0], i[1], h, v});
          if (inside || (c.include_pad != 0 && h < 7 + c.pads[2] && v < 6 + c.pads[3])) count += 1;
        }
      }
      expected.push_back(is_max ? best : sum / count);
    });
    std::vector<ir::Attribute> attributes = {attribute("kernel_shape", c.kernel), attribute("strides", c.strides),
                                             attribute("pads", c.pads), attribute("ceil_mode", c.ceil_mode)};
    if (!is_max) attributes.push_back(attribute("count_include_pad", c.include_pad));
    const Result<Tensor> y = run_node(c.op, attributes, {x}, 1);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ(y.value().dims(), c.out) << c.op;
    test::expect_near(y.value(), expected, 1e-5);
  }
}

TEST(PoolTest, GlobalAverageIsTheMean) {
  const Tensor x = random_floats({2, 70, 5, 4});
  const Result<Tensor> y = run_node("GlobalAveragePool", {}, {x}, 1);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(y.value().dims(), (ir::Shape{2, 70, 1, 1}));
  std::vector<double> expected;
  for (size_t i = 0; i < 140; ++i) {
    double sum = 0;
    for (size_t j = 0; j < 20; ++j) sum += x.data<float>()[i * 20 + j];
    expected.push_back(sum / 20);
  }
  test::expect_near(y.value(), expected, 1e-5);
}

TEST(MatMulTest, EqualsTheDefinitionForAllShapes) {
  struct Case {
    ir::Shape a, b, out;
  };
  for (const Case& c : {Case{{5, 7}, {7, 3}, {5, 3}}, Case{{2, 3, 5, 7}, {2, 3, 7, 4}, {2, 3, 5, 4}},
                        Case{{2, 3, 5, 7}, {7, 4}, {2, 3, 5, 4}}, Case{{2, 1, 5, 7}, {3, 7, 4}, {2, 3, 5, 4}},
                        Case{{7}, {7, 4}, {4}}, Case{{5, 7}, {7}, {5}}, Case{{1, 64}, {64, 100}, {1, 100}}}) {
    const Tensor a = random_floats(c.a, -1, 1, 1), b = random_floats(c.b, -1, 1, 2);
    ir::Shape wide = c.out;
    if (c.a.size() == 1) wide.insert(wide.end() - 1, 1);
    if (c.b.size() == 1) wide.push_back(1);
    std::vector<double> expected;
    test::for_each_index(wide, [&](const ir::Shape& i) {
      double sum = 0;
      for (int64_t k = 0; k < c.a.back(); ++k) {
        ir::Shape ia = i, ib = i;
        ia.back() = k;
        if (c.a.size() == 1) ia = {k};
        ib[ib.size() - 2] = k;
        if (c.b.size() == 1) ib = {k};
        sum += test::at(a, ia) * test::at(b, ib);
      }
      expected.push_back(sum);
    });
    for (const size_t constants_from : {size_t{1}, size_t{2}}) {
      const Result<Tensor> y = run_node("MatMul", {}, {a, b}, constants_from);
      ASSERT_TRUE(y.ok()) << y.status().message();
      EXPECT_EQ(y.value().dims(), c.out);
      test::expect_near(y.value(), expected, 2e-5);
    }
  }
}

TEST(MatMulTest, GemmHonoursItsAttributes) {
  for (const int64_t trans_a : {0, 1}) {
    for (const int64_t trans_b : {0, 1}) {
      for (const ir::Shape& c_dims : {ir::Shape{4}, ir::Shape{3, 1}, ir::Shape{3, 4}, ir::Shape{}}) {
        const Tensor a = random_floats(trans_a != 0 ? ir::Shape{6, 3} : ir::Shape{3, 6}, -1, 1, 1);
        const Tensor b = random_floats(trans_b != 0 ? ir::Shape{4, 6} : ir::Shape{6, 4}, -1, 1, 2);
        const Tensor c = random_floats(c_dims, -1, 1, 3);
        std::vector<double> expected;
        for (int64_t m = 0; m < 3; ++m) {
          for (int64_t n = 0; n < 4; ++n) {
            double sum = 0;
            for (int64_t k = 0; k < 6; ++k) {
              sum += test::at(a, trans_a != 0 ? ir::Shape{k, m} : ir::Shape{m, k}) *
                     test::at(b, trans_b != 0 ? ir::Shape{n, k} : ir::Shape{k, n});
            }
            expected.push_back(0.5 * sum + 2.0 * test::at(c, {m, n}));
          }
        }
        const Result<Tensor> y = run_node("Gemm",
                                          {attribute("transA", trans_a), attribute("transB", trans_b),
                                           attribute("alpha", 0.5f), attribute("beta", 2.0f)},
                                          {a, b, c}, 1);
        ASSERT_TRUE(y.ok()) << y.status().message();
        test::expect_near(y.value(), expected, 2e-5);
      }
    }
  }
}

TEST(MatMulTest, RefusesInnerDimensionsThatDiffer) {
  const Result<Tensor> y = run_node("MatMul", {}, {random_floats({2, 3}), random_floats({4, 2})}, 1);
  ASSERT_FALSE(y.ok());
  EXPECT_NE(y.status().message().find("inner dimensions"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::exec
