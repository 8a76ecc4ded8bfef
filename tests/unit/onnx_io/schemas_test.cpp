// SPDX-License-Identifier: MIT
// What operators' schemas say: counts of inputs and outputs, defaults of attributes, bodies made of other operators.
#include <set>

#include "io_test_support.h"
#include "ir/check_graph.h"
#include "onnx_io/schemas.h"
#include "support/run_op.h"

namespace quarkq::onnx_io {
namespace {

struct Counted {
  const char *op, *domain;
  int64_t opset, min_inputs, max_inputs, min_outputs, max_outputs;
};

class ArityTest : public ::testing::TestWithParam<Counted> {};
INSTANTIATE_TEST_SUITE_P(Operators, ArityTest,
                         ::testing::Values(Counted{"Relu", "", 13, 1, 1, 1, 1}, Counted{"Conv", "", 11, 2, 3, 1, 1},
                                           Counted{"Clip", "", 6, 1, 1, 1, 1}, Counted{"Clip", "", 11, 1, 3, 1, 1},
                                           Counted{"Dropout", "", 13, 1, 3, 1, 2},
                                           Counted{"BatchNormalization", "", 15, 5, 5, 1, 3},
                                           Counted{"Squeeze", "", 11, 1, 1, 1, 1},
                                           Counted{"Squeeze", "", 13, 1, 2, 1, 1},
                                           Counted{"Resize", "", 10, 2, 2, 1, 1}, Counted{"LSTM", "", 14, 3, 8, 0, 3}));

TEST_P(ArityTest, IsThatOfTheOpset) {
  const Counted& row = GetParam();
  SCOPED_TRACE(cat(row.op, " of opset ", row.opset));
  const std::optional<Arity> found = arity_of(row.op, row.domain, row.opset);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->min_inputs, row.min_inputs);
  EXPECT_EQ(found->max_inputs, row.max_inputs);
  EXPECT_EQ(found->min_outputs, row.min_outputs);
  EXPECT_EQ(found->max_outputs, row.max_outputs);
}

TEST(ArityOfOthersTest, VariadicOperatorsTakeManyAndUnknownOnesSayNothing) {
  const std::optional<Arity> concat = arity_of("Concat", "", 13);
  ASSERT_TRUE(concat.has_value());
  EXPECT_EQ(concat->min_inputs, 1);
  EXPECT_GT(concat->max_inputs, 1000);
  EXPECT_FALSE(arity_of("NoSuchOperator", "", 13).has_value());
  EXPECT_FALSE(arity_of("Relu", "of.somebody", 1).has_value());
  EXPECT_FALSE(arity_of("Gelu", "", 13).has_value()) << "Gelu came with opset 20";
  EXPECT_TRUE(arity_of("Gelu", "", 20).has_value());
}

TEST(SchemaDefaultsTest, AreThoseOfTheOpset) {
  const auto named = [](const std::string& op, int64_t opset) {
    std::map<std::string, ir::AttributeValue> found;
    for (const ir::Attribute& attribute : default_attributes(op, "", opset)) found[attribute.name] = attribute.value;
    return found;
  };
  EXPECT_EQ(std::get<float>(named("LeakyRelu", 16).at("alpha")), 0.01f);
  EXPECT_EQ(std::get<int64_t>(named("Softmax", 11).at("axis")), 1);
  EXPECT_EQ(std::get<int64_t>(named("Softmax", 13).at("axis")), -1);
  EXPECT_EQ(std::get<std::string>(named("Conv", 11).at("auto_pad")), "NOTSET");
  EXPECT_EQ(std::get<int64_t>(named("Gemm", 13).at("transB")), 0);
  EXPECT_FALSE(named("Conv", 11).contains("kernel_shape")) << "it has no default";
  EXPECT_FALSE(named("Conv", 11).contains("strides")) << "its default depends on the rank";
  EXPECT_TRUE(named("NoSuchOperator", 13).empty());
  EXPECT_TRUE(named("Relu", 13).empty());
}

/// The body of the first node of a model whose inputs have these values.
Result<std::shared_ptr<const ir::Model>> body_of(const ir::Model& model, const std::vector<ir::Tensor>& inputs) {
  std::vector<ir::Operand> operands(inputs.begin(), inputs.end());
  std::vector<const ir::Operand*> pointers;
  for (const ir::Operand& operand : operands) pointers.push_back(&operand);
  return function_body(model.graph, model.graph.order()[0], model.opsets, pointers);
}

TEST(FunctionBodyTest, IsMadeOfOtherOperators) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 18]>
    g (float[2,3] x) => (float[2,3] y) { y = Mish (x) })");
  const auto body = body_of(model, {test::floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(body.ok()) << body.status().message();
  ASSERT_NE(body.value(), nullptr);
  const ir::Graph& graph = body.value()->graph;
  EXPECT_EQ(ir::verify(graph).message(), "");
  EXPECT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.outputs().size(), 1u);
  std::multiset<std::string> ops;
  for (const ir::NodeId id : graph.order()) ops.insert(graph.node(id).op);
  EXPECT_EQ(ops, (std::multiset<std::string>{"Softplus", "Tanh", "Mul"}));
}

