// SPDX-License-Identifier: MIT
// AWQ and AUTOROUND: less error of products than K_QUANT, exact scales of producers, loops against their definition.
#include "qdq/write/nbits_learned.h"

#include <omp.h>

#include <cmath>
#include <random>

#include "config/load.h"
#include "ir/constants.h"
#include "numeric/product_loops.h"
#include "support/every_isa.h"
#include "support/legalize_samples.h"

namespace quarkq::qdq {
namespace {

using test::PassBench;

/// Inputs [rows, depth] that follow a few common signals; every eighth channel is `outlier` times as large.
std::vector<float> inputs_of(int64_t rows, int64_t depth, float outlier) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * depth));
  for (int64_t r = 0; r < rows; ++r) {
    const float common[] = {normal(random), normal(random), normal(random)};
    for (int64_t k = 0; k < depth; ++k)
      values[static_cast<size_t>(r * depth + k)] =
          (common[k % 3] + 0.3f * normal(random)) * (k % 8 == 0 ? outlier : 1.0f);
  }
  return values;
}

std::vector<float> weights_of(int64_t count) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0f, 0.2f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> gram_of(const std::vector<float>& inputs, int64_t depth) {
  numeric::Gram gram(depth);
  gram.add(inputs, static_cast<int64_t>(inputs.size()) / depth);
  return gram.take();
}

std::vector<float> moments_of(const std::vector<float>& inputs, size_t depth) {
  std::vector<float> moments(depth, 0.0f);
  for (size_t i = 0; i < inputs.size(); ++i) moments[i % depth] += inputs[i] * inputs[i];
  for (float& moment : moments) moment /= static_cast<float>(inputs.size()) / static_cast<float>(depth);
  return moments;
}

/// tr(E^T G E) by its definition.
double loss_of(const std::vector<float>& weight, const NBitsShape& shape, const NBitsWeight& made,
               const std::vector<float>& gram) {
  double loss = 0;
  const auto depth = static_cast<size_t>(shape.depth), columns = static_cast<size_t>(shape.columns);
  for (size_t c = 0; c < columns; ++c) {
    std::vector<double> off(depth);
    for (size_t k = 0; k < depth; ++k) {
      const size_t block = c * static_cast<size_t>(shape.blocks()) + k / static_cast<size_t>(shape.block);
      const uint8_t code = made.codes[c * static_cast<size_t>(shape.blocks() * shape.block) + k];
      EXPECT_LE(static_cast<float>(code), shape.largest_code());
      const double stored = static_cast<double>((static_cast<float>(code) - made.zeros[block]) * made.scales[block]);
      off[k] = stored - static_cast<double>(weight[k * columns + c]);
    }
    for (size_t i = 0; i < depth; ++i) {
      for (size_t k = 0; k < depth; ++k) loss += off[i] * off[k] * static_cast<double>(gram[i * depth + k]);
    }
  }
  return loss;
}

TEST(AutoRoundTest, LeavesLessErrorOfProductsThanKQuant) {
  const std::vector<float> inputs = inputs_of(300, 70, 1), gram = gram_of(inputs, 70);
  for (const int bits : {2, 3, 4, 8}) {
    for (const bool is_symmetric : {true, false}) {
      const int64_t steps = bits == 3 ? 0 : 100;
      const NBitsShape shape{70, 37, 32, bits};
      const std::vector<float> weight = weights_of(int64_t{70} * 37);
      const NBitsWeight start = k_quant_blocks(weight, shape, {is_symmetric, moments_of(inputs, 70)});
      const NBitsWeight made = autoround_blocks(weight, shape, {is_symmetric, steps, gram});
      EXPECT_LT(loss_of(weight, shape, made, gram), 0.3 * loss_of(weight, shape, start, gram)) << bits << is_symmetric;
      for (const float zero : made.zeros) {
        EXPECT_EQ(zero, is_symmetric ? shape.middle_code() : std::clamp(std::rint(zero), 0.0f, shape.largest_code()));
      }
    }
  }
}

