// SPDX-License-Identifier: MIT
// What a load makes equal: functions, order, sparse tensors, stored shapes, names that occur twice.
#include <gtest/gtest.h>

#include "io_test_support.h"
#include "onnx_io/check_model.h"
#include "onnx_io/load.h"

namespace quarkq::onnx_io {
namespace {

std::vector<std::string> operators(const ir::Graph& graph) {
  std::vector<std::string> found;
  for (const ir::NodeId id : graph.order()) found.push_back(graph.node(id).op);
  return found;
}

std::vector<std::string> ids(const LoadReport& report) {
  std::vector<std::string> found;
  for (const Diagnostic& one : report.findings.all()) found.push_back(one.id);
  return found;
}

using Names = std::vector<std::string>;

struct FunctionRow {
  const char *name, *text;
  Names operators;
};

TEST(NormalizeTest, ExpandsFunctions) {
  const FunctionRow rows[] = {
      {"nested",
       R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]> g (float[2] x) => (float[2] y) { y = p.outer(x) }
        <domain: "p", opset_import: ["" : 17, "p" : 1]> outer (a) => (b) { t = p.inner(a)  b = Neg(t) }
        <domain: "p", opset_import: ["" : 17]> inner (a) => (b) { b = Abs(a) })",
       {"Abs", "Neg"}},
      {"named like an operator",
       R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]>
        g (float[2] x) => (float[2] y) { y = p.Relu(x) }
        <domain: "p", opset_import: ["" : 17]> Relu (a) => (b) { b = Abs(a) })",
       {"Abs"}},
      {"hidden by an operator",
       R"(<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }
        <domain: "", opset_import: ["" : 17]> Relu (a) => (b) { b = Abs(a) })",
       {"Relu"}},
      {"another opset with the same operator",
       R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]>
        g (float[2] x) => (float[2] y) { y = p.f(x) } <domain: "p", opset_import: ["" : 13]> f (a) => (b) { b = Relu(a) })",
       {"Relu"}},
      {"another version of its own domain",
       R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]>
        g (float[2] x) => (float[2] y) { y = p.f(x) }
        <domain: "p", opset_import: ["" : 17, "p" : 2]> f (a) => (b) { b = p.h(a) }
        <domain: "p", opset_import: ["" : 17]> h (a) => (b) { b = Neg(a) })",
       {"Neg"}},
      {"an input handed out",
       R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]>
        g (float[2] x) => (float[2] y) { z, y = p.f(x) }
        <domain: "p", opset_import: ["" : 17]> f (a) => (b, a) { b = Neg(a) })",
       {"Neg", "Identity"}},
      {"an absent optional input",
       R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]>
        g (float[2] x, float m) => (float[2] y) { y = p.f(x, , m) }
        <domain: "p", opset_import: ["" : 17]> f (a, low, high) => (b) { b = Clip(a, low, high) })",
       {"Clip"}},
  };
  for (const FunctionRow& row : rows) {
    SCOPED_TRACE(row.name);
    const ir::Model model = parsed(row.text);
    EXPECT_EQ(operators(model.graph), row.operators);
    EXPECT_EQ(check_model(model).message(), "");
    EXPECT_EQ(model.opset("p"), 0);
    EXPECT_EQ(to_bytes(model).find("inner"), std::string::npos);
  }
}

TEST(NormalizeTest, BindsAttributesOfFunctions) {
  const ir::Model model = parsed(R"(<ir_version: 9, opset_import: ["" : 17, "p" : 1]>
    g (float[2] x) => (float[2] z) { y = p.f <alpha = 0.25> (x)  z = p.f (y) }
    <domain: "p", opset_import: ["" : 17]> f <alpha: float = 0.5> (a) => (b) { b = LeakyRelu <alpha: float = @alpha> (a) })");
  ASSERT_EQ(operators(model.graph), (Names{"LeakyRelu", "LeakyRelu"}));
  EXPECT_EQ(model.graph.node(model.graph.order()[0]).float_or("alpha", 0), 0.25f);
  EXPECT_EQ(model.graph.node(model.graph.order()[1]).float_or("alpha", 0), 0.5f);
}

TEST(NormalizeTest, AddsTheImportsOfFunctions) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]>
    g (float[2] x) => (float[2] y) { y = p.f(x) }
    <domain: "p", opset_import: ["com.microsoft" : 1]> f (a) => (b) { b = com.microsoft.Gelu(a) })");
  EXPECT_EQ(model.opset("com.microsoft"), 1);
}

