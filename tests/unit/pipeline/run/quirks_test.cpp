// SPDX-License-Identifier: MIT
// config/quirks.def row by row: the value in both modes, and a small model on which the two modes differ. What each
// mode makes of it is text in tests/golden/quirks/.
#include "config/settings.h"

#include <algorithm>
#include <set>

#include "support/golden_text.h"
#include "support/pass_bench.h"

namespace quarkq::test {
namespace {

const char* const kCompat = "quarkq.compat=quark-0.13";

TEST(QuirksTest, EveryRowHoldsByDefaultAndHasASection) {
  std::set<std::string> names;
  const config::Settings ours = settings_for("A8W8"), compat = settings_for("A8W8", {kCompat});
  for (size_t i = 0; i < config::kQuirkCount; ++i) {
    const config::QuirkInfo& row = config::kQuirks[i];
    const auto quirk = static_cast<config::Quirk>(i);
    EXPECT_TRUE(names.insert(row.id).second) << row.id;
    EXPECT_TRUE(ours.quirk(quirk)) << row.id;
    EXPECT_FALSE(compat.quirk(quirk)) << row.id;
    EXPECT_FALSE(std::string(row.section).empty() || std::string(row.summary).empty()) << row.id;
  }
}

TEST(QuirksTest, ListingsNameThemWithUnderscores) {
  const auto name_of = [](const char* id) { return config::quirk_name({id, "", ""}); };
  EXPECT_EQ(name_of("FoldGemmBeta"), "fold_gemm_beta");
  EXPECT_EQ(name_of("One"), "one");
}

struct QuirkCase {
  const char *quirk, *pass;
  std::string model;
  std::vector<std::string> sets = {};
  const char* preset = "A8W8";
  int opset = 17;
  bool in_order = false;  ///< after the passes before it

