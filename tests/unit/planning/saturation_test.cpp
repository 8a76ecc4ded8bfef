// SPDX-License-Identifier: MIT
#include "planning/calibrate/measured_ranges.h"

#include "support/pass_support.h"

namespace quarkq::planning {
namespace {

std::optional<numeric::Range> useful(const std::string& body, const std::string& name) {
  const ir::Model model = test::model_of(body);
  const auto ranges = ranges_before_saturation(model.graph);
  for (const ir::ValueId id : model.graph.inputs()) EXPECT_FALSE(ranges[static_cast<size_t>(id.index)]);
  for (const ir::NodeId id : model.graph.order()) {
    for (const ir::ValueId output : model.graph.node(id).outputs)
      if (model.graph.value(output).name == name) return ranges[static_cast<size_t>(output.index)];
  }
  ADD_FAILURE() << name << " is made by no node";
  return {};
}

std::string after_relu(const std::string& nodes) {
  return cat("g (float[2,8] x) => (float[2,8] y) <int64[1] all = {-1}, int64[2] parts = {4, 4}> { r = Neg (x) ", nodes,
             " }");
}

TEST(SaturationTest, SigmoidAndTanhEndTheRange) {
  const auto sigmoid = useful(after_relu("y = Sigmoid (r)"), "r"), tanh = useful(after_relu("y = Tanh (r)"), "r");
  ASSERT_TRUE(sigmoid && tanh);
  EXPECT_FLOAT_EQ(sigmoid->min, -7.9f);
  EXPECT_FLOAT_EQ(sigmoid->max, 7.9f);
  EXPECT_FLOAT_EQ(tanh->max, 3.95f);
}

TEST(SaturationTest, HardSigmoidIsExact) {
  const auto range = useful(after_relu("y = HardSigmoid <alpha = 0.25, beta = 0.25> (r)"), "r");
  ASSERT_TRUE(range);
  EXPECT_FLOAT_EQ(range->min, -1);
  EXPECT_FLOAT_EQ(range->max, 3);
  EXPECT_FALSE(useful(after_relu("y = HardSigmoid <alpha = -0.25> (r)"), "r"));
}

TEST(SaturationTest, ValuesMayMoveOnTheirWay) {
  const std::string nodes =
      "a, b = Split <axis = 1> (r, parts) s = Sigmoid (a) t = Tanh (b) y = Concat <axis = 1> (s, t)";
  const auto whole = useful(after_relu(nodes), "r"), half = useful(after_relu(nodes), "b");
  ASSERT_TRUE(whole && half);
  EXPECT_FLOAT_EQ(whole->max, 7.9f);  // the wider one of both
  EXPECT_FLOAT_EQ(half->max, 3.95f);
}

TEST(SaturationTest, OtherReadersNeedAllValues) {
  for (const char* nodes :
       {"s = Sigmoid (r) y = Mul (s, r)",  // SiLU
        "a, b = Split <axis = 1> (r, parts) s = Sigmoid (a) y = Concat <axis = 1> (s, b)", "y = Relu (r)"}) {
    EXPECT_FALSE(useful(after_relu(nodes), "r")) << nodes;
  }
  EXPECT_FALSE(useful("g (float[2,8] x) => (float[2,8] r, float[2,8] y) { r = Neg (x) y = Sigmoid (r) }", "r"));
}

}  // namespace
}  // namespace quarkq::planning
