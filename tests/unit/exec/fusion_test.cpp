// SPDX-License-Identifier: MIT
// What follows a convolution is computed inside it where that changes no bit, and apart where it would. A value that is
// tapped is never fused away, so a run with taps tells what is expected.
#include <gtest/gtest.h>

#include "exec/session.h"
#include "support/pass_support.h"
#include "support/random_draws.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

class SilentSink : public TapSink {
 public:
  Status on_value(ir::ValueId, const TensorView&) override { return Status(); }
};

struct FusionRow {
  const char* name;
  const char* nodes;  ///< over x [2,4,6,6] and w [4,4,3,3], the result is y
  size_t steps;       ///< of the program; layout changes apart
  int64_t opset = 17;
  ElementType type = ElementType::kFloat;
};

const char* const kStored =
    "<T[4,4,1,1] v = {1,2,3,4,-1,-2,-3,-4,1,0,1,0,0,1,0,1}, T low = {-0.5}, T high = {0.75}, T[1,4,1,1] s = "
    "{1,-1,2,-2}, T nothing = {-100}, T half = {0.5}> ";

const FusionRow kFusionRows[] = {
    {"relu", "a = Conv<pads=[1,1,1,1]>(x, w) y = Relu(a)", 1},
    {"leaky relu", "a = Conv<pads=[1,1,1,1]>(x, w) y = LeakyRelu<alpha=0.25>(a)", 1},
    {"clip by constants", "a = Conv<pads=[1,1,1,1]>(x, w) y = Clip(a, low, high)", 1},
    {"clip without a lower limit", "a = Conv<pads=[1,1,1,1]>(x, w) y = Clip(a, , high)", 1},
    {"clip by attributes", "a = Conv<pads=[1,1,1,1]>(x, w) y = Clip<min=-0.5, max=0.75>(a)", 1, 6},
    {"clip to nothing stays apart", "a = Conv<pads=[1,1,1,1]>(x, w) y = Clip(a, high, nothing)", 2},
    {"clip by what is computed stays apart",
     "l = ReduceMin<keepdims=0>(x) a = Conv<pads=[1,1,1,1]>(x, w) y = Clip(a, l)", 3},
    {"three followers, a fourth stays apart",
     "b = Conv(x, v) a = Conv<pads=[1,1,1,1]>(x, w) c = Relu(a) d = Clip(c, , high) e = Add(d, b) y = Relu(e)", 3},
    // oneDNN computes followers of one algorithm with the parameters of the first.
    {"leaky, then relu", "a = Conv<pads=[1,1,1,1]>(x, w) b = LeakyRelu(a) y = Relu(b)", 2},
    {"relu, then leaky", "a = Conv<pads=[1,1,1,1]>(x, w) b = Relu(a) y = LeakyRelu<alpha=0.5>(b)", 2},
    {"two slopes", "a = Conv<pads=[1,1,1,1]>(x, w) b = LeakyRelu<alpha=0.5>(a) y = LeakyRelu<alpha=0.25>(b)", 2},
    {"two clips", "a = Conv<pads=[1,1,1,1]>(x, w) b = Clip(a, low, high) y = Clip(b, nothing, half)", 2},
    {"one clip twice", "a = Conv<pads=[1,1,1,1]>(x, w) b = Clip(a, low, high) y = Clip(b, low, high)", 1},
    {"clip, then relu", "a = Conv<pads=[1,1,1,1]>(x, w) b = Clip(a, low, high) y = Relu(b)", 1},
    {"leaky, then clip", "a = Conv<pads=[1,1,1,1]>(x, w) b = LeakyRelu(a) y = Clip(b, , high)", 1},
    {"leaky, sum, then relu",
     "b = Conv(x, v) a = Conv<pads=[1,1,1,1]>(x, w) c = LeakyRelu(a) d = Add(c, b) y = Relu(d)", 3},
    {"a sum of two convolutions", "b = Conv(x, v) a = Conv<pads=[1,1,1,1]>(x, w) y = Add(a, b)", 2},
    {"one sum at most", "b = Conv(x, v) a = Conv<pads=[1,1,1,1]>(x, w) c = Add(b, a) y = Add(c, b)", 3},
    {"a sum with a constant stays apart", "a = Conv<pads=[1,1,1,1]>(x, w) y = Add(a, s)", 2},
    {"a sum with what broadcasts stays apart",
     "g = GlobalAveragePool(x) b = Conv(g, v) a = Conv<pads=[1,1,1,1]>(x, w) y = Add(a, b)", 4},
    {"a sum with itself stays apart", "a = Conv<pads=[1,1,1,1]>(x, w) y = Add(a, a)", 2},
    {"two readers", "a = Conv<pads=[1,1,1,1]>(x, w) b = Relu(a) y = Mul(a, b)", 3},
    {"doubles stay apart", "a = Conv<pads=[1,1,1,1]>(x, w) y = LeakyRelu<alpha=0.25>(a)", 2, 17, ElementType::kDouble},
};

