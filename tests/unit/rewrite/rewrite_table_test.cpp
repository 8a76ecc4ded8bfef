// SPDX-License-Identifier: MIT
// The simplifier and the basic optimizer on a table of small models: the outputs stay, a second run changes nothing,
// and the operators that are left are text in tests/golden/rewrites/.
#include "support/golden_text.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

struct RewriteCase {
  const char* name;
  const char* nodes;
  int opset = 17;
};

/// Around each case: inputs x [2, 3, 4], m [4, 4] and i [1, 2, 4, 4], and constants of every kind.
const char* const kConstants =
    "float[4] v4 = {1, 2, 3, 4}, float[4, 4] w44 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float one "
    "= {1}, "
    "float zero = {0}, float half = {0.5}, float two = {2}, float[3, 2, 1, 1] c321 = {1, 2, 3, 4, 5, 6}, float[3] b3 = "
    "{1, 2, 3}, "
    "float[3] s3 = {1, 2, 0.5}, float[3, 1, 1] f311 = {1, 2, 3}, int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] i2 = "
    "{2}, "
    "int64[1] m1 = {-1}, int64[1] big = {9223372036854775807}, int64[2] s212 = {2, 12}, int64[2] s64 = {6, 4}, "
    "int64[3] s234 = {2, 3, 4}, int64[3] s324 = {3, 2, 4}, int64[1] s24 = {24}, int64[2] s03 = {0, 3}, int64[2] pads = "
    "{1, 2}, "
    "int64[8] pad4 = {0, 0, 1, 1, 0, 0, 1, 1}, int64[8] pad0 = {0, 0, 0, 0, 0, 0, 0, 0}, int64[3] ones = {1, 1, 1}, "
    "int64[2] halves = {1, 2}";