TEST(NormalizeTest, RefusesFunctionsOfAnotherOpset) {
  const Result<ir::Model> model = parse_model_text(R"(<ir_version: 8, opset_import: ["" : 17, "p" : 1]>
    g (float[2] x) => (float[1] y) { y = p.f(x) }
    <domain: "p", opset_import: ["" : 11]> f (a) => (b) { b = ReduceSum <axes = [0]> (a) })");
  EXPECT_EQ(model.status().code(), Code::kUnsupported);
  EXPECT_NE(model.status().message().find(
                "function p::f imports opset 11 of ai.onnx, the model opset 17, and operator ReduceSum"),
            std::string::npos)
      << model.status().message();
}

std::string float_info(const std::string& name, const std::vector<int>& dims) {
  std::string shape;
  for (const int dim : dims) shape += bytes(1, number(1, static_cast<uint64_t>(dim)));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape)));
}

std::string sparse(const std::string& values, const std::string& indices, const std::vector<int>& dims) {
  std::string message = bytes(1, values) + bytes(2, indices);
  for (const int dim : dims) message += number(3, static_cast<uint64_t>(dim));
  return message;
}

std::string int64s(const std::vector<uint64_t>& numbers, const std::vector<uint64_t>& dims) {
  std::string message;
  for (const uint64_t dim : dims) message += number(1, dim);
  message += number(2, 7);
  for (const uint64_t one : numbers) message += number(7, one);
  return message;
}

std::string two_floats() { return tensor("w", bytes(9, std::string("\0\0\x80\x3f\0\0\0\x40", 8)), 1, 2); }

Result<ir::Model> with_sparse(const std::string& stored, LoadReport* report = nullptr) {
  const std::string graph = bytes(2, "g") + bytes(11, float_info("x", {2, 3})) +
                            bytes(1, node("Add", {"x", "w"}, "y")) + bytes(12, float_info("y", {2, 3})) +
                            bytes(15, stored);
  return load_bytes(model_around(graph), "sparse", report);
}

TEST(NormalizeTest, MakesSparseInitializersDense) {
  const std::string forms[] = {sparse(two_floats(), int64s({1, 5}, {2}), {2, 3}),
                               sparse(two_floats(), int64s({0, 1, 1, 2}, {2, 2}), {2, 3})};
  for (const std::string& form : forms) {
    LoadReport report;
    const Result<ir::Model> model = with_sparse(form, &report);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const ir::Graph& graph = model.value().graph;
    const auto& w = graph.value(graph.find("w")).constant;
    ASSERT_TRUE(w.has_value());
    const auto values = w->data<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), (std::vector<float>{0, 1, 0, 0, 0, 2}));
    EXPECT_EQ(ids(report), Names{"sparse-made-dense"});
    EXPECT_EQ(check_model(model.value()).message(), "");
  }
}

TEST(NormalizeTest, RefusesSparseTensorsThatDoNotFit) {
  struct Row {
    std::string form;
    Code code;
    const char* cause;
  };
  const Row rows[] = {
      {sparse(two_floats(), int64s({1, 6}, {2}), {2, 3}), Code::kCorruptModel, "sparse index 6"},
      {sparse(two_floats(), int64s({0, 1, 1, 3}, {2, 2}), {2, 3}), Code::kCorruptModel, "sparse index 3 of axis 1"},
      {sparse(two_floats(), int64s({1}, {1}), {2, 3}), Code::kCorruptModel, "sparse indices [1]"},
      {sparse(two_floats(), int64s({1, 5}, {2}), {1 << 20, 1 << 20}), Code::kResource, "its dense form may require"},
  };
  for (const Row& row : rows) {
    const Status status = with_sparse(row.form).status();
    EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(row.code)) << status.message();
    EXPECT_NE(status.message().find(row.cause), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("sparse initializer w"), std::string::npos) << status.message();
  }
}

/// x [2, 3] -> Neg -> t -> Abs -> y, with these stored shapes of t and y.
Result<ir::Model> with_shapes(const std::string& stored_t, const std::string& stored_y, LoadReport& report) {
  const std::string graph = bytes(2, "g") + bytes(11, float_info("x", {2, 3})) + bytes(1, node("Neg", {"x"}, "t")) +
                            bytes(1, node("Abs", {"t"}, "y")) + bytes(12, stored_y) + stored_t;
  return load_bytes(model_around(graph), "shapes", &report);
}

