// SPDX-License-Identifier: MIT
// What belongs to the tail of a network.
#include "ir/parts.h"

#include "support/pass_support.h"

namespace quarkq::ir {
namespace {

struct TailCase {
  const char* name;
  const char* nodes;
  std::vector<std::string> ops;  ///< of the tail, in node order
  std::vector<std::string> inputs;
};

const TailCase kTailCases[] = {
    {"a classifier's Softmax", "a = Conv (x, w) y = Softmax (a)", {}, {}},
    {"two heads that meet",
     "a = Conv (x, w) b = Conv (x, w) c = Sigmoid (b) y = Concat <axis = 1> (a, c)",
     {"Sigmoid", "Concat"},
     {"b", "a"}},
    {"activations of layers stay", "a = Conv (x, w) b = Relu (a) c = Exp (b) y = Relu (c)", {"Exp", "Relu"}, {"b"}},
    {"an activation of what others read, too",
     "a = Conv (x, w) b = Relu (a) c = Exp (a) y = Add (b, c)",
     {"Relu", "Exp", "Add"},
     {"a"}},
    {"a layer after the decoding", "a = Conv (x, w) b = Exp (a) c = Conv (b, w) y = Sigmoid (c)", {}, {}},
    {"what weighs bins is no layer",
     "a = Conv (x, w) b = Softmax <axis = 1> (a) c = Conv (b, bins) y = Exp (c)",
     {"Softmax", "Conv", "Exp"},
     {"a"}},
    {"nor after a Transpose",
     "a = Conv (x, w) s = Softmax (a) b = Transpose <perm = [0, 3, 1, 2]> (s) c = Conv (b, bins) y = Exp (c)",
     {"Softmax", "Transpose", "Conv", "Exp"},
     {"a"}},
    {"a Conv to one channel of something else",
     "a = Conv (x, w) b = Sigmoid (a) c = Conv (b, bins) y = Exp (c)",
     {"Exp"},
     {"c"}},
    {"inputs of the whole model", "a = Conv (x, w) b = Exp (z) y = Mul (a, b)", {"Exp", "Mul"}, {"z", "a"}},
    {"a product of activations",
     "a = Conv (x, w) b = Conv (z, w) c = MatMul (a, b) y = Exp (c)",
     {"MatMul", "Exp"},
     {"a", "b"}},
    {"a bias and its activation", "a = Conv (x, w) b = Add (a, bias) c = Relu (b) y = Exp (c)", {"Exp"}, {"c"}},
    {"a table of places", "a = Conv (x, w) b = Add (a, grid) y = Exp (b)", {"Add", "Exp"}, {"a"}},
    {"nothing but decoding", "a = Mul (x, z) y = Exp (a)", {}, {}},
};

TEST(TailTest, IsWhatNoLayerFollows) {
  for (const TailCase& item : kTailCases) {
    const Model model =
        test::model_of(cat("g (float[1, 4, 4, 4] x, float[1, 4, 4, 4] z) => (float[A, B, C, D] y) "
                           "<float[4, 4, 1, 1] w = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, float[1, 4, 1, 1] "
                           "bins = {0, 1, 2, 3}, float[4, 1, 1] bias = {1, 2, 3, 4}, float[4, 4] grid = {1, 2, 3, 4, "
                           "1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}> { ",
                           item.nodes, " }"));
    const Tail tail = find_tail(model.graph);
    std::vector<std::string> ops, inputs;
    for (const NodeId id : model.graph.order()) {
      if (tail.nodes.contains(id)) ops.push_back(model.graph.node(id).op);
    }
    for (const ValueId input : tail.inputs) inputs.push_back(model.graph.value(input).name);
    EXPECT_EQ(ops, item.ops) << item.name;
    EXPECT_EQ(inputs, item.inputs) << item.name;
  }
}

}  // namespace
}  // namespace quarkq::ir
