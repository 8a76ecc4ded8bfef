// SPDX-License-Identifier: MIT
// Spelled-out normalizations and Gelu: each fusion fires, keeps the function, and is idle where it must be.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::numbers;
using test::PassBench;

/// `text` with `from` replaced once.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string instance_norm() {
  return cat("g (float[2, 3, 4, 4] x) => (float[2, 3, 4, 4] y) <float[1] eps = {0.00001}, float[1, 3, 1, 1] w = ",
             numbers(3, 1), ", float[1, 3, 1, 1] b = ", numbers(3, 2),
             R"(> {
    mean = GlobalAveragePool (x)
    d = Sub (x, mean)
    q = Mul (d, d)
    var = GlobalAveragePool (q)
    e = Add (var, eps)
    s = Sqrt (e)
    r = Reciprocal (s)
    m = Mul (r, w)
    xm = Mul (x, m)
    mm = Mul (mean, m)
    bm = Sub (b, mm)
    y = Add (xm, bm)
  })");
}

TEST(FuseInstanceNormTest, FusesTheSpelledOutForm) {
  PassBench bench(instance_norm());
  expect_fires(bench, fuse_instance_norm);
  EXPECT_EQ(bench.ops(), "InstanceNormalization");
  EXPECT_EQ(bench.graph().constant(bench.value("w"))->dims(), (ir::Shape{3}));
}

TEST(FuseInstanceNormTest, OtherReadersOfTheWeightKeepItsShape) {
  PassBench bench(changed(changed(instance_norm(), "float[2, 3, 4, 4] y)", "float[2, 3, 4, 4] y, float[1, 3, 1, 1] z)"),
                          "y = Add", "z = Neg (w) y = Add"));
  expect_fires(bench, fuse_instance_norm);
  EXPECT_EQ(bench.graph().constant(bench.value("w"))->dims(), (ir::Shape{1, 3, 1, 1}));
}

TEST(FuseInstanceNormTest, KeepsWhatIsNotQuiteThat) {
  const std::pair<const char*, const char*> kChanges[] = {
      {"q = Mul (d, d)", "q = Mul (d, x)"},
      {"xm = Mul (x, m)", "xm = Mul (d, m)"},
      {"y = Add (xm, bm)", "y = Add (bm, xm)"},
      {"mm = Mul (mean, m)", "mm = Mul (var, m)"},
      {"(float[2, 3, 4, 4] y)", "(float[2, 3, 4, 4] y, float[N, C, H, W] xm)"}};
  for (const auto& [from, to] : kChanges) {
    PassBench bench(changed(instance_norm(), from, to));
    bench.run(fuse_instance_norm);
    EXPECT_EQ(bench.ops().find("InstanceNormalization"), std::string::npos) << to;
  }
}

std::string l2_norm(const std::string& axis = "2") {
  return cat("g (float[4, 8] x) => (float[4, 1, 8] y) <int64[1] one = {1}, int64[1] ax = {", axis,
             R"(}, float eps = {0.000000000001}> {
    u = Unsqueeze (x, one)
    q = Mul (u, u)
    s = ReduceSum (q, ax)
    m = Max (s, eps)
    n = Sqrt (m)
    r = Reciprocal (n)
    y = Mul (u, r)
  })");
}

TEST(FuseL2NormTest, FusesAlongAnyAxis) {
  for (const char* axis : {"2", "-1", "0"}) {
    PassBench bench(l2_norm(axis));
    expect_fires(bench, fuse_l2_norm);
    EXPECT_EQ(bench.ops(), "Unsqueeze LpNormalization");
    EXPECT_EQ(bench.node("LpNormalization").int_or("axis", -1), std::string(axis) == "0" ? 0 : -1);
  }
}

TEST(FuseL2NormTest, KeepsWhatIsNotQuiteThat) {
  const std::pair<const char*, const char*> kChanges[] = {
      {"Mul (u, u)", "Mul (u, x)"},
      {"ReduceSum (q, ax)", "ReduceSum (q)"},
      {"= {0.000000000001}", "= {0.5}"},
      {"(float[4, 1, 8] y)", "(float[4, 1, 8] y, float[A, B, C] n)"},
      {"u = Unsqueeze (x, one)", "u = Reshape (x, sh)"}};
  for (const auto& [from, to] : kChanges) {
    PassBench bench(changed(changed(l2_norm(), "float eps", "int64[3] sh = {4, 1, 8}, float eps"), from, to));
    bench.run(fuse_l2_norm);
    EXPECT_EQ(bench.ops().find("LpNormalization"), std::string::npos) << to;
  }
}

