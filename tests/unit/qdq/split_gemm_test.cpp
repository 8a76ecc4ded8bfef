// SPDX-License-Identifier: MIT
// Gemm as MatMul and Add, and blocks of 4 bits against their definition.
#include "qdq/write/nbits_matrices.h"

#include <cmath>

#include "qdq/write/nbits_blocks.h"
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::qdq {
namespace {

using test::Draws;

/// Splits the Gemm of the model; the operators that are left.
std::string split_up(ir::Model& model) {
  const ir::Model before = model;
  const ir::NodeId gemm = model.graph.order()[0];
  EXPECT_TRUE(is_plain_gemm(model.graph, model.graph.node(gemm)));
  split_gemm(model.graph, gemm);
  EXPECT_EQ(ir::verify(model.graph).message(), "");
  test::expect_same_outputs(before, model);
  std::vector<std::string> nodes;
  for (const ir::NodeId id : model.graph.order()) {
    const ir::Node& node = model.graph.node(id);
    nodes.push_back(node.name.empty() ? node.op : cat(node.name, ":", node.op));
  }
  return join(nodes, " ");
}

std::string gemm_model(const std::string& gemm, const std::string& more = "y = Relu (g)",
                       const std::string& outputs = "float[2, 3] y") {
  return cat("g (float[2, 4] x) => (", outputs, ") <float[4, 3] w = ", test::numbers(12, 1),
             ", float[3, 4] t = ", test::numbers(12, 2), ", float[3] b = ", test::numbers(3, 3), "> { ", gemm, " ",
             more, " }");
}

TEST(SplitGemmTest, ComputesTheSame) {
  ir::Model plain = test::model_of(gemm_model("[n] g = Gemm (x, w, b)"));
  EXPECT_EQ(split_up(plain), "n_MatMul:MatMul n_Add:Add Relu");
  ir::Model bare = test::model_of(gemm_model("g = Gemm (x, w)"));
  EXPECT_EQ(split_up(bare), "MatMul Relu");
  ir::Model turned = test::model_of(gemm_model("[n] g = Gemm <transB = 1> (x, t, b)"));
  EXPECT_EQ(split_up(turned), "n_MatMul:MatMul n_Add:Add Relu");
  EXPECT_EQ(turned.graph.constant(turned.graph.find("t"))->dims(), (ir::Shape{4, 3})) << "turned where it stands";
}

TEST(SplitGemmTest, AWeightThatOthersReadStays) {
  ir::Model model = test::model_of(
      gemm_model("[n] g = Gemm <transB = 1> (x, t, b)", "y = Relu (g) z = Abs (t)", "float[2, 3] y, float[3, 4] z"));
  split_up(model);
  EXPECT_EQ(model.graph.constant(model.graph.find("t"))->dims(), (ir::Shape{3, 4}));
  EXPECT_EQ(model.graph.constant(model.graph.find("t_Transposed"))->dims(), (ir::Shape{4, 3}));
}

TEST(SplitGemmTest, TheResultKeepsItsName) {
  ir::Model model = test::model_of(gemm_model("y = Gemm (x, w, b)", ""));
  split_up(model);
  EXPECT_TRUE(model.graph.value(model.graph.find("y")).is_output);
  EXPECT_TRUE(model.graph.find("y_MatMul").valid());
}

TEST(SplitGemmTest, OthersAreNotPlain) {
  for (const char* gemm : {"g = Gemm <alpha = 2.0> (x, w, b)", "g = Gemm <beta = 0.5> (x, w, b)",
                           "g = Gemm <transA = 1> (x, w, b)", "g = Gemm (w, x, b)", "g = MatMul (x, w)"}) {
    const ir::Model model = test::model_of(gemm_model(gemm, "", "float[] g"));
    EXPECT_FALSE(is_plain_gemm(model.graph, model.graph.node(model.graph.order()[0]))) << gemm;
  }
}

std::vector<float> drawn_matrix(Draws& draws, const NBitsShape& shape) {
  const ir::Tensor tensor = draws.tensor({shape.depth * shape.columns}, -1, 1);
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

/// What the codes stand for at a place of the matrix.
double decoded_at(const NBitsWeight& made, const NBitsShape& shape, int64_t row, int64_t column) {
  const auto grid = static_cast<size_t>(column * shape.blocks() + row / shape.block);
  const auto code = static_cast<size_t>(column * shape.blocks() * shape.block + row);
  return (static_cast<double>(made.codes[code]) - static_cast<double>(made.zeros[grid])) *
         static_cast<double>(made.scales[grid]);
}

TEST(NBitsBlocksOfRandomMatricesTest, ErrorsAreWithinAStep) {
  Draws draws(7);
  for (int trial = 0; trial < 12; ++trial) {
    const NBitsShape shape{draws.integer(1, 40), draws.integer(1, 5), 16};
    const std::vector<float> weight = drawn_matrix(draws, shape);
    for (const bool symmetric : {false, true}) {
      const NBitsWeight made = round_blocks(weight, shape, symmetric);
      ASSERT_EQ(made.codes.size(), static_cast<size_t>(shape.columns * shape.blocks() * shape.block));
      ASSERT_EQ(made.scales.size(), static_cast<size_t>(shape.columns * shape.blocks()));
      for (int64_t row = 0; row < shape.depth; ++row) {
        for (int64_t column = 0; column < shape.columns; ++column) {
          const double exact = static_cast<double>(weight[static_cast<size_t>(row * shape.columns + column)]);
          const auto grid = static_cast<size_t>(column * shape.blocks() + row / shape.block);
          const double step = std::abs(static_cast<double>(made.scales[grid]));
          // Half a step, and half of one more at the ends: symmetric codes end at 7, and zero points are rounded.
          EXPECT_LE(std::abs(decoded_at(made, shape, row, column) - exact), step * 1.001)
              << shape.depth << "x" << shape.columns << " symmetric " << symmetric;
        }
      }
    }
  }
}

TEST(NBitsBlocksOfRandomMatricesTest, ColumnsAndBlocksDoNotMix) {
  Draws draws(8);
  const NBitsShape shape{33, 3, 16};
  std::vector<float> weight = drawn_matrix(draws, shape);
  const auto all = {round_blocks(weight, shape, false), round_again(weight, shape, true), hqq_blocks(weight, shape)};
  weight[static_cast<size_t>(20 * shape.columns + 1)] = 50;  // second block of the second column
  const auto changed = {round_blocks(weight, shape, false), round_again(weight, shape, true),
                        hqq_blocks(weight, shape)};
  const size_t last_block = static_cast<size_t>(shape.blocks()) * 2 + 2;
  for (size_t method = 0; method < 2; ++method) {  // HQQ stops when the error of all blocks together grows
    const NBitsWeight &before = all.begin()[method], &after = changed.begin()[method];
    for (size_t block = 0; block <= last_block; ++block) {
      const bool is_same = before.scales[block] == after.scales[block];
      EXPECT_EQ(is_same, block != static_cast<size_t>(shape.blocks()) + 1) << method << " block " << block;
    }
  }
}

TEST(NBitsBlocksOfRandomMatricesTest, ConstantBlocksAreExact) {
  for (const float value : {0.5f, -0.25f, 0.0f}) {
    const NBitsShape shape{16, 1, 16};
    const std::vector<float> weight(16, value);
    for (const NBitsWeight& made :
         {round_blocks(weight, shape, false), round_blocks(weight, shape, true), hqq_blocks(weight, shape)}) {
      EXPECT_NEAR(decoded_at(made, shape, 3, 0), static_cast<double>(value), 1e-4) << value;
    }
  }
}

TEST(PackNibblesOfRowsTest, EveryRowBeginsAByte) {
  const std::vector<uint8_t> values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(pack_rows(values, 3, 4, 8), (std::vector<uint8_t>{0x21, 0x83, 0x54, 0x86}));
  EXPECT_EQ(pack_rows(values, 2, 4, 0), (std::vector<uint8_t>{0x21, 0x43, 0x65}));
  EXPECT_EQ(pack_rows(values, 1, 4, 0), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(pack_rows({}, 4, 4, 0).empty());
}

}  // namespace
}  // namespace quarkq::qdq
