// SPDX-License-Identifier: MIT
#include "pipeline/run/part_plans.h"

#include <gtest/gtest.h>

#include "ir/graph_analysis.h"
#include "onnx_io/infer.h"
#include "onnx_io/text.h"

namespace quarkq::pipeline {
namespace {

/// A chain whose two MatMul have all multiply-accumulates, far apart.
const char* const kChain =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[4, 4] x) => (float[4, 4] y) <float[4, 4] w = {1,0,0,0, "
    "0,1,0,0, 0,0,1,0, 0,0,0,1}> {"
    " a = Neg (x) b = MatMul (a, w) c = Relu (b) d = Abs (c) e = Sqrt (d) f = Exp (e) g = Sign (f) h = Tanh (g)"
    " i = Softplus (h) y = Gemm (i, w) }";

class HarmfulBlocksTest : public ::testing::Test {
 protected:
  std::vector<ir::NodeId> nodes(const std::vector<const char*>& ops) {
    std::vector<ir::NodeId> found;
    for (const char* op : ops) {
      for (const ir::NodeId id : model.graph.order()) {
        if (model.graph.node(id).op == op) found.push_back(id);
      }
    }
    return found;
  }
  Nodes set_of(const std::vector<const char*>& ops) {
    const std::vector<ir::NodeId> found = nodes(ops);
    return {found.begin(), found.end()};
  }
  void SetUp() override {
    Diagnostics ignored;
    ASSERT_TRUE(onnx_io::infer_types(model, ignored).ok());
  }

  ir::Model model = onnx_io::parse_model_text(kChain).value();
};

TEST_F(HarmfulBlocksTest, NearLayersJoinWithWhatLiesBetween) {
  const std::vector<Nodes> blocks = harmful_blocks(model.graph, nodes({"MatMul", "Abs", "Gemm"}), {2, 1});
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0], set_of({"MatMul", "Relu", "Abs"}));
  EXPECT_EQ(blocks[1], set_of({"Gemm"}));  // seven steps away
}

TEST_F(HarmfulBlocksTest, BlocksDoNotOverlapAndKeepTheLimits) {
  const std::vector<ir::NodeId> all = nodes({"MatMul", "Gemm", "Relu", "Softplus", "Neg", "Tanh"});
  const std::vector<Nodes> blocks = harmful_blocks(model.graph, all, {5, 0.6});
  Nodes seen;
  for (const Nodes& block : blocks) {
    EXPECT_LE(ir::mac_share(model.graph, block), 0.6);
    for (const ir::NodeId id : block) EXPECT_TRUE(seen.insert(id).second);
  }
  EXPECT_EQ(harmful_blocks(model.graph, all, {1, 1}).size(), 1u);
  EXPECT_TRUE(harmful_blocks(model.graph, all, {0, 1}).empty());
}

TEST_F(HarmfulBlocksTest, LayersThatCostTooMuchAreLeftOut) {
  const std::vector<Nodes> blocks = harmful_blocks(model.graph, nodes({"MatMul", "Relu"}), {3, 0.1});
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0], set_of({"Relu"}));
}

}  // namespace
}  // namespace quarkq::pipeline
