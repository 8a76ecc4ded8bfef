// SPDX-License-Identifier: MIT
// Single rules where their condition just holds and where it just does not: what they find, and what they call it.
#include <gtest/gtest.h>

#include "support/target_models.h"
#include "targets/rules.h"

namespace quarkq::targets {
namespace {

using test::QuantizedText;

/// "Op: what was found" for each hit, "model: ..." for those of the whole model; "" without a hit.
std::string hits_of(const std::string& rule, const ir::Model& model, double limit = 0) {
  const QuantizedView view = view_of(model).value();
  const Groups groups = group_operators(view, /*as_if_quantized=*/true);
  const Rule predicate = find_predicate(rule);
  EXPECT_NE(predicate, nullptr) << rule;
  Hits hits;
  if (predicate != nullptr) predicate({view, groups, limit}, hits);
  std::vector<std::string> texts;
  for (const Hit& hit : hits)
    texts.push_back(cat(hit.node.valid() ? view.node(hit.node).op : "model", ": ", hit.found));
  return join(texts, "; ");
}

std::string hits_of(const std::string& rule, const std::string& body, double limit = 0) {
  return hits_of(rule, test::target_model(body), limit);
}

struct RuleCase {
  const char* rule;
  std::string body;
  const char* found;
  double limit = 0;
};

void expect_hits(const std::vector<RuleCase>& cases) {
  for (const RuleCase& one : cases)
    EXPECT_EQ(hits_of(one.rule, one.body, one.limit), one.found) << one.rule << " in " << one.body;
}

TEST(TargetRulesTest, EveryRowHasItsPredicate) {
  for (const config::RuleInfo& info : config::target_rules()) EXPECT_NE(find_predicate(info.id), nullptr) << info.id;
  EXPECT_EQ(find_predicate("lsmt"), nullptr);
}

TEST(TargetRulesTest, OpsetsAreComparedWithTheLimit) {
  const std::string body = "g (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }";
  expect_hits({{"opset-above", body, "model: opset 17, the limit is 16", 16},
               {"opset-above", body, "", 17},
               {"opset-partly", body, "model: opset 17, the limit is 16", 16},
               {"opset-other", body, "model: opset 17, required is 18", 18},
               {"opset-other", body, "model: opset 17, required is 13", 13},
               {"opset-other", body, "", 17}});
}

TEST(TargetRulesTest, DimensionsOfInputs) {
  const auto add = [](const std::string& a, const std::string& b) {
    return cat("g (float[", a, "] a, float[", b, "] b) => (float[R, S] y) { y = Add(a, b) }");
  };
  expect_hits({
      {"symbolic-shape", add("1, 4", "1, N"), "model: dimension 1 of input b is N"},
      {"symbolic-shape", add("1, 4", "1, ?"), "model: dimension 1 of input b is unknown"},
      {"symbolic-shape", add("N, 4", "N, 4"), ""},
      {"symbolic-batch", add("1, 4", "N, 4"), "model: dimension 0 of input b is N"},
      {"symbolic-batch", add("N, 4", "N, M"), ""},  // that is symbolic-shape
      {"symbolic-batch", add("1, 4", "1, 4"), ""},
      {"batch-above-1", add("1, 4", "2, 4"), "model: dimension 0 of input b is 2"},
      {"batch-above-1", add("1, 4", "N, 4"), ""},
      {"batch-above-1", add("4", "4"), ""},  // vectors have no batch
      {"batch-above-1", add("4", "3, 4"), "model: dimension 0 of input b is 3"},
      {"batch-above-1", add("4", "1, 4"), ""},
      {"rank-above", add("1, 4", "1, 4"), "", 2},
      {"rank-above", add("1, 4", "1, 1, 4"), "Add: tensor b has rank 3", 2},
  });
  // An input with a stored value needs none from outside.
  expect_hits({{"batch-above-1",
                "g (float[1, 4] x, float[2, 4] k) => (float[2, 4] y) <float[2, 4] k = {1, 2, 3, 4, 5, 6, 7, 8}> "
                "{ y = Add(x, k) }",
                ""}});
}

TEST(TargetRulesTest, CountsOfTheWholeModel) {
  const auto convs = [](const std::string& attributes) {
    return cat(
        "g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}, "
        "float[2, 1, 1, 1] d = {1, 2}> { [one] a = Conv (x, w) [two] b = Conv",
        attributes, " (a, d) [two] c = Relu(b) y = Abs(c) }");
  };
  expect_hits({{"too-few-convs", convs("<group = 2>"), "model: 2 Convs, the limit is 3", 3},
               {"too-few-convs", convs("<group = 2>"), "", 2},
               {"grouped-conv", convs("<group = 2>"), "model: 1 Convs with groups"},
               {"grouped-conv", convs("<group = 1>"), ""},
               {"several-outputs", convs("<group = 2>"), ""},
               {"names-not-unique", convs("<group = 2>"), "model: 1 nodes without a name, 1 with a repeated one"}});
  expect_hits({{"names-not-unique", "g (float[4] x) => (float[4] y) { [n] y = Relu(x) }", ""}});
}

TEST(TargetRulesTest, AttentionIsCountedAgainstConvs) {
  const auto attention = [](const std::string& second, const std::string& more) {
    return cat(
        "g (float[1, 1, 4, 4] q) => (float[1, 1, 4, 4] y) <float[4, 4] k = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, "
        "0, 0, 0, 1}, float[1, 1, 1, 1] w = {2}> { a = MatMul(q, q) b = Softmax(a) c = MatMul(b, ",
        second, ")", more, " }");
  };
  expect_hits({{"transformer", attention("q", " y = Abs(c)"), "model: 1 blocks of attention, 0 Convs"},
               {"transformer", attention("q", " y = Conv(c, w)"), ""},
               {"transformer", attention("k", " y = Abs(c)"), ""},  // one side is stored
               {"product-of-activations", attention("k", " y = Abs(c)"), "MatMul: neither side is stored"},
               {"product-of-activations", attention("q", " y = Abs(c)"),
                "MatMul: neither side is stored; MatMul: neither side is stored"}});
}

TEST(TargetRulesTest, ALargeActivationIsTheLargest) {
  const std::string body =
      "g (float[1, 16, 16] x) => (float[1, 32, 16] y) { a = Relu(x) y = Concat <axis = 1> (a, x) }";
  expect_hits({{"large-activation", body, "model: tensor y has 0.5 Ki elements", 255},
               {"large-activation", body, "model: tensor y has 0.5 Ki elements", 511},
               {"large-activation", body, "", 512},
               {"large-activation", "g (float[N, 4096] x) => (float[N, 4096] y) { y = Relu(x) }", "", 16}});
}

TEST(TargetRulesTest, IntegersAtRunTime) {
  expect_hits({
      {"integer-node",
       "g (float[1, N] x) => (float[1, N] y) <int64 i = {0}> { s = Shape(x) d = Gather(s, i) f = Cast <to = 1> (d) "
       "y = Mul(x, f) }",
       "Shape: computes integers at run time; Gather: computes integers at run time"},
      {"integer-node", "g (float[4] x) => (int64 y) { y = ArgMax <axis = 0, keepdims = 0> (x) }", ""},  // of floats
  });
}

TEST(TargetRulesTest, PadsOfConvs) {
  const auto conv = [](const std::string& pads, const std::string& kernel) {
    return cat("g (float[1, 1, 9, 9] x, float[1, 1, ", kernel, "] w) => (float[A, B, C, D] y) { y = Conv <pads = [",
               pads, "]> (x, w) }");
  };
  expect_hits({{"conv-pad-above-kernel", conv("2, 2, 2, 2", "3, 3"), ""},
               {"conv-pad-above-kernel", conv("0, 0, 3, 0", "3, 3"), "Conv: pad 3, kernel 3"},
               {"conv-pad-above-kernel", conv("1, 1, 1, 0", "3, 1"), "Conv: pad 1, kernel 1"},
               {"conv-pad-above-kernel", conv("2, 0, 2, 1", "3, 1"), "Conv: pad 1, kernel 1"},
               {"conv-implicit-attributes", conv("0, 0, 0, 0", "3, 3"),
                "Conv: without strides, dilations, kernel_shape, group"},
               {"dynamic-weight", conv("0, 0, 0, 0", "3, 3"), "Conv: weight w is a graph input"}});
}

TEST(TargetRulesTest, ResizesByModeAndAlignment) {
  const auto resize = [](const std::string& attributes, const std::string& dims) {
    return cat("g (float[", dims, "] x) => (float[A, B, C] y) <float[3] k = {1, 2, 1}> { y = Resize <", attributes,
               "> (x, , k) }");
  };
  const std::string aligned = "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"";
  expect_hits(
      {{"resize-linear", resize("mode = \"linear\"", "1, 4, 4"), "Resize: mode linear"},
       {"resize-linear", resize("mode = \"cubic\"", "1, 4, 4"), "Resize: mode cubic"},
       {"resize-linear", resize("mode = \"nearest\"", "1, 4, 4"), ""},
       {"resize-linear", resize(aligned, "1, 4, 4"), ""},
       {"resize-align-corners", resize(aligned, "1, 4, 4"), "Resize: align_corners"},
       {"resize-of-rank-3", resize("mode = \"nearest\"", "3, 4, 8"), ""},
       {"resize-of-rank-3", resize("mode = \"nearest\"", "1, 4, 1"), ""},
       {"resize-of-rank-3", resize("mode = \"nearest\"", "1, 4, 5"), "Resize: input x has rank 3 and an odd length"}});
}

TEST(TargetRulesTest, ControlFlow) {
  const std::string loop =
      "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop (n, c, x) <body = b (int64 i, bool go, float[2] a) "
      "=> (bool on, float[2] o) { on = Identity(go) o = Abs(a) }> }";
  const std::string stored_if =
      "g (float[4] x) => (float[4] y) <bool c = {1}> { y = If (c) <then_branch = t () => (float[4] p) { p = Abs(x) }, "
      "else_branch = e () => (float[4] q) { q = Neg(x) }> }";
  expect_hits({{"loop", loop, "Loop: "}, {"loop", stored_if, ""}, {"data-dependent-if", stored_if, ""}});
}

TEST(TargetRulesTest, StoredDataAndSlopes) {
  const auto gather = [](const std::string& table, const std::string& indices) {
    return cat("g (int64[1] i) => (float[A, B] y) <float", table, " t = {1, 2, 3, 4}, int64 k = {1}> { y = Gather(t, ",
               indices, ") }");
  };
  const auto prelu = [](const std::string& slope) {
    return cat(
        "g (float[1, 2, 4] x, float[2, 1] s) => (float[1, 2, 4] y) <float[1] one = {0.1}, float[2, 1] two = "
        "{0.1, 0.2}> { y = PRelu(x, ",
        slope, ") }");
  };
  expect_hits({{"gather-of-constant", gather("[2, 2]", "i"), "Gather: from stored weights"},
               {"gather-of-constant", gather("[4]", "i"), ""},
               {"gather-of-constant", gather("[2, 2]", "k"), ""},  // one row
               {"prelu", prelu("one"), ""},
               {"prelu", prelu("two"), "PRelu: slopes per channel"},
               {"prelu", prelu("s"), "PRelu: slopes per channel"}});
}

/// x, a pair with this zero point, Relu, the same pair again; and a stored tensor of 4 that is added.
ir::Model paired(const std::string& type, const std::string& zero_point, const std::string& weight_zero_point = "0",
                 int opset = 21, const std::string& domain = "") {
  const std::string z = zero_point.empty() ? "" : ", z", prefix = domain.empty() ? "" : domain + ".";
  const std::string zero = zero_point.empty() ? "" : cat(", ", type, " z = {", zero_point, "}");
  return test::target_model(
      cat("g (float[4] x) => (float[4] y) <float s = {0.5}", zero, ", int8[4] wq = {1, 2, 3, 4}, int8 wz = {",
          weight_zero_point, "}> { q = ", prefix, "QuantizeLinear (x, s", z, ") d = ", prefix, "DequantizeLinear (q, s",
          z, ") w = DequantizeLinear (wq, s, wz) r = Add(d, w) p = ", prefix, "QuantizeLinear (r, s", z,
          ") y = ", prefix, "DequantizeLinear (p, s", z, ") }"),
      domain.empty() ? std::vector<std::string>{} : std::vector<std::string>{domain}, opset);
}

TEST(TargetRulesTest, ZeroPointsOfActivationsAndWeights) {
  const std::string both = "model: tensor x; model: tensor r";
  EXPECT_EQ(hits_of("activation-zero-point", paired("int8", "0")), "");
  EXPECT_EQ(hits_of("activation-zero-point", paired("int8", "3")), both);
  EXPECT_EQ(hits_of("activation-zero-point", paired("uint8", "128")), "");
  EXPECT_EQ(hits_of("activation-zero-point", paired("uint8", "0")), both);
  EXPECT_EQ(hits_of("activation-zero-point", paired("uint8", "")), both);  // none means 0
  EXPECT_EQ(hits_of("activation-zero-point", paired("uint16", "32768")), "");
  EXPECT_EQ(hits_of("zero-point-not-0", paired("uint8", "")), "");
  EXPECT_EQ(hits_of("zero-point-not-0", paired("uint8", "128")), both);
  EXPECT_EQ(hits_of("weight-zero-point", paired("int8", "3")), "");
  EXPECT_EQ(hits_of("weight-zero-point", paired("int8", "0", "-2")), "model: tensor wq");
}

TEST(TargetRulesTest, DomainsAndWidthsOfPairs) {
  EXPECT_EQ(hits_of("quantized-model", paired("int8", "0")), "model: the model has 5 Q/DQ");
  EXPECT_EQ(hits_of("not-quantized", paired("int8", "0")), "");
  EXPECT_EQ(hits_of("qdq-16-below-opset-21", paired("int16", "0", "0", 20)), "model: 4 16-bit Q/DQ in ai.onnx");
  EXPECT_EQ(hits_of("qdq-16-below-opset-21", paired("int16", "0", "0", 21)), "");
  EXPECT_EQ(hits_of("qdq-16-below-opset-21", paired("int16", "0", "0", 20, "com.microsoft")), "");
  EXPECT_EQ(hits_of("qdq-microsoft", paired("int16", "0", "0", 20, "com.microsoft")), "");
  EXPECT_EQ(hits_of("qdq-microsoft", paired("int8", "0", "0", 20, "com.microsoft")),
            "model: 4 8-bit Q/DQ in com.microsoft");
  const ir::Model vitis = test::target_model(
      "g (float[4] x) => (float[4] y) { y = com.vai.quantize.VitisInstanceNormalization (x) }", {"com.vai.quantize"});
  EXPECT_EQ(hits_of("qdq-vitis", vitis), "model: 1 nodes in com.vai.quantize");
  EXPECT_EQ(hits_of("qdq-quark", vitis), "");
}

}  // namespace
}  // namespace quarkq::targets