  friend void PrintTo(const QuirkCase& row, std::ostream* out) { *out << row.quirk; }  ///< for messages
};

const std::string kConvs =
    cat("g (float[1, 3, 6, 6] x) => (float[1, 2, 6, 6] y) <float[4, 3, 1, 1] w0 = ", numbers(12, 1, -3, 3),
        ", float[4] b0 = ", numbers(4, 2), ", float[2, 4, 1, 1] w1 = ", numbers(8, 3), "> ");
const std::string kMatrix = cat("g (float[2, 32] x) => (float[2, 8] y) <float[32, 8] w = ", numbers(256, 1), "> ");
const std::string kShared =
    cat("g (float[2, 4] x) => (float[2, 4] y, float[2, 4] z) <float[4] s = {1, 2, 3, 4}, float[4] b = ", numbers(4, 1),
        ", float[4, 4] w = ", numbers(16, 2), "> ");
const std::string kNorm = cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
                              ", float[3] s = ", numbers(3, 2, 0.5, 2), ", float[3] b = ", numbers(3, 3),
                              ", float[3] m = ", numbers(3, 4), ", float[3] v = {0.00001, 0.00002, 1}> ");

const QuirkCase kQuirkCases[] = {
    {"RaiseOpsetForQdq", "raise-opset", "g (float[4] x) => (float[4] y) { y = Relu (x) }", {}, "A8W8", 9},
    {"EqualizeMissingGroup", "cross-layer-equalization",
     kConvs + "{ c = Conv (x, w0, b0) m = Relu (c) y = Conv (m, w1) }"},
    {"KeepSharedBiases", "cross-layer-equalization",
     cat("g (float[1, 3, 6, 6] x) => (float[1, 2, 6, 6] y, float[1, 4, 6, 6] z) <float[4, 3, 1, 1] w0 = ",
         numbers(12, 1, -3, 3), ", float[4, 3, 1, 1] w2 = ", numbers(12, 5), ", float[4] b0 = ", numbers(4, 2),
         ", float[2, 4, 1, 1] w1 = ", numbers(8, 3),
         "> { c = Conv <group = 1> (x, w0, b0) m = Relu (c) y = Conv <group = 1> (m, w1) d = Conv <group = 1> (x, w2, "
         "b0) z = Sigmoid (d) }")},
    {"DefaultBatchNormEpsilon",
     "convert-bn-to-conv",
     kNorm + "{ c = Conv (x, w) n = BatchNormalization (c, s, b, m, v) y = Relu (n) }",
     {"QuantizeAllOpTypes=true"}},
    {"UnitVariances",
     "unit-variance",
     "g (float[1, 2, 4] x) => (float[1, 2, 4] y) <float[2] s = {1, 2}, float[2] b = {3, 4}, float[2] m = {0.5, 1}, "
     "float[2] v = {0.001, 3}> { r = Relu (x) y = BatchNormalization (r, s, b, m, v) }",
     {"QuantizeAllOpTypes=true"},
     "A8W8",
     17,
     true},
    {"ExplicitConvAttributes",
     "explicit-conv-attributes",
     cat("g (float[1, 2, 5, 5] x) => (float[1, 3, 3, 3] y) <float[3, 2, 3, 3] w = ", numbers(54, 1),
         "> { y = Conv <auto_pad = \"SAME_LOWER\", strides = [2, 2]> (x, w) }"),
     {},
     "A8W8",
     17,
     true},
    {"SliceUnwrittenSplits",
     "convert-split-to-slice",
     "g (float[1, 8, 2] x) => (float[A, B, C] a, float[D, E, F] b) { a, b = Split <axis = 1> (x) }",
     {"QuantizeAllOpTypes=true"}},
    {"StandardGelu",
     "fuse-gelu",
     "g (float[2, 8] x) => (float[2, 8] y) <float r = {1.4142135}, float one = {1}, float half = {0.5}> { d = Div (x, "
     "r) e "
     "= Erf (d) a = Add (e, one) m = Mul (x, a) y = Mul (m, half) }",
     {},
     "A8W8",
     20},
    {"ClipToReluAtZero", "convert-clip-to-relu",
     "g (float[8] x) => (float[8] y) <float low = {0.5}, float high = {6}> { y = Clip (x, low, high) }"},
    {"PairPerInput",
     "write-qdq",
     "g (float[4] x) => (float[4] y, float[4] z) { a = Relu (x) y = Mul (a, a) z = Sigmoid (a) }",
     {"DedicatedQDQPair=true"},
     "A8W8",
     17,
     true},
    {"ReencodeMovedConstants",
     "refine-positions",
     cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1, -0.00001, 0.00001),
         ", float[3] b = ", numbers(3, 2), "> { c = Conv (x, w, b) y = Relu (c) }"),
     {},
     "XINT8",
     17,
     true},
    {"SimulateByDefinition",
     "simulate-dpu",
     "g (float[4] x) => (float[4] y) { y = LeakyRelu (x) }",
     {},
     "XINT8",
     17,
     true},
    {"ExcludeFromEmitters",
     "quantize-matmul-nbits",
     kMatrix + "{ [first] y = MatMul (x, w) }",
     {"nodes_to_exclude=[first]", "MatMulNBitsParams.GroupSize=32"},
     "MATMUL_NBITS",
     17,
     true},
    {"TakeGemmMatrices",
     "quantize-matmul-nbits",
     kMatrix + "{ y = Gemm (x, w) }",
     {"MatMulNBitsParams.GroupSize=32"},
     "MATMUL_NBITS",
     17,
     true},
    {"ClampSmoothScales",
     "smooth-quant",
     cat("g (float[4, 8] x) => (float[4, 6] y) <float[8] zero = {0, 0, 0, 0, 0, 0, 0, 0}, float[8, 6] w = ",
         numbers(48, 1), "> { z = Mul (x, zero) [product] y = MatMul (z, w) }"),
     {"include_sq=true"},
     "A8W8",
     17,
     true},
    {"FoldWhereRangesClamp",
     "fold-removable",
     cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = ", numbers(6, 1),
         ", float half = {0.5}> { c = Conv (x, w) y = Clip (c, half) }"),
     {},
     "U8S8_AAWS",
     17,
     true},
    {"KeepGroupNormalization",
     "optimize-basic",
     cat("g (float[1, 4, 3, 3] x) => (float[1, 4, 3, 3] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {0, 1, 0, 1}> { n "
         "= "
         "GroupNormalization <num_groups = 2> (x, s, b) i = Identity (n) y = Relu (i) }"),
     {},
     "A8W8",
     21},
    {"CompleteSubgraphs",
     "mark-tensors",
     "g (float[4] x) => (float[4] y) { [start] a = Relu (x) [inner] b = Neg (a) [end] d = Add (a, b) y = "
     "Sigmoid (d) }",
     {"subgraphs_to_exclude=[[[start], [end]]]", "QuantizeAllOpTypes=true"},
     "A8W8",
     17,
     true},
    {"WideSharedBiases",
     "mark-tensors",
     kShared + "{ a = Relu (x) y = LayerNormalization (a, s, b) z = Gemm (a, w, b) }",
     {},
     "A8W8",
     17,
     true},
    {"FloatNormBiases",
     "mark-tensors",
     kShared + "{ a = Relu (x) y = LayerNormalization (a, s, b) z = Gemm (a, w) }",
     {"QuantizeBias=false"},
     "A8W8",
     17,
     true},
    {"EqualizeKeepingFunction",
     "cross-layer-equalization",
     cat("g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y, float[1, 3, 4, 4] r) <float[3, 2, 1, 1] w = ", numbers(6, 1),
         ", float[3] b = ", numbers(3, 2), ", float[3, 3, 1, 1] v = ", numbers(9, 3), ", float[3] c = ", numbers(3, 4),
         "> { a = Conv <group = 1> (x, w, b) r = Relu (a) y = Conv <group = 1> (r, v, c) }"),
     {"include_cle=true"}},
    {"FoldChannelAffines", "fold-channel-affines",
     "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 1, 1, 1] w = {2}, float half = {0.5}> { c = Conv (x, w) "
     "y = Mul (c, half) }"},
    {"EqualizeLiveChannels",
     "cross-layer-equalization",
     "g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y) <float[2, 1, 1, 1] w = {1, 1e-30}, float[2] b = {1, 1e-20}, float[1, "
     "2, 1, 1] v = {1, 0.5}> { a = Conv <group = 1> (x, w, b) r = Relu (a) y = Conv <group = 1> (r, v) }",
     {"include_cle=true"}},
    {"WidenFloat16Parts", "widen-float16-parts",
     "g (float[4] x) => (float[4] y) { h = Cast <to = 10> (x) r = Relu (h) y = Cast <to = 1> (r) }"},
    {"KeepBiasesInRange",
     "widen-weight-scales",
     "g (float[1, 2, 4, 4] x) => (float[1, 3, 4, 4] y) <float[3, 2, 1, 1] w = {0.001, -0.0005, 0.0003, 0.001, -0.001, "
     "0.0002}, float[3] b = {100000, 1, 2}> { y = Conv (x, w, b) }",
     {},
     "A8W8",
     17,
     true},
    {"FollowShapesThroughAll", "simplify-model",
     "g (float[N, 4] x) => (float[A, B, C] y) <float[4] s = {1, 2, 3, 4}, int64[1] first = {0}, int64[2] rest = {2, "
     "2}, float[2] zeros = {0, 0}> "
     "{ n = LayerNormalization (x, s) h = Shape (n) i = Gather (h, first) t = Concat <axis = 0> (i, rest) r = Reshape "
     "(n, t) a = Add (r, zeros) "
     "y = Relu (a) }"},
};

