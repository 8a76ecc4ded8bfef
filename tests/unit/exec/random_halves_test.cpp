// SPDX-License-Identifier: MIT
// Random graphs in float16: computed as what the float32 graph computes, up to the rounding of stored values, and
// converted by the pass to a float32 graph that computes the same.
#include <cmath>

#include "support/pass_support.h"
#include "support/random_graph.h"

namespace quarkq::pass_tests {
namespace {

class RandomHalvesTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(graph_.grow()) << graph_.failure();
    graph_.close();
    half_ = graph_.model();
    ir::GraphEdit edit(half_.graph);
    for (const ir::ValueId id : std::vector<ir::ValueId>(half_.graph.initializers())) {
      const ir::Tensor& stored = *half_.graph.value(id).constant;
      if (stored.type() == ElementType::kFloat) edit.set_constant(id, test::as_type(stored, ElementType::kFloat16));
    }
    for (const auto* list : {&half_.graph.inputs(), &half_.graph.outputs()}) {
      for (const ir::ValueId id : *list) edit.mutable_value(id).type.element = ElementType::kFloat16;
    }
    Diagnostics ignored;
    ASSERT_TRUE(onnx_io::infer_types(half_, ignored).ok());
  }
  void expect_close(const ir::Model& model, const ir::Tensor& input, ElementType type) {
    exec::Session session(model, {}, {});
    const auto found = session.run(std::vector{input});
    ASSERT_TRUE(found.ok()) << found.status().message();
    for (size_t i = 0; i < found.value()->size(); ++i) {
      const ir::Tensor &result = (*found.value())[i], &exact = graph_.result(graph_.model().graph.outputs()[i]);
      SCOPED_TRACE(graph_.model().graph.value(graph_.model().graph.outputs()[i]).name);
      EXPECT_EQ(result.type(), type);
      ASSERT_EQ(result.dims(), exact.dims());
      const std::vector<double> a = test::values(exact), b = test::values(result);
      double largest = 1, worst = 0;
      for (size_t k = 0; k < a.size(); ++k) {
        largest = std::max(largest, std::fabs(a[k]));
        worst = std::max(worst, std::fabs(a[k] - b[k]));
      }
      EXPECT_LE(worst, 0.02 * largest) << "a few roundings to 11 bits, that convolutions add up";
    }
  }

  test::RandomGraph graph_{GetParam()};
  ir::Model half_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomHalvesTest, ::testing::Range(600u, 608u));

TEST_P(RandomHalvesTest, ComputesWhatTheFloatGraphComputes) {
  expect_close(half_, test::as_type(graph_.input(), ElementType::kFloat16), ElementType::kFloat16);
}

TEST_P(RandomHalvesTest, TheConvertedGraphComputesItInFloat32) {
  test::PassBench bench(half_);
  EXPECT_TRUE(bench.run(convert_fp16_to_fp32));
  for (const ir::ValueId id : bench.graph().initializers()) {
    EXPECT_NE(bench.graph().value(id).constant->type(), ElementType::kFloat16) << bench.graph().value(id).name;
  }
  expect_close(bench.model, graph_.input(), ElementType::kFloat);
  EXPECT_FALSE(bench.run(convert_fp16_to_fp32));
}

}  // namespace
}  // namespace quarkq::pass_tests