TEST(AutoRoundTest, DoesNotDependOnTheNumberOfThreads) {
  const std::vector<float> gram = gram_of(inputs_of(200, 64, 4), 64), weight = weights_of(int64_t{64} * 100);
  const NBitsShape shape{64, 100, 32, 3};
  const int before = omp_get_max_threads();
  NBitsWeight made[2];
  for (const int threads : {1, 2}) {
    omp_set_num_threads(threads);
    made[threads - 1] = autoround_blocks(weight, shape, {false, 20, gram});
  }
  omp_set_num_threads(before);
  EXPECT_EQ(made[0].codes, made[1].codes);
  EXPECT_EQ(made[0].scales, made[1].scales);
}

TEST(AutoRoundTest, KeepsKQuantWhereInputsTellNothing) {
  const NBitsShape shape{32, 5, 16, 4};
  std::vector<float> weight = weights_of(int64_t{32} * 5);
  for (size_t k = 0; k < 16; ++k) weight[k * 5] = 0;  // a block without a scale
  for (const float value : {0.0f, test::kNan, test::kInfinity}) {
    const std::vector<float> gram(size_t{32} * 32, value);
    const NBitsWeight made = autoround_blocks(weight, shape, {false, 5, gram});
    std::vector<float> moments(32, value);
    const NBitsWeight start = k_quant_blocks(weight, shape, {false, moments});
    EXPECT_EQ(made.codes, start.codes) << value;
    for (size_t i = 0; i < made.scales.size(); ++i) {
      EXPECT_TRUE(made.scales[i] == start.scales[i] || std::isnan(start.scales[i])) << value;
    }
  }
}

/// A piece of two blocks and what the loops fill.
struct PieceData {
  std::vector<float> weight, offsets, error, scale, zero, scale_gradient, zero_gradient;
  std::vector<uint8_t> codes;

  RoundingPiece view() {
    return {9, 11, 5, 15, weight.data(), offsets.data(), error.data(), codes.data(), scale.data(), zero.data()};
  }
};
PieceData piece_data() {
  PieceData made{weights_of(99),
                 test::random_values(99, 5, -0.5f, 0.5f),
                 std::vector<float>(99),
                 test::random_values(22, 6, 0.02f, 0.06f),
                 std::vector<float>(22, 6.0f),
                 std::vector<float>(22),
                 std::vector<float>(22),
                 std::vector<uint8_t>(99)};
  made.scale[3] = 0;
  made.weight[1] = 1e30f;
  made.weight[2] = test::kNan;
  return made;
}

TEST(AutoRoundLoopsTest, RoundMoveAndSumOnEveryIsa) {
  const std::vector<float> products = test::random_values(99, 8);
  const auto check = [&](auto round, auto sum, auto move, auto move_codes) {
    PieceData data = piece_data();
    const PieceData old = piece_data();
    round(data.view());
    std::vector<double> losses(11);
    sum(data.view(), products.data(), losses.data());
    move(data.view(), {products.data(), data.scale_gradient.data(), data.zero_gradient.data()}, 0.1f);
    for (size_t i = 0; i < 99; ++i) {
      const size_t grid = i / 11 / 5 * 11 + i % 11;
      const float scale = old.scale[grid], inverse = scale == 0 ? 0 : 1 / scale;
      const float steps = old.weight[i] * inverse + 6 + old.offsets[i];
      if (i == 2 || i == 1) {
        EXPECT_EQ(data.codes[i], i == 1 ? 15 : 0);
        continue;
      }
      EXPECT_LE(std::abs(static_cast<float>(data.codes[i]) - std::clamp(steps, 0.0f, 15.0f)), 0.5001f) << i;
      EXPECT_NEAR(data.error[i], (static_cast<float>(data.codes[i]) - 6) * scale - old.weight[i], 1e-6f) << i;
      const bool is_inside = steps > -0.5f && steps < 15.5f && scale > 0;
      const float wanted = is_inside ? old.offsets[i] - std::copysign(0.1f, products[i]) : old.offsets[i];
      EXPECT_NEAR(data.offsets[i], std::clamp(wanted, -0.5f, 0.5f), 1e-6f) << i;
    }
    double loss = 0;
    for (size_t i = 4; i < 99; i += 11) loss += static_cast<double>(data.error[i]) * static_cast<double>(products[i]);
    EXPECT_NEAR(losses[4], loss, 1e-6);
    std::vector<float> moved(11);
    const std::vector<uint8_t> codes = data.codes;
    EXPECT_TRUE(move_codes(data.view(), products.data() + 77, {7, 8.0f}, moved.data()));
    for (size_t c = 0; c < 11; ++c) {
      const float scale = old.scale[11 + c];
      const float best = std::clamp(static_cast<float>(codes[77 + c]) - products[77 + c] / (8 * scale), 0.0f, 15.0f);
      EXPECT_LE(std::abs(static_cast<float>(data.codes[77 + c]) - best), 0.51f) << c;
      EXPECT_NEAR(moved[c], static_cast<float>(data.codes[77 + c] - codes[77 + c]) * scale, 1e-6f) << c;
    }
  };
  check(sse41::round_with_offsets, sse41::column_losses, sse41::move_offsets, sse41::move_codes);
  if (isa() >= Isa::kAvx2) check(avx2::round_with_offsets, avx2::column_losses, avx2::move_offsets, avx2::move_codes);
  if (isa() >= Isa::kAvx512)
    check(avx512::round_with_offsets, avx512::column_losses, avx512::move_offsets, avx512::move_codes);
}

