// SPDX-License-Identifier: MIT
#include "ir/graph_analysis.h"

#include <gtest/gtest.h>

#include "support/pass_support.h"

namespace quarkq::ir {
namespace {

struct MacsCase {
  const char* name;
  const char* text;
  double macs;  ///< of the first node
};

const MacsCase kMacsCases[] = {
    {"conv", "g (float[1, 2, 4, 4] x, float[3, 2, 1, 1] w) => (float[1, 3, 4, 4] y) { y = Conv(x, w) }", 3 * 16 * 2},
    {"depthwise", "g (float[1, 4, 4, 4] x, float[4, 1, 3, 3] w) => (float[1, 4, 2, 2] y) { y = Conv<group = 4>(x, w) }",
     4 * 4 * 9},
    {"gemm", "g (float[2, 5] x, float[5, 7] w) => (float[2, 7] y) { y = Gemm(x, w) }", 2 * 7 * 5},
    {"gemm of a transposed", "g (float[5, 2] x, float[5, 7] w) => (float[2, 7] y) { y = Gemm<transA = 1>(x, w) }",
     2 * 7 * 5},
    {"matmul of a batch", "g (float[3, 2, 5] x, float[3, 5, 7] w) => (float[3, 2, 7] y) { y = MatMul(x, w) }",
     3 * 2 * 7 * 5},
    {"unknown batch", "g (float[N, 5] x, float[5, 7] w) => (float[N, 7] y) { y = MatMul(x, w) }", 7 * 5},
    {"relu", "g (float[2, 5] x) => (float[2, 5] y) { y = Relu(x) }", 0},
};

TEST(MacsTest, CountsByOperator) {
  for (const MacsCase& item : kMacsCases) {
    const Model model = test::model_of(item.text);
    EXPECT_EQ(macs_of(model.graph, model.graph.node(model.graph.order()[0])), item.macs) << item.name;
  }
}

TEST(MacsTest, ShareIsOfTheWholeGraph) {
  const Model model = test::model_of(
      "g (float[1, 2] x, float[2, 4] a, float[4, 4] b) => (float[1, 4] y) { h = Gemm(x, a) y = Gemm(h, b) }");
  const std::vector<NodeId>& order = model.graph.order();
  EXPECT_DOUBLE_EQ(mac_share(model.graph, {order[1]}), 16.0 / 24);  // 1x2 by 2x4, then 1x4 by 4x4
  EXPECT_EQ(mac_share(model.graph, {}), 0);
  EXPECT_EQ(mac_share(model.graph, {order[0], order[1]}), 1);
}

}  // namespace
}  // namespace quarkq::ir
