// SPDX-License-Identifier: MIT
// The compiler end to end on small graphs: layouts, fusion, taps, in-place memory, folding, data-dependent shapes,
// errors.
#include "exec/compile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exec/session.h"
#include "onnx_io/text.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

ir::Model model_of(const std::string& body) {
  Result<ir::Model> model = onnx_io::parse_model_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + body);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(model).value();
}

Tensor ramp(ir::Shape dims, float step = 0.25f) {
  Tensor tensor = Tensor::allocate(ElementType::kFloat, std::move(dims));
  int i = 0;
  for (float& value : tensor.mutable_data<float>()) value = std::sin(step * static_cast<float>(i++));
  return tensor;
}

std::vector<Tensor> run(const ir::Model& model, const std::vector<Tensor>& inputs, TapSink* sink = nullptr,
                        std::vector<ir::ValueId> taps = {}) {
  Session session(model, {}, {model.graph.outputs(), std::move(taps)});
  Result<const std::vector<Tensor>*> results = session.run(inputs, sink);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? *results.value() : std::vector<Tensor>();
}

class Recorder : public TapSink {
 public:
  Status on_value(ir::ValueId value, const TensorView& view) override {
    double sum = 0;
    const auto* data = reinterpret_cast<const float*>(view.data);
    for (int64_t i = 0; i < view.count; ++i) sum += data[i];
    sums[value] = sum;
    counts[value] += 1;
    return Status();
  }
  std::map<ir::ValueId, double> sums;
  std::map<ir::ValueId, int> counts;
};

constexpr const char kResidual[] = R"(
residual (float[1,4,6,6] x, float[4,4,3,3] w) => (float[1,4,6,6] y)
{
  a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w)
  b = Relu(a)
  c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(b, w)
  d = Add(c, b)
  y = Relu(d)
})";

/// Convolutions with more channels, whose pixels share sets of the cache, compute in another layout.
constexpr const char kManyChannels[] = R"(
many (float[1,1024,3,12] x, float[8,1024,3,3] w, float[1,8,3,12] r) => (float[1,8,3,12] y)
{
  a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w)
  b = Relu(a)
  c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w)
  d = Add(c, r)
  e = Relu(d)
  y = Add(b, e)
})";

TEST(CompileTest, FusionChangesNoBits) {
  struct Row {
    const char* body;
    std::vector<Tensor> inputs;
    std::vector<const char*> taps;  ///< a tapped value is never fused away
  };
  const Row rows[] = {{kResidual, {ramp({1, 4, 6, 6}), ramp({4, 4, 3, 3}, 0.7f)}, {"a", "c", "d"}},
                      {kManyChannels,
                       {ramp({1, 1024, 3, 12}), ramp({8, 1024, 3, 3}, 0.7f), ramp({1, 8, 3, 12})},
                       {"a", "b", "c", "d", "e"}}};
  for (const Row& row : rows) {
    const ir::Model model = model_of(row.body);
    const std::vector<Tensor> fused = run(model, row.inputs);
    std::vector<ir::ValueId> taps;
    for (const char* name : row.taps) taps.push_back(model.graph.find(name));
    Recorder recorder;
    const std::vector<Tensor> apart = run(model, row.inputs, &recorder, taps);
    ASSERT_EQ(fused.size(), 1u);
    EXPECT_TRUE(fused[0].same_as(apart[0]));
    EXPECT_EQ(recorder.counts.size(), row.taps.size());
  }
}

TEST(CompileTest, FusesReluAndResidualSum) {
  const ir::Model model = model_of(kResidual);
  const std::vector<Tensor> inputs = {ramp({1, 4, 6, 6}), ramp({4, 4, 3, 3}, 0.7f)};
  CompileRequest request;
  for (size_t i = 0; i < 2; ++i)
    request.feeds.push_back({model.graph.inputs()[i], ElementType::kFloat, inputs[i].dims()});
  request.fetches = model.graph.outputs();
  Result<Compiled> program = compile(model.graph, model.opsets, request);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program.value().program.text().find("(Relu)"), std::string::npos) << program.value().program.text();
  EXPECT_EQ(program.value().program.text().find("(Add)"), std::string::npos) << program.value().program.text();
}