/// Error of the products after k_quant_blocks() of scaled rows.
double product_error(const std::vector<float>& weight, const NBitsShape& shape, const std::vector<float>& inputs,
                     const std::vector<float>& scales) {
  const auto depth = static_cast<size_t>(shape.depth), columns = static_cast<size_t>(shape.columns);
  std::vector<float> scaled = weight, moments = moments_of(inputs, depth), gram = gram_of(inputs, shape.depth);
  for (size_t i = 0; i < scaled.size(); ++i) scaled[i] *= scales[i / columns];
  for (size_t k = 0; k < depth; ++k) moments[k] /= scales[k] * scales[k];
  const NBitsWeight made = k_quant_blocks(scaled, shape, {false, moments});
  for (size_t i = 0; i < depth * depth; ++i) gram[i] /= scales[i / depth] * scales[i % depth];
  return loss_of(scaled, shape, made, gram);
}

TEST(AwqTest, ScalesReduceTheErrorOfAllMatricesOfAnInput) {
  const std::vector<float> inputs = inputs_of(100, 64, 30), a = weights_of(int64_t{64} * 40),
                           b = weights_of(int64_t{64} * 200);
  const NBitsShape first{64, 40, 64, 3}, second{64, 200, 64, 3};
  const ScaledMatrix matrices[] = {{a, first, false}, {b, second, false}};
  const std::vector<float> scales = find_awq_scales(matrices, inputs, moments_of(inputs, 64));
  ASSERT_EQ(scales.size(), 64u);
  EXPECT_GT(scales[0], scales[1]);
  const std::vector<float> none(64, 1.0f);
  const double with = product_error(a, first, inputs, scales) + product_error(b, second, inputs, scales);
  EXPECT_LT(with, 0.9 * (product_error(a, first, inputs, none) + product_error(b, second, inputs, none)));
}

TEST(AwqTest, KeepsInputsWhereScalesDoNotHelp) {
  const std::vector<float> weight = weights_of(int64_t{64} * 40), inputs(size_t{64} * 10, 0.0f);
  const ScaledMatrix matrices[] = {{weight, {64, 40, 64, 4}, false}};
  EXPECT_TRUE(find_awq_scales(matrices, inputs, std::vector<float>(64, 0.0f)).empty());
  EXPECT_TRUE(find_awq_scales(matrices, {}, std::vector<float>(64, 1.0f)).empty());
}

std::vector<std::string> taker_names(const ir::Model& model, const std::string& value, int64_t channels) {
  const auto found = find_scale_takers(model.graph, model.graph.find(value), channels);
  std::vector<std::string> names;
  for (const ScaleTaker& taker : found.value_or(std::vector<ScaleTaker>()))
    names.push_back(model.graph.value(taker.constant).name);
  return names;
}

