// SPDX-License-Identifier: MIT
// inspect(): its report on float models, pairs, stored constants and block formats, whichever program wrote them.
#include "quarkq/inspect.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "onnx_io/save.h"
#include "pipeline/report/inspect_quantized.h"
#include "support/pass_support.h"
#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

InspectReport inspected(const ir::Model& model) {
  const test::TempFolder folder;
  const std::string path = folder / "m.onnx";
  EXPECT_TRUE(onnx_io::save(model, path).ok());
  const Result<InspectReport> report = inspect(path);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? report.value() : InspectReport{};
}

TEST(InspectTest, TellsWhatAFloatModelIs) {
  ir::Model model = test::model_of(
      "g (float[N, 3] x, int64[2] s) => (float[M, K] y) <float[3] w = {1, 2, 3}> "
      "{ a = Add (x, w) b = Relu (a) c = Relu (b) y = Reshape (c, s) }");
  model.producer_name = "someone";
  model.producer_version = "1.2";
  const InspectReport report = inspected(model);
  EXPECT_EQ(report.ir_version, 8);
  EXPECT_EQ(report.opsets, (std::vector<std::pair<std::string, int64_t>>{{"ai.onnx", 17}}));
  EXPECT_EQ(report.producer_name, "someone");
  ASSERT_EQ(report.inputs.size(), 2u);
  EXPECT_EQ(report.inputs[0].type, "FLOAT[N,3]");
  EXPECT_EQ(report.inputs[1].type, "INT64[2]");
  EXPECT_EQ(report.outputs[0].name, "y");
  EXPECT_EQ(report.ops, (std::map<std::string, int>{{"Add", 1}, {"Relu", 2}, {"Reshape", 1}}));
  EXPECT_EQ(report.nodes, 4u);
  EXPECT_EQ(report.parameter_tensors, 1u);
  EXPECT_EQ(report.parameters, 3u);
  EXPECT_EQ(report.parameter_bytes, 12u);
  EXPECT_GT(report.file_bytes, 12u);
  EXPECT_TRUE(report.quantized.empty());
  EXPECT_TRUE(report.qdq_domains.empty());
}

constexpr const char* kInspected = R"(g (float[1, 2] x) => (float[1, 2] y)
  <float s = {0.25}, uint8 z = {128}, float odd = {0.3}, int8[2, 2] w = {1, 2, 3, 4}, float[2] ws = {0.5, 0.125},
   int8[2] wz = {0, 0}, int32[2] b = {7, 8}, float bs = {0.01}, int32 bz = {0}> {
    xq = QuantizeLinear (x, s, z)
    xd = DequantizeLinear (xq, s, z)
    wd = DequantizeLinear <axis = 0> (w, ws, wz)
    bd = DequantizeLinear (b, bs, bz)
    h = Gemm (xd, wd, bd)
    hq = QuantizeLinear (h, odd, z)
    hd = DequantizeLinear (hq, odd, z)
    hq2 = QuantizeLinear (h, odd, z)
    hd2 = DequantizeLinear (hq2, odd, z)
    y = Add (hd, hd2)
  })";

TEST(InspectTest, GroupsQuantizedTensorsByKindAndType) {
  const InspectReport report = inspected(test::model_of(kInspected));
  ASSERT_EQ(report.quantized.size(), 3u);
  const QuantizedGroup& activations = report.quantized[0];
  EXPECT_EQ(activations.kind + " " + activations.type, "activation UINT8");
  EXPECT_EQ(activations.tensors, 2u);  // h has two pairs
  EXPECT_EQ(activations.power_of_two, 1u);
  EXPECT_EQ(activations.min_position, 2);
  EXPECT_EQ(activations.max_position, 2);
  const QuantizedGroup& biases = report.quantized[1];
  EXPECT_EQ(biases.kind + " " + biases.type, "stored INT32");
  EXPECT_EQ(biases.power_of_two, 0u);
  const QuantizedGroup& weights = report.quantized[2];
  EXPECT_EQ(weights.kind + " " + weights.type, "stored INT8");
  EXPECT_EQ(weights.per_channel, 1u);
  EXPECT_EQ(weights.min_position, 1);
  EXPECT_EQ(weights.max_position, 3);
  EXPECT_EQ(report.qdq_domains, (std::map<std::string, int>{{"ai.onnx", 8}}));
}