TEST(CompileTest, SecondRunGivesTheSameBytes) {
  const ir::Model model = model_of(kResidual);
  const std::vector<Tensor> inputs = {ramp({1, 4, 6, 6}), ramp({4, 4, 3, 3}, 0.7f)};
  Session session(model, {}, {});
  const Tensor first = (*session.run(inputs).value())[0];
  const Tensor second = (*session.run(inputs).value())[0];
  EXPECT_TRUE(first.same_as(second));
}

TEST(CompileTest, ResultsThatSomebodyHoldsAreNotOverwritten) {
  const ir::Model model = model_of(
      "two (float[4] x) => (float[4] y, float[2,2] z) <int64[2] s = {2, 2}> "
      "{ y = Exp(x) z = Reshape(y, s) }");
  Session session(model, {}, {});
  const std::vector<Tensor> held = *session.run(std::vector<Tensor>{ramp({4})}).value();
  const Tensor before = Tensor::from<float>({4}, held[0].data<float>());
  // The results of one run may be the inputs of the next.
  const std::vector<Tensor> next = *session.run(std::vector<Tensor>{held[0]}).value();
  EXPECT_TRUE(held[0].same_as(before));
  EXPECT_TRUE(held[1].reshaped({4}).same_as(before));
  EXPECT_FLOAT_EQ(next[0].data<float>()[1], std::exp(before.data<float>()[1]));
  EXPECT_TRUE(next[1].reshaped({4}).same_as(next[0]));
}

TEST(CompileTest, TapsHearTrueValuesBesideInPlaceMemory) {
  const ir::Model model = model_of(R"(
chain (float[1,8] x) => (float[8] z)
<int64[1] shape = {8}>
{
  a = Exp(x)
  b = Neg(a)
  c = Reshape(b, shape)
  z = Relu(c)
})");
  const Tensor x = ramp({1, 8});
  double exp_sum = 0;
  for (const float value : x.data<float>()) exp_sum += std::exp(static_cast<double>(value));
  Recorder recorder;
  std::vector<ir::ValueId> taps;
  for (const char* name : {"x", "a", "b", "c"}) taps.push_back(model.graph.find(name));
  run(model, {x}, &recorder, taps);
  EXPECT_NEAR(recorder.sums[model.graph.find("a")], exp_sum, 1e-4);
  EXPECT_NEAR(recorder.sums[model.graph.find("b")], -exp_sum, 1e-4);
  EXPECT_NEAR(recorder.sums[model.graph.find("c")], -exp_sum, 1e-4);
  EXPECT_EQ(recorder.counts[model.graph.find("x")], 1);
}

TEST(CompileTest, AnInputReadTwiceIsNotWrittenOver) {
  struct Row {
    const char* node;
    float expected;  ///< of b = -1 and c = 2
  };
  for (const Row& row : {Row{"Sum(b, c, b)", 0}, Row{"Sum(b, c, c, b)", 2}, Row{"Mean(b, c, b)", 0},
                         Row{"Min(b, c, b)", -1}, Row{"Add(b, b)", -2}, Row{"PRelu(b, b)", 1}}) {
    const ir::Model model =
        model_of(cat("g (float[8] x) => (float[8] y) { b = Neg(x) c = Add(x, x) y = ", row.node, " }"));
    const std::vector<Tensor> found = run(model, {Tensor::from<float>({8}, std::vector<float>(8, 1.0f))});
    ASSERT_EQ(found.size(), 1u);
    for (const float value : found[0].data<float>()) EXPECT_EQ(value, row.expected) << row.node;
  }
}

