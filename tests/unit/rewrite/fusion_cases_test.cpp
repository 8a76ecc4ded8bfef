// SPDX-License-Identifier: MIT
// The five proofs of passes that fuse spelled-out operators (tests/support/pass_case.h).
#include "support/pass_case.h"
#include "support/pass_support.h"

namespace quarkq::test {
namespace {

PassCase instance_norm() {
  return {
      .pass = "fuse-instance-norm",
      .name = "SpelledOut",
      .model = cat(
          "g (float[2, 3, 4, 4] x) => (float[2, 3, 4, 4] y) <float[1] eps = {0.00001}, float[1, 3, 1, 1] w = ",
          numbers(3, 1), ", float[1, 3, 1, 1] b = ", numbers(3, 2),
          "> { mean = GlobalAveragePool (x) d = Sub (x, mean) q = Mul (d, d) var = GlobalAveragePool (q) e = Add (var, "
          "eps) s = Sqrt (e) "
          "r = Reciprocal (s) m = Mul (r, w) xm = Mul (x, m) mm = Mul (mean, m) bm = Sub (b, mm) y = Add (xm, bm) }"),
      .guards = {{"NoSquare", "q = Mul (d, d)", "q = Mul (d, x)"},
                 {"ScalesTheDifference", "xm = Mul (x, m)", "xm = Mul (d, m)"},
                 {"SumTheOtherWayRound", "y = Add (xm, bm)", "y = Add (bm, xm)"},
                 {"ShiftsByTheVariance", "mm = Mul (mean, m)", "mm = Mul (var, m)"},
                 {"HasAnotherReader", "(float[2, 3, 4, 4] y)", "(float[2, 3, 4, 4] y, float[N, C, H, W] xm)"}}};
}

PassCase l2_norm() {
  return {
      .pass = "fuse-l2-norm",
      .name = "SpelledOut",
      .model =
          "g (float[4, 8] x) => (float[4, 1, 8] y) <int64[1] one = {1}, int64[1] ax = {2}, int64[3] sh = {4, 1, 8}, "
          "float eps = {0.000000000001}> { u = Unsqueeze (x, one) q = Mul (u, u) s = ReduceSum (q, ax) m = Max (s, "
          "eps) n = Sqrt (m) "
          "r = Reciprocal (n) y = Mul (u, r) }",
      .guards = {{"NoSquare", "Mul (u, u)", "Mul (u, x)"},
                 {"SumsEverything", "ReduceSum (q, ax)", "ReduceSum (q)"},
                 {"FloorIsLarge", "= {0.000000000001}", "= {0.5}"},
                 {"HasAnotherReader", "(float[4, 1, 8] y)", "(float[4, 1, 8] y, float[A, B, C] n)"},
                 {"NoUnsqueeze", "u = Unsqueeze (x, one)", "u = Reshape (x, sh)"}}};
}

PassCase layer_norm() {
  return {
      .pass = "fuse-layer-norm",
      .name = "SpelledOut",
      .model = cat("g (float[2, 5, 8] x) => (float[2, 5, 8] y) <float two = {2}, float eps = {0.00001}, float[8] w = ",
                   numbers(8, 1), ", float[8] b = ", numbers(8, 2),
                   "> { mean = ReduceMean <axes = [-1]> (x) d = Sub (x, mean) p = Pow (d, two) v = ReduceMean <axes = "
                   "[2]> (p) e = Add (v, eps) "
                   "s = Sqrt (e) q = Div (d, s) f = Mul (q, w) y = Add (f, b) }"),
      .guards = {{"MeanOfAnotherAxis", "axes = [-1]", "axes = [1]"},
                 {"VarianceOfAnotherAxis", "axes = [2]", "axes = [1]"},
                 {"NoSquare", "two = {2}", "two = {3}"},
                 {"EpsilonIsLarge", "eps = {0.00001}", "eps = {0.1}"},
                 {"DifferenceTheOtherWayRound", "Sub (x, mean)", "Sub (mean, x)"},
                 {"HasAnotherReader", "(float[2, 5, 8] y)", "(float[2, 5, 8] y, float[A, B, C] q)"}}};
}

PassCase gelu() {
  return {.pass = "fuse-gelu",
          .name = "SpelledOut",
          .model =
              "g (float[2, 8] x) => (float[2, 8] y) <float root = {1.4142135}, float one = {1}, float half = {0.5}> "
              "{ d = Div (x, root) e = Erf (d) a = Add (e, one) m = Mul (x, a) y = Mul (m, half) }",
          .guards = {{"OtherDivisor", "root = {1.4142135}", "root = {1}"},
                     {"QuotientTheOtherWayRound", "Div (x, root)", "Div (root, x)"},
                     {"OtherSum", "Add (e, one)", "Add (e, half)"},
                     {"MultipliesTheQuotient", "Mul (x, a)", "Mul (d, a)"},
                     {"HasAnotherReader", "(float[2, 8] y)", "(float[2, 8] y, float[A, B] e)"}},
          .opset = 20,
          .tolerance = 1e-4};
}

const bool kFusionCases = add_pass_cases({instance_norm(), l2_norm(), layer_norm(), gelu()});

}  // namespace
}  // namespace quarkq::test