std::string norm_model(const std::string& body) {
  return cat("g (float[6, 8] x) => (float[6, 8] y) <float[8] s = ", test::numbers(8, 3),
             ", float[8] t = ", test::numbers(8, 4), ", float half = {0.5}, float[8, 8] w = ", test::numbers(64, 5),
             "> { ", body, " }");
}

TEST(ScaleTakersTest, FollowsOperatorsThatKeepScales) {
  using Names = std::vector<std::string>;
  const std::pair<const char*, Names> rows[] = {
      {"y = LayerNormalization (x, s, t)", {"s", "t"}},
      {"y = LayerNormalization (x, s)", {"s"}},
      {"a = MatMul (x, w) y = Identity (a)", {"w"}},
      {"a = MatMul (x, w) b = Add (a, t) y = Relu (b)", {"w", "t"}},
      {"a = Sigmoid (x) b = Mul (s, a) y = Add (b, t)", {"s", "t"}},
      {"a = MatMul (x, w) b = Sigmoid (x) y = Mul (b, a)", {"w"}},
      {"a = MatMul (x, w) y = Mul (a, a)", {}},  // squares
      {"a = MatMul (x, w) y = Mul (a, half)", {"w"}},
      {"a = MatMul (x, w) y = Sigmoid (a)", {}},                    // not linear
      {"y = Add (x, t)", {}},                                       // an input of the graph
      {"a = MatMul (x, w) b = MatMul (a, w) y = Identity (b)", {}}  // two readers of the matrix
  };
  for (const auto& [body, names] : rows) {
    EXPECT_EQ(taker_names(test::model_of(norm_model(body)), "y", 8), names) << body;
  }
}

/// An attention without a cache. `values` computes the values h, and `join` is the shape of its result.
ir::Model attention(const std::string& values, const std::string& join = "{0, 0, 8}") {
  return test::model_of(
      cat("g (float[2, 3, 8] x, float[2, 2, 3, 3] p) => (float[2, 3, 8] y) <float[8, 8] v = ", test::numbers(64, 5),
          ", float[8] b = ", test::numbers(8, 3), ", float[8, 24] qkv = ", test::numbers(192, 6),
          ", int64[4] heads = {0, 0, 2, 4}, int64[5] parts = {0, 0, 3, 2, 4}, int64[3] join = ", join,
          ", int64[1] zero = {0}, int64[3] uneven = {1, 0, 2}> { ", values,
          " r = MatMul (p, h) u = Transpose <perm = [0, 2, 1, 3]> (r) y = Reshape (u, join) }"));
}

constexpr const char* kSeparate =
    "a = MatMul (x, v) c = Add (a, b) d = Reshape (c, heads) h = Transpose <perm = [0, 2, 1, 3]> (d)";
constexpr const char* kFused =
    "a = MatMul (x, qkv) d = Reshape (a, parts) e = Transpose <perm = [2, 0, 3, 1, 4]> (d) "
    "f, i, j = Split <axis = 0> (e) h = Squeeze (j, zero)";

TEST(HeadTakersTest, FindsTheColumnsOfTheValues) {
  EXPECT_EQ(taker_names(attention(kSeparate), "y", 8), (std::vector<std::string>{"v", "b"}));
  const ir::Model fused = attention(kFused);
  const auto found = find_scale_takers(fused.graph, fused.graph.find("y"), 8);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(fused.graph.value((*found)[0].constant).name, "qkv");
  EXPECT_EQ((*found)[0].places, (std::vector<int64_t>{16, 17, 18, 19, 20, 21, 22, 23}));
}

TEST(HeadTakersTest, RefusesWhatItCannotReplay) {
  EXPECT_TRUE(taker_names(attention("a = MatMul (x, v) d = Reshape (a, heads) c = Sigmoid (d) "
                                    "h = Transpose <perm = [0, 2, 1, 3]> (c)"),
                          "y", 8)
                  .empty());
  EXPECT_TRUE(taker_names(attention("a = MatMul (x, qkv) d = Reshape (a, parts) "
                                    "e = Transpose <perm = [2, 0, 3, 1, 4]> (d) "
                                    "f, i, j = Split <axis = 0> (e, uneven) h = Squeeze (j, zero)"),
                          "y", 8)
                  .empty());
  EXPECT_TRUE(taker_names(attention(kSeparate, "{0, 3, 8}"), "y", 8).empty());  // more than one position
}