const RewriteCase kRewriteCases[] = {
    // no-ops
    {"Identity", "a = Identity (x) y = Neg (a)"},
    {"IdentityToOutput", "a = Neg (x) y = Identity (a)"},
    {"Dropout", "a = Dropout (x) y = Neg (a)"},
    {"DropoutWithMask", "a, k = Dropout (x) b = Neg (a) f = Cast <to = 1> (k) y = Add (b, f)"},
    {"CastToItself", "a = Cast <to = 1> (x) y = Neg (a)"},
    {"CastThereAndBack", "a = Cast <to = 11> (x) b = Cast <to = 1> (a) y = Neg (b)"},
    {"AddZero", "a = Add (x, zero) y = Neg (a)"},
    {"MulOne", "a = Mul (x, one) y = Neg (a)"},
    {"SubZero", "a = Sub (x, zero) y = Neg (a)"},
    {"ZeroMinus", "a = Sub (zero, x) y = Neg (a)"},
    {"DivOne", "a = Div (x, one) y = Neg (a)"},
    {"OneOver", "a = Div (one, x) y = Neg (a)"},
    {"MulZero", "a = Mul (x, zero) y = Neg (a)"},
    {"SliceAll", "a = Slice (x, i0, big, i1) y = Neg (a)"},
    {"SliceSome", "a = Slice (x, i0, i2, i1) y = Neg (a)"},
    {"PadNothing", "a = Pad (i, pad0) y = Neg (a)"},
    {"TransposeIdentity", "a = Transpose <perm = [0, 1, 2]> (x) y = Neg (a)"},
    {"ReshapeToItself", "a = Reshape (x, s234) y = Neg (a)"},
    {"ConcatOfOne", "a = Concat <axis = 0> (x) y = Neg (a)"},
    {"TileByOnes", "a = Tile (x, ones) y = Neg (a)"},
    {"ExpandToItself", "a = Expand (x, s234) y = Neg (a)"},
    {"DoubleNeg", "a = Neg (x) b = Neg (a) y = Relu (b)"},
    {"ReluTwice", "a = Relu (x) b = Relu (a) y = Neg (b)"},
    {"FlattenOfAMatrix", "a = Flatten (m) y = Neg (a)"},
    // constants
    {"ConstantArithmetic", "a = Add (v4, v4) b = Mul (a, half) y = Mul (x, b)"},
    {"ConstantNode", "a = Constant <value_float = 2.0> () y = Mul (x, a)"},
    {"ConstantTranspose", "a = Transpose (w44) y = MatMul (x, a)"},
    {"ConstantReshape", "a = Reshape (v4, m1) y = Add (x, a)"},
    {"ShapeOfAnInput", "a = Shape (x) b = Gather (a, i1) c = Cast <to = 1> (b) y = Mul (x, c)"},
    {"ShapeAndSize", "a = Size (x) c = Cast <to = 1> (a) y = Mul (x, c)"},
    {"ShapeToReshape", "a = Shape (x) b = Slice (a, i0, i1) c = Concat <axis = 0> (b, m1) y = Reshape (x, c)"},
    {"EqualConstants", "a = Add (x, one) b = Constant <value_float = 1.0> () c = Add (x, b) y = Mul (a, c)"},
    {"ConstantIf",
     "a = Constant <value = bool {1}> () y = If (a) <then_branch = t () => (float[2, 3, 4] p) { p = Neg (x) }, "
     "else_branch = e () => (float[2, 3, 4] q) { q = Relu (x) }>"},
    {"UnusedNodes", "a = Neg (x) u = Exp (x) w = Log (u) y = Relu (a)"},
    // repetitions
    {"SameNodes", "a = Exp (x) b = Exp (x) y = Add (a, b)"},
    {"SameChains", "a = Exp (x) b = Neg (a) c = Exp (x) d = Neg (c) y = Add (b, d)"},
    {"SameExceptAttributes", "a = Softmax <axis = 1> (x) b = Softmax <axis = 2> (x) y = Add (a, b)"},
    {"SameExceptOrder", "a = Sub (x, v4) b = Sub (v4, x) y = Add (a, b)"},
    // views
    {"ReshapeReshape", "a = Reshape (x, s212) b = Reshape (a, s64) y = Neg (b)"},
    {"ReshapeBack", "a = Reshape (x, s212) b = Reshape (a, s234) y = Neg (b)"},
    {"ReshapeWithTwoReaders",
     "a = Reshape (x, s212) b = Reshape (a, s64) c = Neg (a) d = Reshape (c, s64) y = Add (b, d)"},
    {"FlattenReshape", "a = Flatten (x) b = Reshape (a, s234) y = Neg (b)"},
    {"TransposeTranspose", "a = Transpose <perm = [1, 2, 0]> (x) b = Transpose <perm = [1, 2, 0]> (a) y = Neg (b)"},
    {"TransposeBack", "a = Transpose <perm = [1, 2, 0]> (x) b = Transpose <perm = [2, 0, 1]> (a) y = Neg (b)"},
    {"TransposeAroundRelu", "a = Transpose <perm = [0, 2, 1]> (x) r = Relu (a) y = Transpose <perm = [0, 2, 1]> (r)"},
    {"TransposeAroundAdd",
     "a = Transpose <perm = [0, 2, 1]> (x) r = Add (a, half) y = Transpose <perm = [0, 2, 1]> (r)"},
    {"TransposeAroundSoftmax",
     "a = Transpose <perm = [0, 2, 1]> (x) r = Softmax <axis = 1> (a) y = Transpose <perm = [0, 2, 1]> (r)"},
    {"TransposeAroundReduce",
     "a = Transpose <perm = [0, 2, 1]> (x) r = ReduceMean <axes = [1]> (a) y = Transpose <perm = [0, 2, 1]> (r)"},
    {"TransposeAroundConcat",
     "a = Transpose <perm = [0, 2, 1]> (x) r = Concat <axis = 1> (a, a) y = Transpose <perm = [0, 2, 1]> (r)"},
    {"TransposeAroundSplit",
     "a = Transpose <perm = [0, 2, 1]> (x) p, q = Split <axis = 2> (a, halves) r = Concat <axis = 2> (p, q) "
     "y = Transpose <perm = [0, 2, 1]> (r)"},
    {"TransposeAroundPad",
     "a = Transpose <perm = [0, 2, 3, 1]> (i) r = Pad (a, pad4) y = Transpose <perm = [0, 3, 1, 2]> (r)"},
    {"TransposeAroundSlice",
     "a = Transpose <perm = [0, 2, 1]> (x) r = Slice (a, i0, i2, i1) y = Transpose <perm = [0, 2, 1]> (r)"},
    {"TransposeAroundUnsqueeze",
     "a = Transpose <perm = [0, 2, 1]> (x) u = Unsqueeze (a, i1) s = Squeeze (u, i1) y = Transpose <perm = [0, 2, 1]> "
     "(s)"},
    {"TransposeIntoMatMul", "a = Transpose (m) y = MatMul (m, a)"},
    {"SqueezeUnsqueeze", "a = Unsqueeze (x, i0) b = Squeeze (a, i0) y = Neg (b)"},
    {"UnsqueezeUnsqueeze", "a = Unsqueeze (x, i0) b = Unsqueeze (a, i0) y = Neg (b)"},
    {"ConcatConcat", "a = Concat <axis = 0> (x, x) b = Concat <axis = 0> (a, x) y = Neg (b)"},
    {"SliceSlice", "a = Slice (x, i0, i2, i1) b = Slice (a, i0, i1, i1) y = Neg (b)"},
    {"SliceSliceOtherAxis", "a = Slice (x, i0, i2, i1) b = Slice (a, i0, i2, i2) y = Neg (b)"},
    {"SplitConcat", "p, q = Split <axis = 1> (x, halves) y = Concat <axis = 1> (p, q)"},
    // fusions
    {"MatMulAdd", "a = MatMul (m, w44) y = Add (a, v4)"},
    {"MatMulAddOfRank3", "a = MatMul (x, w44) y = Add (a, v4)"},
    {"MatMulAddScalar", "a = MatMul (m, w44) y = Add (a, one)"},
    {"GemmAdd", "a = Gemm (m, w44) y = Add (a, v4)"},
    {"GemmTransposedInput", "t = Transpose (m) y = Gemm (t, w44)"},
    {"ConvAdd", "a = Conv (i, c321) y = Add (a, f311)"},
    {"ConvMul", "a = Conv (i, c321, b3) y = Mul (a, f311)"},
    {"ConvMulScalar", "a = Conv (i, c321, b3) y = Mul (a, two)"},
    {"ConvNorm", "a = Conv (i, c321) y = BatchNormalization (a, s3, b3, b3, s3)"},
    {"ConvNormRelu", "a = Conv (i, c321, b3) n = BatchNormalization (a, s3, b3, b3, s3) y = Relu (n)"},
    {"PadConv", "a = Pad (i, pad4) y = Conv (a, c321)"},
    {"PadConvWithValue", "a = Pad (i, pad4, half) y = Conv (a, c321)"},
    {"PadMaxPool", "a = Pad (i, pad4) y = MaxPool <kernel_shape = [2, 2]> (a)"},
    {"PadAveragePool", "a = Pad (i, pad4) y = AveragePool <kernel_shape = [2, 2], count_include_pad = 1> (a)"},
    {"ReluClip", "a = Relu (x) y = Clip (a, zero, two)"},
    {"ReluClipBelowZero", "n = Neg (one) a = Relu (x) y = Clip (a, n, two)"},
    {"ClipClip", "a = Clip (x, zero, two) y = Clip (a, half, one)"},
    {"GeluSpelledOut", "d = Mul (x, half) e = Erf (d) a = Add (e, one) p = Mul (x, a) y = Mul (p, half)"},
    {"HardSwishOfSix", "a = HardSwish (x) y = Neg (a)"},
    {"PowOfTwo", "a = Pow (x, two) y = Neg (a)"},
    {"PowOfOne", "a = Pow (x, one) y = Neg (a)"},
    {"LayerNormalization", "a = LayerNormalization (x, v4, v4) y = Neg (a)"},
    {"WhereOfTrue", "c = Constant <value = bool {1}> () a = Where (c, x, zero) y = Neg (a)"},
    {"NotNot", "z = Greater (x, zero) n = Not (z) o = Not (n) y = Cast <to = 1> (o)"},
    {"ReduceOverOnes", "u = Unsqueeze (x, i0) a = ReduceSum (u, i0) y = Neg (a)"},
    {"ExpandThenAdd", "e = Expand (v4, s234) y = Add (x, e)"},
};

