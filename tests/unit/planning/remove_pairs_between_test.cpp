// SPDX-License-Identifier: MIT
// RemoveQDQMulAdd and RemoveQDQBetweenOps on written models: import, decide on the plan, lower.
#include "support/legalize_samples.h"
#include "support/written_plan.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_idle;
using test::PassBench;

constexpr const char kParameters[] = "float s = {0.02}, int8 z = {0}";

/// x -> Mul -> Q -> DQ -> Add -> y, with `more` after.
std::string between(const std::string& outputs, const std::string& more, const std::string& q_input = "m") {
  return cat("g (float[4] x) => (", outputs, ") <float[4] w = {1, 2, 3, 4}, ", kParameters, "> {\n m = Mul (x, w)\n",
             "n = Relu (x)\n q = QuantizeLinear (", q_input, ", s, z)\n d = DequantizeLinear (q, s, z)\n",
             "y = Add (d, w)\n", more, "}");
}

config::Settings mul_add() {
  config::Settings settings;
  settings.qdq.remove_qdq_mul_add = true;
  return settings;
}

/// Did the pass find a pair, and which operators remain?
std::pair<bool, std::string> removed(PassBench& bench) {
  test::import_written(bench);
  const bool changed = bench.run(remove_pairs_between);
  EXPECT_FALSE(bench.run(remove_pairs_between));
  bench.run(write_qdq);
  return {changed, bench.ops()};
}

TEST(RemovePairsBetweenTest, TakesThePairBetweenMulAndAddOut) {
  PassBench bench(test::model_of(between("float[4] y", "")), mul_add());
  EXPECT_EQ(removed(bench), std::pair(true, std::string("Mul Relu Add")));
}

TEST(RemovePairsBetweenTest, LeavesPairsWithOtherReaders) {
  for (const auto& [outputs, more] :
       {std::pair("float[4] y, float[4] u", "u = Neg (d)\n"),
        std::pair("float[4] y, float[4] u", "u = DequantizeLinear (q, s, z)\n"),
        std::pair("float[4] y, float[4] d", ""), std::pair("float[4] y, int8[4] q", "")}) {
    PassBench bench(test::model_of(between(outputs, more)), mul_add());
    const auto [changed, ops] = removed(bench);
    EXPECT_FALSE(changed) << more << outputs;
    EXPECT_NE(ops.find("QuantizeLinear"), std::string::npos) << more << outputs;
  }
}

TEST(RemovePairsBetweenTest, LooksAtTheOperators) {
  PassBench other(test::model_of(between("float[4] y", "", "n")), mul_add());
  EXPECT_FALSE(removed(other).first);
  PassBench off(between("float[4] y", ""));
  test::import_written(off);
  expect_idle(off, remove_pairs_between);
}

TEST(RemovePairsBetweenTest, RefusesWhatIsNoPair) {
  config::Settings settings;
  settings.qdq.remove_qdq_between_ops = {config::Node(config::Node::List{config::Node("Conv")})};
  PassBench bench(test::model_of(between("float[4] y", "")), settings);
  const Result<Changed> changed = pipeline::run_pass(bench.context, remove_pairs_between);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace quarkq::pass_tests