config::Settings settings_of(const std::string& params) {
  config::Settings settings;
  settings.matmul_nbits.matmul_nbits_params.node = config::parse_text(params, "params").value();
  return settings;
}

/// Two layers after a normalization whose weight makes some channels large.
ir::Model normed_layers(bool has_other_reader) {
  std::string weight = "{";
  for (int k = 0; k < 64; ++k) weight += cat(k == 0 ? "" : ", ", k % 8 == 0 ? 40 : 1);
  return test::model_of(cat("g (float[32, 64] x) => (float[32, 16] y", has_other_reader ? ", float[32, 64] z" : "",
                            ") <float[64] s = ", weight, "}, float[64] t = ", test::numbers(64, 4),
                            ", float[64, 32] up = ", test::numbers(2048, 6), ", float[32, 16] down = ",
                            test::numbers(512, 5), "> { n = LayerNormalization (x, s, t) c = MatMul (n, up) ",
                            "d = Relu (c) y = MatMul (d, down) ", has_other_reader ? "z = Relu (n) " : "", "}"));
}

std::vector<float> norm_weight(const ir::Graph& graph) {
  return ir::float_values(*graph.constant(graph.find("s"))).value();
}

TEST(AwqTest, ProducersTakeTheScales) {
  const ir::Model original = normed_layers(/*has_other_reader=*/false);
  const test::RandomSamples samples(original.graph, 6);
  double errors[2];
  const char* const algorithms[] = {"K_QUANT", "AWQ"};
  for (const int i : {0, 1}) {
    PassBench bench(original, settings_of(cat("{Algorithm: ", algorithms[i], ", Bits: 3, GroupSize: 64}")));
    bench.context.source.data = &samples;
    EXPECT_TRUE(bench.run(quantize_matmul_nbits));
    errors[i] = test::output_difference(original, bench.model, samples).square;
    const std::vector<float> before = norm_weight(original.graph), after = norm_weight(bench.graph());
    EXPECT_EQ(before != after, i == 1);
    EXPECT_EQ(before[0] * after[1] > before[1] * after[0], i == 1);  // the larger channels have larger scales
  }
  EXPECT_LT(errors[1], errors[0]);
  // With 8 bits nothing but the rounding of each weight is left.
  PassBench fine(original, settings_of("{Algorithm: AWQ, Bits: 8, GroupSize: 16}"));
  fine.context.source.data = &samples;
  EXPECT_TRUE(fine.run(quantize_matmul_nbits));
  EXPECT_LT(test::output_difference(original, fine.model, samples).square, 1e-2 * errors[1]);
}

TEST(AwqTest, OtherReadersKeepTheirInput) {
  const ir::Model original = normed_layers(/*has_other_reader=*/true);
  const test::RandomSamples samples(original.graph, 6);
  PassBench bench(original, settings_of("{Algorithm: AWQ, Bits: 3, GroupSize: 64}"));
  bench.context.source.data = &samples;
  EXPECT_TRUE(bench.run(quantize_matmul_nbits));
  EXPECT_EQ(norm_weight(bench.graph()), norm_weight(original.graph));
}

TEST(NBitsLearnedTest, LearningNeedsSamples) {
  for (const char* algorithm : {"AWQ", "AUTOROUND"}) {
    PassBench bench(normed_layers(false), settings_of(cat("{Algorithm: ", algorithm, "}")));
    const Result<Changed> found = pipeline::run_pass(bench.context, quantize_matmul_nbits);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.status().message(),
              cat("MatMulNBitsParams.Algorithm: ", algorithm, " needs samples (--calib DIR)"));
  }
  PassBench steps(normed_layers(false), settings_of("{Algorithm: AUTOROUND, Steps: -2}"));
  EXPECT_FALSE(pipeline::run_pass(steps.context, quantize_matmul_nbits).ok());
}

}  // namespace
}  // namespace quarkq::qdq