TEST(CompileTest, RunsShapesThatDependOnData) {
  const ir::Model model = model_of(R"(
nonzero (float[6] x) => (float[n] y, int64[1,n] where)
<int64[1] axes = {0}>
{
  where = NonZero(x)
  flat = Squeeze(where, axes)
  picked = Gather(x, flat)
  y = Neg(picked)
})");
  const Tensor x = Tensor::from<float>({6}, std::vector<float>{0, 2, 0, 3, 5, 0});
  const std::vector<Tensor> results = run(model, {x});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].same_as(Tensor::from<float>({3}, std::vector<float>{-2, -3, -5})));
  EXPECT_TRUE(results[1].same_as(Tensor::from<int64_t>({1, 3}, std::vector<int64_t>{1, 3, 4})));
}

TEST(CompileTest, KnowsShapesWhileCompiling) {
  const ir::Model model = model_of(R"(
flatten (float[n,4] x) => (float[m] y)
<int64[1] minus_one = {-1}, int64[1] zero = {0}>
{
  dims = Shape(x)
  first = Gather<axis=0>(dims, zero)
  target = Concat<axis=0>(first, minus_one)
  square = Reshape(x, target)
  y = Neg(square)
})");
  CompileRequest request;
  request.feeds.push_back({model.graph.inputs()[0], ElementType::kFloat, {3, 4}});
  request.fetches = model.graph.outputs();
  Result<Compiled> program = compile(model.graph, model.opsets, request);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program.value().program.step_count(), 1u) << program.value().program.text();
  EXPECT_TRUE(program.value().deferred.empty());
}

TEST(CompileTest, RecompilesForANewShape) {
  const ir::Model model = model_of("twice (float[n,3] x) => (float[n,3] y) { y = Add(x, x) }");
  Session session(model, {}, {});
  for (const int64_t n : {2, 5, 2}) {
    const Result<const std::vector<Tensor>*> results = session.run(std::vector<Tensor>{ramp({n, 3})});
    ASSERT_TRUE(results.ok());
    EXPECT_EQ((*results.value())[0].dims(), (ir::Shape{n, 3}));
  }
}

TEST(CompileTest, FetchesConstantsAndInputs) {
  const ir::Model model = model_of(
      "pass (float[2] x) => (float[2] x, float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { y = Add(a, b) }");
  const std::vector<Tensor> results = run(model, {Tensor::from<float>({2}, std::vector<float>{7, 8})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].same_as(Tensor::from<float>({2}, std::vector<float>{7, 8})));
  EXPECT_TRUE(results[1].same_as(Tensor::from<float>({2}, std::vector<float>{4, 6})));
}

TEST(CompileTest, NamesTheNodeThatDoesNotFit) {
  const ir::Model model = model_of("bad (float[2,3] x, float[4] z) => (float[2,3] y) { y = Add(x, z) }");
  Session session(model, {}, {});
  const auto results = session.run(std::vector<Tensor>{ramp({2, 3}), ramp({4})});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.status().code(), Code::kCorruptModel);
  EXPECT_NE(results.status().message().find("(Add)"), std::string::npos) << results.status().message();
}

TEST(CompileTest, RefusesWhatNeedsTooMuchMemory) {
  const ir::Model model = model_of("twice (float[n,3] x) => (float[n,3] y) { a = Exp(x) y = Add(a, x) }");
  Session session(model, {}, {{}, {}, {.memory = 1024}});
  const auto results = session.run(std::vector<Tensor>{ramp({1000, 3})});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.status().code(), Code::kResource);
}

TEST(CompileTest, RefusesAnOperatorWithoutKernel) {
  const ir::Model model = model_of("odd (float[2] x) => (float[2] y) { y = StringNormalizer(x) }");
  Session session(model, {}, {});
  const auto results = session.run(std::vector<Tensor>{ramp({2})});
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.status().code(), Code::kUnsupported);
  EXPECT_NE(results.status().message().find("StringNormalizer"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::exec