struct Outcome {
  bool enabled, changed;
  std::string exact, text;
};

Outcome outcome_of(const QuirkCase& row, bool compat) {
  std::vector<std::string> sets = row.sets;
  if (compat) sets.emplace_back(kCompat);
  const config::Settings settings = settings_for(row.preset, sets);
  PassStage stage(model_of(row.model, row.opset), settings);
  if (row.in_order) stage.run_before(row.pass);
  if (!row.in_order && std::string(row.pass) != "select-nodes") stage.run("select-nodes");
  Outcome outcome{};
  for (const pass::PassInfo& pass : pipeline::all_passes()) {
    if (std::string(pass.name) == row.pass) outcome.enabled = pass.enabled(settings);
  }
  if (outcome.enabled || !row.in_order) outcome.changed = stage.run(row.pass);
  outcome.exact = stage.exact_text();
  outcome.text = cat(stage.text(false), stage.text(true));
  return outcome;
}

class QuirkCaseTest : public testing::TestWithParam<QuirkCase> {};

TEST_P(QuirkCaseTest, TheModesDifferAsRecorded) {
  const QuirkCase& row = GetParam();
  const auto is_meant = [&](const config::QuirkInfo& quirk) { return std::string(quirk.id) == row.quirk; };
  ASSERT_TRUE(std::any_of(std::begin(config::kQuirks), std::end(config::kQuirks), is_meant)) << row.quirk;
  const Outcome ours = outcome_of(row, false), compat = outcome_of(row, true);
  EXPECT_TRUE(ours.exact != compat.exact || ours.enabled != compat.enabled) << "nothing differs";
  expect_golden(cat("quirks/", row.quirk, ".txt"), cat("default\n", ours.text, "\nquark-0.13\n", compat.text));
}

INSTANTIATE_TEST_SUITE_P(All, QuirkCaseTest, testing::ValuesIn(kQuirkCases),
                         [](const testing::TestParamInfo<QuirkCase>& info) { return std::string(info.param.quirk); });

}  // namespace
}  // namespace quarkq::test