ir::Model fusion_model(const FusionRow& row) {
  std::string text = cat("g (T[2,4,6,6] x, T[4,4,3,3] w) => (T[2,4,6,6] y) ", kStored, "{ ", row.nodes, " }");
  const std::string type = row.type == ElementType::kFloat ? "float" : "double";
  for (const char* place : {"T[", "T "}) {
    for (size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + type.size())) {
      const bool is_type = at > 0 && (text[at - 1] == '(' || text[at - 1] == ' ' || text[at - 1] == '<');
      if (is_type) text.replace(at, 1, type);
    }
  }
  return test::model_of(text, static_cast<int>(row.opset));
}

std::vector<Tensor> fusion_inputs(ElementType type) {
  return {test::as_type(test::random_floats({2, 4, 6, 6}), type),
          test::as_type(test::random_floats({4, 4, 3, 3}, -0.5f, 0.5f, 2), type)};
}

/// The run with every value tapped, in which nothing is fused, gives the same bits.
void expect_same_apart(const ir::Model& model, const std::vector<Tensor>& inputs) {
  std::vector<ir::ValueId> taps;
  for (const ir::NodeId id : model.graph.order()) taps.push_back(model.graph.node(id).output(0));
  Session fused(model, {}, {}), apart(model, {}, {model.graph.outputs(), taps});
  const auto found = fused.run(inputs);
  ASSERT_TRUE(found.ok()) << found.status().message();
  SilentSink sink;
  const auto expected = apart.run(inputs, &sink);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  EXPECT_TRUE((*found.value())[0].same_as((*expected.value())[0]));
}

TEST(FusionTest, FusedOrNotTheBitsAreTheSame) {
  for (const FusionRow& row : kFusionRows) {
    SCOPED_TRACE(row.name);
    const ir::Model model = fusion_model(row);
    ASSERT_FALSE(model.graph.order().empty());
    const std::vector<Tensor> inputs = fusion_inputs(row.type);
    expect_same_apart(model, inputs);
    CompileRequest request;
    for (size_t i = 0; i < 2; ++i) request.feeds.push_back({model.graph.inputs()[i], row.type, inputs[i].dims()});
    request.fetches = model.graph.outputs();
    const Result<Compiled> compiled = compile(model.graph, model.opsets, request);
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    const std::string text = compiled.value().program.text();
    size_t steps = 0;
    for (const std::string& line : split(text, '\n')) steps += !line.empty() && !line.starts_with("to-");
    EXPECT_EQ(steps, row.steps) << text;
  }
}

/// Chains of what may and may not be fused, in any order, behind convolutions with and without padding and groups.
TEST(FusionTest, RandomChainsGiveTheSameBits) {
  const std::vector<std::string> followers = {"Relu(@)",
                                              "LeakyRelu<alpha=0.5>(@)",
                                              "LeakyRelu<alpha=-0.25>(@)",
                                              "Clip(@, low, high)",
                                              "Clip(@, nothing, half)",
                                              "Clip(@, low)",
                                              "Add(@, b)",
                                              "Add(b, @)",
                                              "Add(@, s)",
                                              "Mul(@, b)",
                                              "Sigmoid(@)",
                                              "Add(@, x)",
                                              "Conv(@, v)",
                                              "Sub(@, b)",
                                              "Max(@, b)"};
  test::Draws draws(9);
  for (int round = 0; round < 60; ++round) {
    std::string nodes = "b = Conv(x, v) a0 = Conv<pads=[1,1,1,1]>(x, w) ";
    const int64_t count = draws.integer(1, 7);
    for (int64_t i = 0; i < count; ++i) {
      std::string call = draws.one_of(followers);
      call.replace(call.find('@'), 1, cat("a", i));
      nodes += cat("a", i + 1, " = ", call, " ");
    }
    nodes += cat("y = Identity(a", count, ")");
    SCOPED_TRACE(nodes);
    expect_same_apart(fusion_model({"", nodes.c_str(), 0}), fusion_inputs(ElementType::kFloat));
  }
}

}  // namespace
}  // namespace quarkq::exec