std::string body_of(const RewriteCase& row) {
  return cat("g (float[2, 3, 4] x, float[4, 4] m, float[1, 2, 4, 4] i) => (float[A, B] y) <", kConstants, "> { ",
             row.nodes, " }");
}

/// The declared shape of y is wrong on purpose: it is forgotten before types are inferred.
ir::Model rewrite_model(const RewriteCase& row) {
  Result<ir::Model> parsed =
      onnx_io::parse_model_text(cat("<ir_version: 8, opset_import: [\"\" : ", row.opset, "]>\n", body_of(row)));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  if (!parsed.ok()) return {};
  ir::Model model = std::move(parsed).value();
  ir::GraphEdit edit(model.graph);
  for (const ir::ValueId output : model.graph.outputs()) {
    edit.mutable_value(output).type.has_shape = false;
    edit.mutable_value(output).type.dims.clear();
  }
  edit.remove_unused_initializers();
  Diagnostics ignored;
  EXPECT_TRUE(onnx_io::infer_types(model, ignored).ok());
  return model;
}

void expect_rewrites(const std::string& golden, const test::PassBench::Pass& pass) {
  std::string text;
  for (const RewriteCase& row : kRewriteCases) {
    SCOPED_TRACE(row.name);
    test::PassBench bench(rewrite_model(row));
    const ir::Model before = bench.model;
    const std::string ops = bench.ops();
    const bool fired = bench.run(pass);
    EXPECT_TRUE(fired || ir::dump(before) == ir::dump(bench.model)) << "changed without saying so";
    test::expect_same_outputs(before, bench.model, 1e-5);
    text += cat(row.name, ": ", ops, " -> ", bench.ops(), fired ? "" : "  (idle)", "\n");
    const std::string once = ir::dump(bench.model);
    bench.run(pass);
    EXPECT_EQ(ir::dump(bench.model), once) << "a second run changed something";
  }
  test::expect_golden(golden, text);
}

TEST(RewriteTableTest, Simplifier) { expect_rewrites("rewrites/simplify.txt", simplify_model); }
TEST(RewriteTableTest, BasicOptimizer) { expect_rewrites("rewrites/optimize.txt", optimize_basic); }
TEST(RewriteTableTest, NoOps) { expect_rewrites("rewrites/remove_no_ops.txt", remove_no_ops); }
TEST(RewriteTableTest, Constants) { expect_rewrites("rewrites/fold_constants.txt", fold_constants); }

/// As `quarkq optimize` runs them.
TEST(RewriteTableTest, OneAfterTheOther) {
  std::string text;
  for (const RewriteCase& row : kRewriteCases) {
    SCOPED_TRACE(row.name);
    test::PassBench bench(rewrite_model(row));
    const ir::Model before = bench.model;
    for (const pass::PassInfo& pass : pipeline::all_passes()) {
      if (pass.phase == pass::Phase::kPrepare && pass.enabled(bench.settings)) bench.run(pass.run);
    }
    test::expect_same_outputs(before, bench.model, 1e-5);
    text += cat(row.name, ": ", bench.ops(), "\n");
  }
  test::expect_golden("rewrites/prepare.txt", text);
}

}  // namespace
}  // namespace quarkq::pass_tests