TEST(NormalizeTest, ReplacesStoredShapesThatContradictTheGraph) {
  struct Row {
    const char* name;
    std::string t, y;
    Names findings;
  };
  const Row rows[] = {
      {"true", bytes(13, float_info("t", {2, 3})), float_info("y", {2, 3}), {}},
      {"output", "", float_info("y", {2, 4}), {"value-info-fixed"}},
      {"output of another rank", "", float_info("y", {}), {"value-info-fixed"}},
      {"inner value", bytes(13, float_info("t", {2, 3, 7})), float_info("y", {2, 3}), {"value-info-fixed"}},
      {"both", bytes(13, float_info("t", {9})), float_info("y", {9}), {"value-info-fixed", "value-info-fixed"}},
      {"output without a type", "", bytes(1, "y"), {}},
      {"output without a shape", "", bytes(1, "y") + bytes(2, bytes(1, number(1, 1))), {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    LoadReport report;
    const Result<ir::Model> model = with_shapes(row.t, row.y, report);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(ids(report), row.findings);
    EXPECT_EQ(check_model(model.value()).message(), "");
    const ir::ValueType& type = model.value().graph.value(model.value().graph.find("y")).type;
    EXPECT_EQ(type.element, ElementType::kFloat);
    EXPECT_TRUE(!type.has_shape || type.shape() == (ir::Shape{2, 3}));
  }
}

TEST(NormalizeTest, TakesTheLastInitializerOfAName) {
  const std::string one = bytes(9, std::string("\0\0\x80\x3f", 4)), two = bytes(9, std::string("\0\0\0\x40", 4));
  const std::string graph = bytes(2, "g") + bytes(11, float_info("x", {2})) + bytes(1, node("Add", {"x", "w"}, "y")) +
                            bytes(12, float_info("y", {2})) + bytes(5, tensor("w", one, 1, 1)) +
                            bytes(5, tensor("w", two, 1, 1));
  LoadReport report;
  const Result<ir::Model> model = load_bytes(model_around(graph), "twice", &report);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value().graph.value(model.value().graph.find("w")).constant->data<float>()[0], 2.0f);
  EXPECT_EQ(ids(report), Names{"initializer-stored-twice"});
}

TEST(NormalizeTest, KeepsAnOutputThatIsListedTwice) {
  const std::string graph = bytes(2, "g") + bytes(11, float_info("x", {2})) + bytes(1, node("Neg", {"x"}, "y")) +
                            bytes(12, float_info("y", {2})) + bytes(12, float_info("y", {2}));
  const Result<ir::Model> model = load_bytes(model_around(graph), "twice");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model.value().graph.outputs().size(), 2u);
  EXPECT_EQ(check_model(model.value()).message(), "");
}

TEST(NormalizeTest, AcceptsOperatorsThatOnlyOnnxRuntimeKnows) {
  const char* models[] = {
      R"(<ir_version: 7, opset_import: ["" : 13]> g (float[2,4] x) => (float[2,4] y) <float[4] s = {1, 1, 1, 1}>
         { y = LayerNormalization <axis = -1> (x, s) })",
      R"(<ir_version: 7, opset_import: ["" : 13]> g (float[2,4] x) => (float[2,4] y) <float[4] s = {1, 1, 1, 1}>
         { y = SimplifiedLayerNormalization <axis = -1> (x, s) })",
      R"(<ir_version: 8, opset_import: ["" : 18]> g (float[1,4,2] x) => (float[1,4,2] y) <float[2] s = {1, 1}, float[2] b = {0, 0}>
         { y = GroupNormalization <num_groups = 2> (x, s, b) })",
      R"(<ir_version: 7, opset_import: ["" : 13]> g (float[4] x) => (float[4] y) { y = com.microsoft.Gelu (x) })",
      R"(<ir_version: 4, opset_import: ["" : 8]> g (float[4] x) => (float[2,2] y)
         { s = Constant <value = int64[2] {2, 2}> ()  y = Reshape (x, s) })",
  };
  for (const char* text : models) EXPECT_EQ(check_model(parsed(text)).message(), "") << text;
}

}  // namespace
}  // namespace quarkq::onnx_io