std::string layer_norm() {
  return cat("g (float[2, 5, 8] x) => (float[2, 5, 8] y) <float two = {2}, float eps = {0.00001}, float[8] w = ",
             numbers(8, 1), ", float[8] b = ", numbers(8, 2),
             R"(> {
    mean = ReduceMean <axes = [-1]> (x)
    d = Sub (x, mean)
    p = Pow (d, two)
    v = ReduceMean <axes = [2]> (p)
    e = Add (v, eps)
    s = Sqrt (e)
    q = Div (d, s)
    f = Mul (q, w)
    y = Add (f, b)
  })");
}

TEST(FuseLayerNormTest, FusesTheSpelledOutForm) {
  PassBench bench(layer_norm());
  expect_fires(bench, fuse_layer_norm);
  EXPECT_EQ(bench.ops(), "LayerNormalization");
  EXPECT_EQ(bench.node("LayerNormalization").name, "LayerNorm_0");
  PassBench other_order(changed(changed(layer_norm(), "Mul (q, w)", "Mul (w, q)"), "Add (v, eps)", "Add (eps, v)"));
  expect_fires(other_order, fuse_layer_norm);
  PassBench two_subs(changed(layer_norm(), "p = Pow (d, two)", "d2 = Sub (x, mean) p = Pow (d2, two)"));
  expect_fires(two_subs, fuse_layer_norm);
}

TEST(FuseLayerNormTest, KeepsWhatIsNotQuiteThat) {
  PassBench old(layer_norm(), 16);
  expect_idle(old, fuse_layer_norm);
  const std::pair<const char*, const char*> kChanges[] = {
      {"axes = [-1]", "axes = [1]"},      {"axes = [2]", "axes = [1]"},
      {"two = {2}", "two = {3}"},         {"eps = {0.00001}", "eps = {0.1}"},
      {"Sub (x, mean)", "Sub (mean, x)"}, {"(float[2, 5, 8] y)", "(float[2, 5, 8] y, float[A, B, C] q)"}};
  for (const auto& [from, to] : kChanges) {
    PassBench bench(changed(layer_norm(), from, to));
    expect_idle(bench, fuse_layer_norm);
  }
}

std::string gelu(const std::string& nodes) {
  return "g (float[2, 8] x) => (float[2, 8] y) <float root = {1.4142135}, float inverse = {0.70710678}, "
         "float one = {1}, float half = {0.5}> { " +
         nodes + " }";
}

TEST(FuseGeluTest, FusesEverySpelling) {
  const char* const kSpellings[] = {
      "d = Div (x, root) e = Erf (d) a = Add (e, one) m = Mul (x, a) y = Mul (m, half)",
      "d = Div (x, root) e = Erf (d) a = Add (e, one) m = Mul (a, half) y = Mul (x, m)",
      "d = Mul (x, inverse) e = Erf (d) a = Add (one, e) m = Mul (half, x) y = Mul (m, a)",
      "d = Mul (inverse, x) e = Erf (d) a = Add (e, one) m = Mul (a, x) y = Mul (half, m)"};
  for (const char* nodes : kSpellings) {
    PassBench bench(gelu(nodes), 20);
    expect_fires(bench, fuse_gelu, 1e-4);
    EXPECT_EQ(bench.ops(), "Gelu") << nodes;
    EXPECT_EQ(bench.node("Gelu").domain, "");
    PassBench old(gelu(nodes), 19);
    expect_idle(old, fuse_gelu);
    config::Settings compat = test::settings_for("A8W8");
    compat.compat = true;
    PassBench contrib(test::model_of(gelu(nodes), 20), compat);
    expect_fires(contrib, fuse_gelu, 1e-4);
    EXPECT_EQ(contrib.node("Gelu").domain, "com.microsoft");
    EXPECT_EQ(contrib.model.opset("com.microsoft"), 1);
  }
}

TEST(FuseGeluTest, KeepsWhatIsNotQuiteThat) {
  const char* const kOthers[] = {
      "d = Div (x, one) e = Erf (d) a = Add (e, one) m = Mul (x, a) y = Mul (m, half)",
      "d = Div (root, x) e = Erf (d) a = Add (e, one) m = Mul (x, a) y = Mul (m, half)",
      "d = Div (x, root) e = Erf (d) a = Add (e, half) m = Mul (x, a) y = Mul (m, half)",
      "d = Div (x, root) e = Erf (d) a = Add (e, one) m = Mul (d, a) y = Mul (m, half)",
      "d = Div (x, root) e = Erf (d) a = Add (e, one) m = Mul (x, a) z = Mul (m, half) y = Add (z, e)"};
  for (const char* nodes : kOthers) {
    PassBench bench(gelu(nodes), 20);
    expect_idle(bench, fuse_gelu);
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
