// SPDX-License-Identifier: MIT
// What cannot be one program: shapes that depend on data, control flow, sequences, operators without a kernel.
#include <gtest/gtest.h>

#include <map>

#include "exec/session.h"
#include "onnx_io/text.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

ir::Model staged_model(const std::string& text, int opset = 17) {
  Result<ir::Model> model =
      onnx_io::parse_model_text(cat("<ir_version: 8, opset_import: [\"\" : ", opset, "]>\n", text));
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(model).value();
}

Tensor floats(ir::Shape dims, std::vector<float> values) { return Tensor::from<float>(std::move(dims), values); }
Tensor longs(std::vector<int64_t> values) {
  return Tensor::from<int64_t>({static_cast<int64_t>(values.size())}, values);
}
Tensor truth(bool value) {
  Tensor tensor = Tensor::zeros(ElementType::kBool, {});
  tensor.mutable_data<uint8_t>()[0] = value;
  return tensor;
}

std::vector<float> values_of(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

/// Runs `session` and gives its first output.
Tensor first_of(Session& session, const std::vector<Tensor>& inputs, TapSink* sink = nullptr) {
  const auto results = session.run(inputs, sink);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? (*results.value())[0] : Tensor();
}

std::string error_of(const ir::Model& model, const std::vector<Tensor>& inputs) {
  Session session(model, {}, {});
  const auto results = session.run(inputs);
  EXPECT_FALSE(results.ok());
  return results.ok() ? "" : results.status().message();
}

class Listener : public TapSink {
 public:
  Status on_value(ir::ValueId value, const TensorView& view) override {
    observed[value].push_back(view.count);
    return Status();
  }
  std::map<ir::ValueId, std::vector<int64_t>> observed;
};

constexpr const char kSelected[] = R"(
selected (float[n] x) => (float[m] y)
<int64[1] flat = {-1}>
{
  places = NonZero(x)
  indices = Reshape(places, flat)
  taken = Gather(x, indices)
  doubled = Add(taken, taken)
  y = Neg(doubled)
})";

TEST(StagesTest, GoOnBehindAShapeThatDependsOnData) {
  const ir::Model model = staged_model(kSelected);
  Session session(model, {}, {});
  EXPECT_EQ(values_of(first_of(session, {floats({4}, {0, 3, 0, 5})})), (std::vector<float>{-6, -10}));
  EXPECT_EQ(values_of(first_of(session, {floats({4}, {1, 0, 0, 0})})), (std::vector<float>{-2}));
  EXPECT_EQ(values_of(first_of(session, {floats({4}, {0, 0, 0, 0})})), (std::vector<float>{}));
  EXPECT_EQ(values_of(first_of(session, {floats({2}, {4, 4})})), (std::vector<float>{-8, -8}));
}

TEST(StagesTest, TapsOfEveryStageAreHeardOnce) {
  const ir::Model model = staged_model(kSelected);
  SessionOptions options;
  options.fetches = model.graph.outputs();
  for (const char* name : {"x", "places", "taken", "doubled", "y"}) options.taps.push_back(model.graph.find(name));
  Session session(model, {}, options);
  Listener listener;
  first_of(session, {floats({4}, {0, 3, 0, 5})}, &listener);
  ASSERT_EQ(listener.observed.size(), 5u);
  for (const auto& [value, counts] : listener.observed) {
    EXPECT_EQ(counts, std::vector<int64_t>{value == model.graph.find("x") ? 4 : 2}) << value.index;
  }
}

constexpr const char kBranches[] = R"(
branches (bool c, float[2] x) => (float[2] y)
<float[2] one = {1, 1}>
{
  z = Add(x, one)
  y = If(c) <then_branch = then () => (t) { t = Add(z, one) }, else_branch = other () => (z) {}>
})";

TEST(StagesTest, IfRunsTheBranchOfEachRun) {
  const ir::Model model = staged_model(kBranches);
  Session session(model, {}, {});
  EXPECT_EQ(values_of(first_of(session, {truth(true), floats({2}, {1, 2})})), (std::vector<float>{3, 4}));
  EXPECT_EQ(values_of(first_of(session, {truth(false), floats({2}, {1, 2})})), (std::vector<float>{2, 3}));
}