/// Attributes that the node leaves out are those of the schema.
TEST(FunctionBodyTest, HasTheAttributesOfTheNodeAndTheDefaults) {
  for (const auto& [given, expected] : {std::pair("<alpha = 0.25>", 0.25f), std::pair("", 1.0f)}) {
    const ir::Model model = parsed(cat("<ir_version: 8, opset_import: [\"\" : 18]> g (float[2] x) => (float[2] y) { ",
                                       "y = Celu ", given, " (x) }"));
    const auto body = body_of(model, {test::floats({2}, {1, 2})});
    ASSERT_TRUE(body.ok() && body.value() != nullptr) << body.status().message();
    bool is_found = false;
    for (const ir::NodeId id : body.value()->graph.order()) {
      const ir::Node& node = body.value()->graph.node(id);
      if (node.op != "Constant") continue;
      for (const ir::Attribute& attribute : node.attributes) {
        if (const auto* tensor = std::get_if<ir::Tensor>(&attribute.value))
          is_found = is_found || test::values(*tensor)[0] == static_cast<double>(expected);
        if (const auto* number = std::get_if<float>(&attribute.value)) is_found = is_found || *number == expected;
      }
    }
    for (const ir::ValueId id : body.value()->graph.initializers())
      is_found = is_found || test::values(*body.value()->graph.value(id).constant)[0] == static_cast<double>(expected);
    EXPECT_TRUE(is_found) << ir::dump(body.value()->graph);
  }
}

TEST(FunctionBodyTest, PrimitiveAndUnknownOperatorsHaveNone) {
  for (const char* op : {"Add", "of.somebody.Add"}) {
    const ir::Model model = parsed(cat("<ir_version: 8, opset_import: [\"\" : 18, \"of.somebody\" : 1]> ",
                                       "g (float[2] x) => (float[2] y) { y = ", op, " (x, x) }"));
    const ir::Tensor x = test::floats({2}, {1, 2});
    const auto body = body_of(model, {x, x});
    ASSERT_TRUE(body.ok()) << body.status().message();
    EXPECT_EQ(body.value(), nullptr) << op;
  }
}

/// Bodies that depend on types are made for those of the inputs.
TEST(FunctionBodyTest, DependsOnTheTypesOfItsInputs) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 18]>
    g (float[2] x, float low, float high) => (float[2] y) { y = Clip (x, low, high) })");
  for (const ElementType type : {ElementType::kFloat, ElementType::kDouble, ElementType::kInt32}) {
    const ir::Tensor x = test::as_type(test::floats({2}, {1, 2}), type);
    const ir::Tensor limit = test::as_type(test::floats({}, {1}), type);
    const auto body = body_of(model, {x, limit, limit});
    ASSERT_TRUE(body.ok() && body.value() != nullptr) << name(type);
    EXPECT_EQ(body.value()->graph.value(body.value()->graph.inputs()[0]).type.element, type);
  }
}

}  // namespace
}  // namespace quarkq::onnx_io