TEST(InspectTest, KnowsOtherDomainsAndBlockFormats) {
  ir::Graph graph;
  ir::GraphEdit edit(graph);
  const ir::ValueId x = edit.add_value("x"), q = edit.add_value("q"), d = edit.add_value("d"), y = edit.add_value("y");
  edit.add_graph_input(x);
  edit.add_graph_output(y);
  const ir::ValueId scale = edit.add_initializer("s", ir::Tensor::scalar(2.0f));
  const ir::ValueId zero = edit.add_initializer("z", ir::Tensor::scalar<int16_t>(0));
  edit.add_node({"ExtendedQuantizeLinear", "com.amd.quark", "", {x, scale, zero}, {q}});
  edit.add_node({"ExtendedDequantizeLinear", "com.amd.quark", "", {q, scale, zero}, {d}});
  edit.add_node({"BFPQuantizeDequantize", "com.amd.quark", "", {d}, {y}});
  const std::vector<QuantizedGroup> groups = pipeline::group_quantized(pipeline::list_quantized(graph));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].type, "BFP16");
  EXPECT_EQ(groups[0].with_scale, 0u);
  EXPECT_EQ(groups[1].type, "INT16");
  EXPECT_EQ(groups[1].min_position, -1);
}

/// x -> op -> y, and what inspect says of it: "activation MX9".
std::vector<std::string> groups_of(ir::NodeSpec node, const std::map<std::string, ir::Tensor>& constants = {}) {
  ir::Graph graph;
  ir::GraphEdit edit(graph);
  const ir::ValueId x = edit.add_value("x"), y = edit.add_value("y");
  edit.add_graph_input(x);
  edit.add_graph_output(y);
  node.inputs = {x};
  for (const auto& [name, tensor] : constants) node.inputs.push_back(edit.add_initializer(name, tensor));
  node.outputs = {y};
  edit.add_node(std::move(node));
  std::vector<std::string> texts;
  for (const QuantizedGroup& group : pipeline::group_quantized(pipeline::list_quantized(graph)))
    texts.push_back(group.kind + " " + group.type);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(InspectTest, BlockFormatsHaveOneNameEverywhere) {
  const auto node = [](const char* op, std::vector<ir::Attribute> attributes) {
    return ir::NodeSpec{op, "com.amd.quark", "", {}, {}, std::move(attributes)};
  };
  const std::vector<ir::Attribute> prime = {{"bfp_method", "to_bfp_prime", {}, {}}, {"bit_width", int64_t{16}, {}, {}}};
  const std::vector<ir::Attribute> element = {{"element_dtype", "fp4_e2m1", {}, {}}};
  EXPECT_EQ(groups_of(node("BFPQuantizeDequantize", prime)), Texts{"activation MX9"});
  EXPECT_EQ(groups_of(node("BFPFixNeuron", {})), Texts{"activation BFP16"});
  EXPECT_EQ(groups_of(node("MXQuantizeDequantize", element)), Texts{"activation MXFP4_E2M1"});
  EXPECT_EQ(groups_of(node("MXFixNeuron", {})), Texts{"activation MXINT8"});
  const ir::Model model = test::model_of("g (float[2, 2] x) => (float[2, 2] y) { d = Neg (x) y = Relu (d) }");
  ir::Graph graph = model.graph;
  ir::GraphEdit edit(graph);
  edit.node(graph.order()[0]).op = "BFPQuantizeDequantize";
  edit.node(graph.order()[0]).attributes = prime;
  ASSERT_EQ(pipeline::node_types(graph).size(), 1u);
  EXPECT_EQ(pipeline::node_types(graph)[0].activation, "MX9");
}

TEST(InspectTest, KnowsWhatComputesWithIntegers) {
  const ir::Tensor weights = ir::Tensor::from<int8_t>({2, 2}, std::vector<int8_t>{1, 2, 3, 4});
  EXPECT_EQ(groups_of({"DynamicQuantizeLinear", "", "", {}, {}}), Texts{"activation UINT8"});
  EXPECT_EQ(groups_of({"MatMulInteger", "", "", {}, {}}, {{"w", weights}}), Texts{"stored INT8"});
  EXPECT_EQ(groups_of({"ConvInteger", "", "", {}, {}}, {{"w", weights}}), Texts{"stored INT8"});
  EXPECT_EQ(groups_of({"MatMulInteger", "", "", {}, {}}), Texts{});
  const ir::NodeSpec blocks{"MatMulNBits", "com.microsoft", "", {}, {}, {{"bits", int64_t{4}, {}, {}}}};
  const ir::Tensor packed = ir::Tensor::from<uint8_t>({2, 1, 8}, std::vector<uint8_t>(16));
  EXPECT_EQ(groups_of(blocks, {{"b", packed}}), Texts{"stored UINT4"});
  const InspectReport report =
      inspected(test::model_of("g (float[1, 2] x) => (int32[1, 2] y) <int8[2, 2] w = {1, 2, 3, 4}> "
                               "{ q, s, z = DynamicQuantizeLinear (x) y = MatMulInteger (q, w, z) }"));
  EXPECT_EQ(report.qdq_domains, (std::map<std::string, int>{{"ai.onnx", 2}}));
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["is_quantized"], true);
}