TEST(StagesTest, NestedGraphsReadValuesOfAllGraphsAround) {
  const ir::Model model = staged_model(R"(
nest (bool c, float[2] x) => (float[2] y)
{
  a = Neg(x)
  y = If(c) <
    then_branch = outer () => (t) {
      b = Neg(a)
      t = If(c) <then_branch = inner () => (s) { s = Mul(a, b) }, else_branch = other () => (r) { r = Neg(b) }>
    },
    else_branch = last () => (q) { q = Neg(a) }>
})");
  Session session(model, {}, {});
  EXPECT_EQ(values_of(first_of(session, {truth(true), floats({2}, {1, 2})})), (std::vector<float>{-1, -4}));
}

/// Nested graphs are part of a float16 graph that is computed in float32: their outputs are not rounded between.
TEST(StagesTest, NestedGraphsOfAFloat16GraphStayInFloat32) {
  const ir::Model model = staged_model(R"(
halves (bool c, float16[2] x) => (float16[2] y)
{
  a = Add(x, x)
  b = If(c) <
    then_branch = then () => (float16[2] t) { m = Mul(a, x) t = Cast<to=10>(m) },
    else_branch = other () => (float16[2] u) { u = Neg(a) }>
  y = Add(a, b)
})");
  Session session(model, {}, {});
  Tensor x = Tensor::allocate(ElementType::kFloat16, {2});
  x.mutable_data<uint16_t>()[0] = 0x3C00;  // 1
  x.mutable_data<uint16_t>()[1] = 0x4000;  // 2
  const Tensor y = first_of(session, {truth(true), x});
  ASSERT_EQ(y.type(), ElementType::kFloat16);
  EXPECT_EQ(y.data<uint16_t>()[0], 0x4400);  // 2 + 2 = 4
  EXPECT_EQ(y.data<uint16_t>()[1], 0x4A00);  // 4 + 8 = 12
}

constexpr const char kLoop[] = R"(
loop (int64 trips, float[1] x) => (float[n] last, float[m,k] all)
<bool go = {1}>
{
  last, all = Loop(trips, go, x) <body = step (int64 i, bool c, float[n] v) => (bool d, float[n] w, float[n] u) {
    d = Identity(c)
    w = Add(v, v)
    u = Identity(w)
  }>
})";

TEST(StagesTest, LoopCarriesAndCollects) {
  const ir::Model model = staged_model(kLoop);
  Session session(model, {}, {});
  const auto results = session.run(std::vector<Tensor>{Tensor::scalar(int64_t{3}), floats({1}, {1})});
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(values_of((*results.value())[0]), (std::vector<float>{8}));
  EXPECT_EQ(values_of((*results.value())[1]), (std::vector<float>{2, 4, 8}));
  EXPECT_EQ((*results.value())[1].dims(), (ir::Shape{3, 1}));
}

TEST(StagesTest, LoopWithoutAnIterationGivesEmptyOutputs) {
  const ir::Model model = staged_model(kLoop);
  Session session(model, {}, {});
  const auto results = session.run(std::vector<Tensor>{Tensor::scalar(int64_t{0}), floats({1}, {1})});
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(values_of((*results.value())[0]), (std::vector<float>{1}));
  EXPECT_EQ((*results.value())[1].size(), 0);
}

TEST(StagesTest, LoopKeepsASequenceThatGrows) {
  const ir::Model model = staged_model(R"(
grow (int64 trips, float[1] x) => (float[n] y)
<bool go = {1}>
{
  empty = SequenceEmpty()
  all = Loop(trips, go, empty) <body = step (int64 i, bool c, seq(float[n]) s) => (bool d, seq(float[n]) t) {
    d = Identity(c)
    t = SequenceInsert(s, x)
  }>
  y = ConcatFromSequence<axis=0>(all)
})");
  Session session(model, {}, {});
  const std::vector<Tensor> inputs = {Tensor::scalar(int64_t{3}), floats({1}, {7})};
  EXPECT_EQ(values_of(first_of(session, inputs)), (std::vector<float>{7, 7, 7}));
}

TEST(StagesTest, SequencesComeInAndGoOut) {
  const ir::Model model = staged_model("turn (seq(float[n]) s) => (seq(float[n]) t) { t = Identity(s) }");
  Session session(model, {}, {});
  const auto out =
      session.run_operands(std::vector<ir::Operand>{ir::Operand::of_sequence({floats({1}, {1}), floats({2}, {2, 3})})});
  ASSERT_TRUE(out.ok()) << out.status().message();
  ASSERT_TRUE((*out.value())[0].is_sequence());
  EXPECT_EQ(values_of((*out.value())[0].sequence[1]), (std::vector<float>{2, 3}));
  EXPECT_NE(error_of(staged_model("seq (float[2] x) => (seq(float[2]) s) { s = SequenceConstruct(x) }"),
                     {floats({2}, {1, 2})})
                .find("not a tensor"),
            std::string::npos);
}

