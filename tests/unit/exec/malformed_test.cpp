// SPDX-License-Identifier: MIT
// Graphs that are wrong: an error that names the node, never a crash, and never an attempt at memory that is not there.
#include <gtest/gtest.h>

#include "exec/session.h"
#include "ir/edit.h"
#include "onnx_io/text.h"

namespace quarkq::exec {
namespace {

using ir::Tensor;

/// The message of loading and running `text` with inputs of the declared shapes, unknown dims being 2; "" when it runs.
std::string outcome(const std::string& text, int opset = 17) {
  const Result<ir::Model> model =
      onnx_io::parse_model_text(cat("<ir_version: 8, opset_import: [\"\" : ", opset, "]>\n", text));
  if (!model.ok()) return model.status().message();
  std::vector<Tensor> inputs;
  for (const ir::ValueId input : model.value().graph.required_inputs()) {
    const ir::ValueType& type = model.value().graph.value(input).type;
    ir::Shape dims;
    for (const ir::Dim& dim : type.dims) dims.push_back(dim.known() ? dim.size : 2);
    inputs.push_back(Tensor::zeros(type.element, dims));
  }
  Session session(model.value(), {}, {});
  const auto results = session.run(inputs);
  return results.ok() ? "" : results.status().message();
}

struct Malformed {
  const char* what;
  const char* text;
  const char* expected;  ///< part of the message
  int opset = 17;
};

const Malformed kCases[] = {
    {"cycle", "g (float[2] x) => (float[2] y) { a = Add(x, y) y = Neg(a) }", "node "},
    {"node that reads itself", "g (float[2] x) => (float[2] y) { y = Add(x, y) }", "node "},
    {"dangling input", "g (float[2] x) => (float[2] y) { y = Add(x, nowhere) }", "nowhere"},
    {"output nobody makes", "g (float[2] x) => (float[2] y) { z = Neg(x) }", "y"},
    {"missing input", "g (float[2] x) => (float[2] y) { y = Add(x) }", "node y (Add)"},
    {"too many inputs for the shape", "g (float[2,3] x) => (y) { y = Conv(x, x) }", "node y (Conv)"},
    {"other types than allowed", "g (bool[2] x) => (y) { y = Sin(x) }", "node y (Sin): input 0 is BOOL"},
    {"types that differ", "g (float[2] x, int64[2] z) => (y) { y = Add(x, z) }", "node y (Add)"},
    {"shapes that do not broadcast", "g (float[2] x, float[3] z) => (y) { y = Mul(x, z) }", "node y (Mul)"},
    {"matrices that do not fit", "g (float[2,3] x, float[2,3] z) => (y) { y = MatMul(x, z) }", "node y (MatMul)"},
    {"a product of far more matrices than there are",
     "g (float[65536,1,1,1] x, float[1,65536,1,1] z) => (y) "
     "{ y = MatMul(x, z) }",
     "node y (MatMul): needs", 17},
    {"the same in integers",
     "g (uint8[65536,1,1,1] x, uint8[1,65536,1,1] z) => (y) "
     "{ y = MatMulInteger(x, z) }",
     "node y (MatMulInteger): needs", 17},
    {"axis outside", "g (float[2,3] x) => (y) { y = Concat<axis=2>(x, x) }", "node y (Concat)"},
    {"axis far outside", "g (float[2,3] x) => (y) { y = Softmax<axis=-9223372036854775807>(x) }", "node y (Softmax)"},
    {"perm that is none", "g (float[2,3] x) => (y) { y = Transpose<perm=[0,0]>(x) }", "node y (Transpose): perm [0,0]"},
    {"perm for a scalar", "g (float x) => (y) { y = Transpose<perm=[0,2,1]>(x) }", "node y (Transpose): perm [0,2,1]"},
    {"elements of half a byte", "g (float4e2m1[3,5] x) => (y) <int64[1] i = {1}> { y = Gather(x, i) }",
     "node y (Gather)", 24},
    {"reshape to another size", "g (float[2,3] x) => (y) <int64[2] s = {4, 2}> { y = Reshape(x, s) }",
     "node y (Reshape)"},
    {"negative dim", "g (float[2,3] x) => (y) <int64[2] s = {-2, 3}> { y = Reshape(x, s) }", "node y (Reshape)"},
    {"two free dims", "g (float[2,3] x) => (y) <int64[2] s = {-1, -1}> { y = Reshape(x, s) }", "node y (Reshape)"},
    {"dims that overflow",
     "g (float[1] x) => (y) <int64[3] s = {4611686018427387904, 4611686018427387904, 4}> "
     "{ y = Expand(x, s) }",
     "node y (Expand)"},
    {"more than any machine has", "g (float[1] x) => (y) <int64[1] s = {70368744177664}> { y = Expand(x, s) }",
     "node y (Expand): needs"},
    {"the same, folded", "g () => (y) <int64[1] s = {70368744177664}> { y = ConstantOfShape(s) }",
     "node y (ConstantOfShape): needs"},
    {"the same, from data",
     "g (int64[1] n) => (y) <int64[1] s = {70368744177664}, int64[1] one = {1}> "
     "{ m = Add(n, s) y = ConstantOfShape(m) }",
     "node y (ConstantOfShape): needs"},
    {"huge tiles", "g (float[2] x) => (y) <int64[1] s = {9223372036854775807}> { y = Tile(x, s) }", "node y (Tile)"},
    {"huge padding", "g (float[2] x) => (y) <int64[2] s = {9223372036854775807, 1}> { y = Pad(x, s) }", "node y (Pad)"},
    {"endless range", "g () => (y) <float a = {0}, float b = {1e30}, float d = {1e-30}> { y = Range(a, b, d) }",
     "node y (Range)"},
    {"range without a step", "g () => (y) <int64 a = {0}, int64 b = {5}, int64 d = {0}> { y = Range(a, b, d) }",
     "node y (Range)"},
    {"index outside", "g (float[2] x) => (y) <int64[1] i = {7}> { y = Gather(x, i) }", "node y (Gather)"},
    {"kernel larger than the image", "g (float[1,1,4,4] x) => (y) { y = MaxPool<kernel_shape=[9,9]>(x) }",
     "node y (MaxPool)"},
    {"absurd kernel",
     "g (float[1,1,4,4] x) => (y) { y = MaxPool<kernel_shape=[2,2147483648], auto_pad=\"SAME_UPPER\">(x) }",
     "node y (MaxPool): kernel"},
    {"absurd padding", "g (float[1,1,4,4] x, float[1,1,3,3] w) => (y) { y = Conv<pads=[1,1048576,1,1]>(x, w) }",
     "node y (Conv): pads"},
    {"absurd output",
     "g (float[1,1,3,3] x, float[1,2,3,3] w) => (y) "
     "{ y = ConvTranspose<output_shape=[10, 9223372036854775807]>(x, w) }",
     "node y (ConvTranspose)"},
    {"no stride", "g (float[1,1,4,4] x, float[1,1,3,3] w) => (y) { y = Conv<strides=[0,1]>(x, w) }",
     "node y (Conv): strides"},
    {"groups that do not divide", "g (float[1,3,4,4] x, float[4,1,3,3] w) => (y) { y = Conv<group=2>(x, w) }",
     "node y (Conv)"},
    {"no groups", "g (float[1,3,4,4] x, float[4,3,3,3] w) => (y) { y = Conv<group=0>(x, w) }", "node y (Conv)"},
    {"axis of an old Add far outside",
     "g (float[2,3] x, float[3] z) => (y) { y = Add<broadcast=1, axis=9223372036854775807>(x, z) }", "node y (Add)", 6},
    {"more inputs than the operator takes",
     "g (float[2] x, float s, uint8 z) => (y) { y = QuantizeLinear(x, s, z, s) }",
     "node y (QuantizeLinear): 4 inputs, allowed: 2 to 3", 17},
    {"no input to quantize", "g (float s, uint8 z) => (y) { q = QuantizeLinear(, s, z) y = DequantizeLinear(q, s, z) }",
     "node q (QuantizeLinear)", 17},
    {"unknown operator", "g (float[2] x) => (y) { y = Frobnicate(x) }", "Frobnicate"},
};

TEST(MalformedTest, EachGraphIsAnErrorThatNamesTheNode) {
  for (const Malformed& bad : kCases) {
    const std::string message = outcome(bad.text, bad.opset);
    EXPECT_NE(message.find(bad.expected), std::string::npos) << bad.what << ": " << message;
  }
}

TEST(MalformedTest, AMillionNodesInAChainRun) {
  constexpr int kNodes = 1000000;
  ir::Model model;
  model.set_opset("", 17);
  ir::GraphEdit edit(model.graph);
  ir::ValueId value = edit.add_value("x");
  edit.add_graph_input(value);
  for (int i = 0; i < kNodes; ++i) {
    const ir::ValueId next = edit.add_value("");
    edit.add_node({"Neg", "", "", {value}, {next}});
    value = next;
  }
  edit.add_graph_output(value);
  Session session(model, {}, {});
  const auto results = session.run(std::vector<Tensor>{Tensor::scalar(3.0f)});
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ((*results.value())[0].data<float>()[0], 3.0f);
}

/// Each NonZero begins a stage, so the stages form a chain as long as the graph.
TEST(MalformedTest, AThousandStagesRunAndEnd) {
  std::string text = "g (float[1,1] v0) => (y) {\n";
  for (int i = 0; i < 1000; ++i) text += cat("n", i, " = NonZero(v", i, ") v", i + 1, " = Cast<to=1>(n", i, ")\n");
  EXPECT_EQ(outcome(text + "y = Neg(v1000) }"), "");
}

}  // namespace
}  // namespace quarkq::exec