TEST(InspectTest, CountsNestedGraphs) {
  const InspectReport report = inspected(test::model_of(R"(g (bool c, float[2] x) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] a) { n = Neg (x) a = Relu (n) },
                 else_branch = e () => (float[2] b) { b = Identity (x) }>
  })"));
  EXPECT_EQ(report.nodes, 1u);
  EXPECT_EQ(report.nested_nodes, 3u);
}

TEST(InspectTest, JsonHoldsTheReport) {
  const auto parsed = nlohmann::ordered_json::parse(to_json(inspected(test::model_of(kInspected))));
  EXPECT_EQ(parsed.begin().key(), "quarkq");
  EXPECT_EQ(parsed["is_quantized"], true);
  EXPECT_EQ(parsed["quantized"][0]["positions"], (std::vector<int>{2, 2}));
  EXPECT_TRUE(parsed["quantized"][1]["positions"].is_null());
  EXPECT_EQ(parsed["parameters"]["tensors"], 9);
}

TEST(InspectTest, CountsTheTypesThatOperatorsRead) {
  const InspectReport report = inspected(test::model_of(kInspected));
  ASSERT_EQ(report.op_types.size(), 2u);
  EXPECT_EQ(report.op_types[0].op, "Gemm");
  EXPECT_EQ(report.op_types[0].activation, (std::map<std::string, int>{{"UINT8", 1}}));
  EXPECT_EQ(report.op_types[0].weights, (std::map<std::string, int>{{"INT8", 1}}));
  EXPECT_EQ(report.op_types[0].bias, (std::map<std::string, int>{{"INT32", 1}}));
  EXPECT_EQ(report.op_types[1].op, "Add");
  EXPECT_TRUE(report.op_types[1].weights.empty());  // no operator with weights
  EXPECT_TRUE(report.node_types.empty());           // on request only
  EXPECT_TRUE(report.tensors.empty());
}

/// Recorded from the reference, for a model with these nodes.
TEST(InspectTest, RowsAreThoseOfTheReference) {
  const ir::Model model = test::model_of(R"(g (float[2, 2] x) => (float[2, 2] y)
    <float s = {0.5}, uint8 z = {0}, int8 zw = {0}, int32 zb = {0}, int8[2, 2] w = {1, 2, 3, 4}, int32[2] b = {1, 2}> {
      xq = QuantizeLinear (x, s, z)
      xd = DequantizeLinear (xq, s, z)
      wd = DequantizeLinear (w, s, zw)
      bd = DequantizeLinear (b, s, zb)
      m1 = MatMul (x, wd)
      m2 = MatMul (xd, xd)
      a1 = Add (x, wd)
      a2 = Add (wd, x)
      g1 = Gemm (x, x, bd)
      g2 = Gemm (x, wd, bd)
      y = Sum (m1, m2, a1, a2, g1, g2)
    })");
  std::vector<std::string> rows;
  for (const NodeTypes& row : pipeline::node_types(model.graph)) {
    rows.push_back(row.op + "," + row.activation + "," + row.weights + "," + row.bias);
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"MatMul,,INT8,", "MatMul,UINT8,UINT8,", "Add,,,", "Add,INT8,,",
                                            "Gemm,,INT8,INT32"}));
}

TEST(InspectTest, TellsParametersOnRequest) {
  const test::TempFolder folder;
  const std::string path = folder / "m.onnx";
  ASSERT_TRUE(onnx_io::save(test::model_of(kInspected), path).ok());
  const InspectReport report = inspect(path, {.nodes = true, .scales = true}).value();
  ASSERT_EQ(report.tensors.size(), 4u);
  EXPECT_EQ(report.tensors[0].name, "x");
  EXPECT_EQ(report.tensors[0].zero_points, std::vector<double>{128});
  EXPECT_EQ(report.tensors[0].axis, -1);
  EXPECT_EQ(report.tensors[1].name, "w");
  EXPECT_EQ(report.tensors[1].scales, (std::vector<double>{0.5, 0.125}));
  EXPECT_EQ(report.tensors[1].axis, 0);
  const auto parsed = nlohmann::ordered_json::parse(to_json(report));
  EXPECT_EQ(parsed["node_types"][0]["weights"], "INT8");
  EXPECT_TRUE(parsed["node_types"][1]["weights"].is_null());
  EXPECT_EQ(parsed["tensors"][1]["positions"], (std::vector<int>{1, 3}));
  EXPECT_TRUE(parsed["tensors"][2]["positions"][0].is_null());
}

TEST(InspectTest, PositionsAreThoseOfPowersOfTwo) {
  EXPECT_EQ(position_of(0.25), 2);
  EXPECT_EQ(position_of(1), 0);
  EXPECT_EQ(position_of(8), -3);
  for (const double scale : {0.3, 0.0, -0.5, std::nan("")}) EXPECT_FALSE(position_of(scale)) << scale;
}

TEST(InspectTest, MissingModelIsAnInvalidArgument) {
  EXPECT_EQ(inspect("/nowhere/m.onnx").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quarkq
