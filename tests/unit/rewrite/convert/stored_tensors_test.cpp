// SPDX-License-Identifier: MIT
// replace-infinities and weight-histograms.
#include <limits>

#include "numeric/element_type.h"
#include "support/convert_bench.h"

namespace quarkq {
namespace {

using test::ConvertBench;

/// y = x + w, with `values` in w of this type.
ConvertBench* bench_with(ElementType type, const std::vector<double>& values) {
  ir::Model model = test::model_of("g (float[4] x) => (float[4] y) <float[4] w = {0, 0, 0, 0}> { y = Add (x, w) }");
  ir::Tensor tensor = ir::Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (type == ElementType::kFloat) tensor.mutable_data<float>()[i] = value;
    if (type == ElementType::kDouble) tensor.mutable_data<double>()[i] = values[i];
    if (type == ElementType::kFloat16) tensor.mutable_data<uint16_t>()[i] = float16_from_float(value);
    if (type == ElementType::kBFloat16) tensor.mutable_data<uint16_t>()[i] = bfloat16_from_float(value);
  }
  ir::GraphEdit edit(model.graph);
  const ir::ValueId unread = edit.add_initializer("v", std::move(tensor));
  edit.add_node({"Identity", "", "", {unread}, {edit.add_value("u")}});
  return new ConvertBench(std::move(model));
}

TEST(ReplaceInfinitiesTest, InEveryFloatType) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    const std::unique_ptr<ConvertBench> bench(bench_with(type, {infinity, -infinity, 2, -4}));
    EXPECT_EQ(bench->run("replace-infinities:value=512"), 2U) << name(type);
    EXPECT_EQ(bench->numbers_of("Identity", 0), (std::vector<double>{512, -512, 2, -4})) << name(type);
    test::expect_unchanged(*bench, "replace-infinities:value=512");
  }
}

TEST(ReplaceInfinitiesTest, TheTypeLimitsTheValue) {
  const std::unique_ptr<ConvertBench> bench(
      bench_with(ElementType::kFloat16, {std::numeric_limits<double>::infinity(), 1, 1, 1}));
  EXPECT_EQ(bench->run("replace-infinities:value=1e9"), 1U);
  EXPECT_EQ(bench->numbers_of("Identity", 0)[0], 65504);
}

TEST(ReplaceInfinitiesTest, ConstantNodesToo) {
  ConvertBench bench("g (float[1] x) => (float[1] y) { c = Constant <value_float = 3.0> () y = Add (x, c) }");
  for (const ir::NodeId id : bench.model.graph.order()) {
    ir::Node& node = ir::GraphEdit(bench.model.graph).node(id);
    if (node.op != "Constant") continue;
    node.attributes.clear();
    node.set("value_float", -std::numeric_limits<float>::infinity());
  }
  EXPECT_EQ(bench.run("replace-infinities"), 1U);
  EXPECT_EQ(bench.node("Constant").float_or("value_float", 0), -10000.0f);
}

TEST(ReplaceInfinitiesTest, ValuesThatAreNoneAreRefused) {
  const std::unique_ptr<ConvertBench> bench(bench_with(ElementType::kFloat, {1, 2, 3, 4}));
  for (const char* step : {"replace-infinities:value=0", "replace-infinities:value=-3", "replace-infinities:value=inf",
                           "replace-infinities:value=many"})
    bench->refusal(step, Code::kInvalidArgument);
}

TEST(WeightHistogramsTest, ACsvAndAPictureForEachTensor) {
  ConvertBench bench(
      "g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {0, 1, 2, 4}, float[2] b = {1, 1}> { a = Add (x, "
      "w) y = Add (a, b) }");
  EXPECT_TRUE(ir::GraphEdit(bench.model.graph).rename(bench.graph().find("w"), "layer.w"));
  const std::string before = ir::dump(bench.model);
  EXPECT_EQ(bench.run("weight-histograms:folder=out"), 2U);
  EXPECT_EQ(ir::dump(bench.model), before);
  ASSERT_EQ(bench.files.size(), 4U);
  EXPECT_EQ(bench.files[0].path, "out/layer_w.csv");
  EXPECT_EQ(bench.files[1].path, "out/layer_w.svg");
  const std::vector<std::string> lines = split(bench.files[0].content, '\n');
  EXPECT_EQ(lines[0], "low,high,count");
  EXPECT_EQ(lines[1], "0,0.03125,1");
  EXPECT_EQ(lines[128], "3.96875,4,1") << "the last bin holds the largest value";
  EXPECT_TRUE(bench.files[1].content.starts_with("<svg"));
  EXPECT_NE(bench.files[2].content.find(",2\n"), std::string::npos) << "one bin for equal values";
}

TEST(WeightHistogramsTest, ExtremesOfChannels) {
  ConvertBench bench("g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {0, 1, -2, 4}> { y = Add (x, w) }");
  EXPECT_EQ(bench.run("weight-histograms:folder=out,per_channel=true"), 1U);
  ASSERT_EQ(bench.files.size(), 4U);
  EXPECT_EQ(bench.files[2].path, "out/w_per_channel.csv");
  EXPECT_EQ(bench.files[2].content, "channel,min,max\n0,0,1\n1,-2,4\n");
}

TEST(WeightHistogramsTest, NamesThatMeetGetNumbers) {
  ConvertBench bench(
      "g (float[2] x) => (float[2] y) <float[2] u = {0, 1}, float[2] v = {2, 3}> { t = Add (x, u) y = Add (t, "
      "v) "
      "}");
  EXPECT_TRUE(ir::GraphEdit(bench.model.graph).rename(bench.graph().find("u"), "a.b"));
  EXPECT_TRUE(ir::GraphEdit(bench.model.graph).rename(bench.graph().find("v"), "a:b"));
  bench.run("weight-histograms:folder=out");
  ASSERT_EQ(bench.files.size(), 4U);
  EXPECT_EQ(bench.files[0].path, "out/a_b.csv");
  EXPECT_EQ(bench.files[2].path, "out/a_b_1.csv");
}

TEST(WeightHistogramsTest, TheFolderHasToBeGiven) {
  ConvertBench bench("g (float[2] x) => (float[2] y) { y = Neg (x) }");
  EXPECT_NE(bench.refusal("weight-histograms", Code::kInvalidArgument).find("folder is missing"), std::string::npos);
}

}  // namespace
}  // namespace quarkq