TEST(StagesTest, AnOperatorWithoutKernelRunsThroughItsBody) {
  const ir::Model model = staged_model("window (int64 n) => (float[m] y) { y = HannWindow<periodic=0>(n) }");
  Session session(model, {}, {});
  const Tensor window = first_of(session, {Tensor::scalar(int64_t{5})});
  ASSERT_EQ(window.dims(), (ir::Shape{5}));
  EXPECT_NEAR(window.data<float>()[1], 0.5f, 1e-6);
  EXPECT_NEAR(window.data<float>()[2], 1.0f, 1e-6);
}

TEST(StagesTest, ABodyMayHaveConstantInputsOnly) {
  const ir::Model model = staged_model(
      "window (float[m] x) => (float[m] y) <int64 n = {5}> { w = HannWindow<periodic=0>(n) y = Add(w, x) }");
  Session session(model, {}, {});
  const Tensor sum = first_of(session, {floats({5}, {0, 1, 0, 0, 0})});
  ASSERT_EQ(sum.dims(), (ir::Shape{5}));
  EXPECT_NEAR(sum.data<float>()[1], 1.5f, 1e-6);
}

struct BadCase {
  const char* what;
  const char* text;
  std::vector<Tensor> inputs;
  const char* expected;
};

TEST(StagesTest, WrongGraphsAreErrorsThatNameTheNode) {
  const BadCase cases[] = {
      {"condition of another type",
       "a (float c) => (y) { y = If(c) <then_branch = t () => (p) { p = Neg(c) }, "
       "else_branch = e () => (q) { q = Neg(c) }> }",
       {floats({}, {1})},
       "allowed: BOOL"},
      {"condition with two elements",
       "a (bool[2] c, float x) => (y) { y = If(c) <then_branch = t () => (p) "
       "{ p = Neg(x) }, else_branch = e () => (q) { q = Neg(x) }> }",
       {Tensor::zeros(ElementType::kBool, {2}), floats({}, {1})},
       "has 2 elements"},
      {"no branch", "a (bool c) => (y) { y = If(c) }", {truth(true)}, "then_branch"},
      {"body with too few inputs",
       "a (int64 n, float x) => (y) { y = Loop(n, , x) <body = b (int64 i) => (c) "
       "{ c = Cast<to=9>(i) }> }",
       {Tensor::scalar(int64_t{1}), floats({}, {1})},
       "the body has 1 inputs"},
      {"body without a condition",
       "a (int64 n, float x) => (y) { y = Loop(n, , x) <body = b (int64 i, bool c, "
       "float v) => (v, c) {}> }",
       {Tensor::scalar(int64_t{1}), floats({}, {1})},
       "not a BOOL scalar"},
      {"position outside",
       "a (float[1] x, int64 i) => (y) { s = SequenceConstruct(x) y = SequenceAt(s, i) }",
       {floats({1}, {1}), Tensor::scalar(int64_t{1})},
       "position 1"},
      {"elements that do not fit",
       "a (float[1] x, float[1,1] z) => (y) { s = SequenceConstruct(x, z) "
       "y = ConcatFromSequence<axis=0>(s) }",
       {floats({1}, {1}), floats({1, 1}, {1})},
       "do not fit"},
      {"a sequence for a tensor",
       "a (float[1] x) => (y) { s = SequenceConstruct(x) y = Neg(s) }",
       {floats({1}, {1})},
       "is a sequence"},
      {"split that does not add up",
       "a (float[3] x, int64[2] n) => (y) { s = SplitToSequence(x, n) "
       "y = ConcatFromSequence<axis=0>(s) }",
       {floats({3}, {1, 2, 3}), longs({1, 1})},
       "add up to 3"},
      {"scan lengths that differ",
       "a (float[2] x, float[3] z) => (y) { y = Scan<num_scan_inputs=2, body = b (float p, "
       "float q) => (r) { r = Add(p, q) }>(x, z) }",
       {floats({2}, {1, 2}), floats({3}, {1, 2, 3})},
       "lengths 2 and 3"},
  };
  for (const BadCase& bad : cases) {
    const std::string message = error_of(staged_model(bad.text), bad.inputs);
    EXPECT_NE(message.find(bad.expected), std::string::npos) << bad.what << ": " << message;
    EXPECT_NE(message.find("node "), std::string::npos) << bad.what << ": " << message;
  }
}

}  // namespace
}  // namespace quarkq::exec
