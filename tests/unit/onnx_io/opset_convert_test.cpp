// SPDX-License-Identifier: MIT
#include "onnx_io/opset_convert.h"

#include "io_test_support.h"
#include "ir/check_graph.h"
#include "ir/dump.h"
#include "ir/edit.h"
#include "ir/traversal.h"

namespace quarkq::onnx_io {
namespace {

ir::Model converted(const ir::Model& model, int64_t target) {
  Result<ir::Model> result = convert_opset(model, target);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (!result.ok()) return {};
  EXPECT_EQ(ir::verify(result.value().graph).message(), "");
  EXPECT_EQ(result.value().opset(), target);
  return std::move(result).value();
}

const ir::Node* find_op(const ir::Graph& graph, const std::string& op) {
  for (const ir::NodeId id : graph.order()) {
    if (graph.node(id).op == op) return &graph.node(id);
  }
  return nullptr;
}

std::string upsample_model(int opset, const char* mode) {
  const std::string call = opset < 9 ? cat("y = Upsample <mode = \"", mode, "\", scales = [1.0, 1.0, 2.0, 2.0]> (x)")
                                     : cat("y = Upsample <mode = \"", mode, "\"> (x, s)");
  return cat("<ir_version: 4, opset_import: [\"\" : ", opset, "]> g (float[1,2,3,3] x) => (float[1,2,6,6] y) ",
             opset < 9 ? "" : "<float[4] s = {1, 1, 2, 2}>", " {", call, "}");
}

TEST(OpsetConvertTest, TurnsUpsampleIntoAsymmetricResize) {
  for (const int from : {7, 9}) {
    for (const int to : {11, 13, 17}) {
      for (const char* mode : {"nearest", "linear"}) {
        SCOPED_TRACE(cat(from, " to ", to, " ", mode));
        const ir::Model model = converted(parsed(upsample_model(from, mode)), to);
        const ir::Node* resize = find_op(model.graph, "Resize");
        ASSERT_NE(resize, nullptr);
        EXPECT_EQ(resize->string_or("coordinate_transformation_mode", ""), "asymmetric");
        EXPECT_EQ(resize->string_or("mode", ""), mode);
        EXPECT_EQ(resize->string_or("nearest_mode", "unset"), std::string(mode) == "nearest" ? "floor" : "unset");
        EXPECT_EQ(resize->input(1).valid(), to < 13);
        const ir::Tensor* scales = model.graph.constant(resize->input(2));
        ASSERT_NE(scales, nullptr);
        EXPECT_EQ(scales->data<float>()[3], 2.0f);
        EXPECT_EQ(resize->origins, std::vector<ir::NodeId>{ir::NodeId{0}});
      }
    }
  }
}

TEST(OpsetConvertTest, ConvertsUpsampleTo10) {
  const ir::Model model = converted(parsed(upsample_model(9, "nearest")), 10);
  const ir::Node* resize = find_op(model.graph, "Resize");
  ASSERT_NE(resize, nullptr);
  EXPECT_EQ(resize->inputs.size(), 2u);
  EXPECT_EQ(resize->find("coordinate_transformation_mode"), nullptr);
}

TEST(OpsetConvertTest, MakesEmptyResizeInputsAbsent) {
  ir::Model model = parsed(R"(<ir_version: 6, opset_import: ["" : 11]>
    g (float[1,2,3,3] x) => (float[1,2,6,6] y) <int64[4] size = {1, 2, 6, 6}> {
      y = Resize <mode = "linear"> (x, roi, scales, size) roi = Relu(x) scales = Relu(x) })");
  ir::GraphEdit edit(model.graph);
  const ir::NodeId resize = find_op(model.graph, "Resize")->id;
  for (const size_t index : {size_t{1}, size_t{2}}) {
    const ir::Tensor empty = ir::Tensor::zeros(ElementType::kFloat, {0});
    edit.set_input(resize, index, edit.add_initializer(cat("empty", index), empty));
  }
  edit.remove_dead();
  const ir::Model result = converted(model, 17);
  const ir::Node* found = find_op(result.graph, "Resize");
  ASSERT_NE(found, nullptr);
  EXPECT_FALSE(found->input(1).valid());
  EXPECT_FALSE(found->input(2).valid());
  EXPECT_TRUE(found->input(3).valid());
  EXPECT_EQ(found->find("coordinate_transformation_mode"), nullptr);
}

TEST(OpsetConvertTest, CarriesNamesRestsAndWeightsOver) {
  ir::Model model = parsed(R"(<ir_version: 3, opset_import: ["" : 7], producer_name: "tests">
    old (float[1,3,4,4] x, float[40,3,3,3] w, float[40] b) => (float[1,40,2,2] y)
    <float[1,40,2,2] c> {
      c = Conv (x, w, b)
      r = Relu (c)
      y = Softmax <axis = 1> (r)
    })");
  ir::GraphEdit edit(model.graph);
  ir::Tensor weights = ir::Tensor::zeros(ElementType::kFloat, {40, 3, 3, 3});
  weights.mutable_data<float>()[1079] = 3.0f;
  edit.set_constant(model.graph.find("w"), weights);
  edit.set_constant(model.graph.find("b"), ir::Tensor::zeros(ElementType::kFloat, {40}));
  edit.node(model.graph.order()[0]).name = "the_conv";
  edit.node(model.graph.order()[0]).extra = bytes(6, "doc of conv");
  edit.node(model.graph.order()[2]).name = "the_softmax";
  edit.mutable_value(model.graph.find("w")).tensor_extra = bytes(12, "doc of w");
  model.extra = bytes(6, "doc of model");
  model.graph.extra = bytes(10, "doc of graph");
  for (const int64_t target : {10, 13, 17}) {
    SCOPED_TRACE(target);
    const ir::Model result = converted(model, target);
    const ir::Graph& graph = result.graph;
    EXPECT_EQ(result.ir_version, 3);
    EXPECT_EQ(result.producer_name, "tests");
    EXPECT_EQ(result.extra, model.extra);
    EXPECT_EQ(graph.extra, model.graph.extra);
    EXPECT_EQ(graph.inputs().size(), 3u);
    EXPECT_EQ(graph.required_inputs(), std::vector<ir::ValueId>{graph.find("x")});
    const ir::Value& w = graph.value(graph.find("w"));
    EXPECT_EQ(w.constant->raw(), weights.raw());  // shared, not copied
    EXPECT_EQ(w.tensor_extra, bytes(12, "doc of w"));
    const ir::Node* conv = find_op(graph, "Conv");
    EXPECT_EQ(conv->name, "the_conv");
    EXPECT_EQ(conv->extra, bytes(6, "doc of conv"));
    EXPECT_EQ(find_op(graph, "Softmax")->name, "the_softmax");
    EXPECT_TRUE(graph.value(graph.find("c")).has_info);
    for (const ir::NodeId id : graph.order()) EXPECT_FALSE(graph.node(id).origins.empty()) << graph.label(id);
  }
}

TEST(OpsetConvertTest, KeepsLargeConstantNodes) {
  ir::Model model = parsed(R"(<ir_version: 6, opset_import: ["" : 11]>
    g (float[2000] x) => (float[2000] y) { c = Neg(x)  y = Add(x, c) })");
  ir::GraphEdit edit(model.graph);
  const ir::ValueId value = model.graph.find("c");
  edit.remove_node(model.graph.order()[0]);
  ir::NodeSpec constant{.op = "Constant", .domain = "", .name = "large", .inputs = {}, .outputs = {value}};
  constant.attributes = {{"value", ir::Tensor::zeros(ElementType::kFloat, {2000}), {}, {}}};
  edit.add_node(std::move(constant), model.graph.order()[0]);
  const ir::Model result = converted(model, 13);
  EXPECT_EQ(ir::dump(result.graph, {.values = false}), ir::dump(model.graph, {.values = false}));
}

struct Lowered {
  const char* name;
  int from, to;
  const char *body, *op;
  std::vector<int64_t> axes;  ///< of attribute `axes` or `split`; empty: the node has neither
};

/// The library's adapters read an absent input here, or take the stored list for an empty one.
TEST(OpsetConvertTest, TurnsStoredListsIntoAttributes) {
  const Lowered rows[] = {
      {"stored",
       18,
       17,
       "g (float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceMean (x, a) }",
       "ReduceMean",
       {1}},
      {"constant node",
       18,
       13,
       "g (float[2,3] x) => (float[1,3] y) { a = Constant <value_ints = [0]> ()  y = ReduceMax (x, a) }",
       "ReduceMax",
       {0}},
      {"absent", 18, 17, "g (float[2,3] x) => (float[1,1] y) { y = ReduceMean (x) }", "ReduceMean", {}},
      {"empty",
       18,
       17,
       "g (float[2,3] x) => (float[1,1] y) <int64[0] a = {}> { y = ReduceMean (x, a) }",
       "ReduceMean",
       {}},
      {"noop",
       18,
       17,
       "g (float[2,3] x) => (float[2,3] y) { y = ReduceMean <noop_with_empty_axes = 1> (x) }",
       "Identity",
       {}},
      {"sum", 13, 12, "g (float[2,3] x) => (float[1,1] y) { y = ReduceSum (x) }", "ReduceSum", {}},
      {"squeeze", 13, 12, "g (float[2,1] x) => (float[2] y) { y = Squeeze (x) }", "Squeeze", {}},
      {"unsqueeze",
       17,
       11,
       "g (float[2] x) => (float[1,2] y) <int64[1] a = {0}> { y = Unsqueeze (x, a) }",
       "Unsqueeze",
       {0}},
      {"unequal parts",
       18,
       12,
       "g (float[5] x) => (float[3] y, float[2] z) { y, z = Split <num_outputs = 2> (x) }",
       "Split",
       {3, 2}},
      {"equal parts",
       18,
       17,
       "g (float[6] x) => (float[3] y, float[3] z) { y, z = Split <num_outputs = 2> (x) }",
       "Split",
       {}},
      {"compatible", 18, 11, "g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }", "Relu", {}},
  };
  for (const Lowered& row : rows) {
    SCOPED_TRACE(row.name);
    const ir::Model result =
        converted(parsed(cat("<ir_version: 8, opset_import: [\"\" : ", row.from, "]> ", row.body)), row.to);
    const ir::Node* node = find_op(result.graph, row.op);
    ASSERT_NE(node, nullptr);
    EXPECT_FALSE(node->input(1).valid());
    const char* name = std::string(row.op) == "Split" ? "split" : "axes";
    const auto* axes = node->get<std::vector<int64_t>>(name);
    EXPECT_EQ(axes == nullptr ? std::vector<int64_t>{} : *axes, row.axes);
    EXPECT_TRUE(node->domain.empty());
  }
}

TEST(OpsetConvertTest, TakesOutputsWithoutAShape) {
  ir::Model model =
      parsed(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu (x) })");
  ir::GraphEdit(model.graph).set_type(model.graph.outputs()[0], {ElementType::kFloat, false, {}, {}});
  const ir::Model result = converted(model, 18);
  EXPECT_FALSE(result.graph.value(result.graph.outputs()[0]).type.has_shape);
}

/// As in exports of recognizers with an LSTM. The length of x is known after loading only.
TEST(OpsetConvertTest, CorrectsTheShapeOfAnOutputThatTheFileDeclaresWrongly) {
  ir::Model model = parsed(
      "<ir_version: 6, opset_import: [\"\" : 12]> g (float[N, 3] x) => (float[1, M] y) <int64 i = {0}, int64[2] "
      "rest = {1, 3}> { s = Shape (x) n = Gather (s, i) u = Unsqueeze <axes = [0]> (n) c = Concat <axis = 0> (u, "
      "rest) y = Reshape (x, c) }");
  const ir::ValueId x = model.graph.find("x");
  ir::ValueType type = model.graph.value(x).type;
  type.dims[0] = {2, {}};
  ir::GraphEdit(model.graph).set_type(x, type);
  const ir::Model raised = converted(model, 17);
  EXPECT_EQ(ir::dims_text(raised.graph.value(raised.graph.find("y")).type.dims), "[2,1,3]");
}

TEST(OpsetConvertTest, ConvertsInsideOfBranches) {
  const ir::Model model = parsed(R"(<ir_version: 8, opset_import: ["" : 18]>
    g (float[2,3] x, bool c) => (float[1,1] y) {
      y = If (c) <then_branch = t () => (float[1,1] r) { r = ReduceMean (x) },
                  else_branch = e () => (float[1,1] s) { s = ReduceMax (x) }> })");
  const ir::Model result = converted(model, 13);
  const ir::Node* branches = find_op(result.graph, "If");
  ASSERT_NE(branches, nullptr);
  EXPECT_EQ(ir::nested_graphs(*branches).size(), 2u);
}

TEST(OpsetConvertTest, ReturnsTheSameModelForTheSameOpset) {
  const ir::Model model = parsed(upsample_model(9, "nearest"));
  EXPECT_EQ(full_dump(converted(model, 9)), full_dump(model));
}

struct Refused {
  const char* name;
  int from, to;
  const char *body, *said;
};

/// The library's assertions quote its sources: operator and reason stay, places and conditions do not.
TEST(OpsetConvertTest, RefusalsAreAboutTheModel) {
  const Refused rows[] = {
      {"by an adapter", 8, 7,
       "g (float[1,1,4,4] x) => (float[1,1,3,3] y, int64[1,1,3,3] i) { y, i = MaxPool <kernel_shape = [2, 2]> (x) }",
       "maxpool: Opset version 7 of MaxPool cannot include Indices output"},
      {"newer than the opset", 12, 11, "g (float[2,3] x) => (float[2,3] y) { y = Celu (x) }",
       "No Previous Version of Celu exists"},
      {"without an adapter", 13, 10,
       "g (float[2,3] x) => (float[4,3] y) <int64[4] p = {1, 0, 1, 0}> { y = Pad (x, p) }", "for Pad"},
      {"computed axes", 18, 17, "g (float[2,3] x, int64[1] a) => (float[2,1] y) { y = ReduceMean (x, a) }",
       "node y (ReduceMean): input a is computed, the opset needs a stored list"},
      {"noop that is none", 18, 17,
       "g (float[2,3] x) => (float[2,3] y) { y = ReduceL1 <noop_with_empty_axes = 1> (x) }",
       "node y (ReduceL1): noop_with_empty_axes without axes has no counterpart"},
      {"along another axis", 13, 12, "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 0> (x) }",
       "node y (Softmax): the opset has no counterpart along axis 0"},
      {"newer value", 19, 17,
       "g (float[4] x) => (float[6] y) <int64[2] p = {1, 1}> { y = Pad <mode = \"wrap\"> (x, p) }",
       "node y (Pad): mode = wrap needs opset 19"},
      {"newer meaning", 28, 27, "g (float[4] x) => (float[4] y) { y = Mod (x, x) }",
       "node y (Mod): fmod = 0 of FLOAT needs opset 28"},
      {"newer operator", 28, 27, "g (float[4] x) => (float[4] y) { y = SwiGLU (x, x) }",
       "No Previous Version of SwiGLU exists"},
      {"newer attribute", 25, 24,
       "g (float[1,1,2,4] q) => (float[1,1,2,4] y) { y = Attention <left_window_size = 1> (q, q, q) }", "Attention"},
  };
  for (const Refused& row : rows) {
    const ir::Model model = parsed(cat("<ir_version: 4, opset_import: [\"\" : ", row.from, "]> ", row.body));
    const Result<ir::Model> result = convert_opset(model, row.to);
    const std::string said = result.ok() ? "taken" : result.status().message();
    EXPECT_NE(said.find(row.said), std::string::npos) << row.name << ": " << said;
    for (const char* quoted : {".cc:", ".h:", "Assertion", "`", "adapt_"})
      EXPECT_EQ(said.find(quoted), std::string::npos) << row.name << ": " << said;
    EXPECT_TRUE(said.starts_with(cat("conversion from opset ", row.from, " to ", row.to, ": "))) << said;
  }
}

TEST(OpsetConvertTest, RefusesWhatCannotBe) {
  const ir::Model model = parsed(upsample_model(9, "nearest"));
  EXPECT_EQ(convert_opset(model, 99).status().code(), Code::kUnsupported);
  const ir::Model unknown = parsed(R"(<ir_version: 8, opset_import: ["" : 11]>
    g (float[2] x) => (float[2] y) { y = NoSuchOp(x) })");
  const Result<ir::Model> result = convert_opset(unknown, 13);
  EXPECT_EQ(result.status().code(), Code::kCorruptModel);
  EXPECT_NE(result.status().message().find("from opset 11 to 13"), std::string::npos) << result.status().message();
}

}  // namespace
}  // namespace quarkq::onnx_io
