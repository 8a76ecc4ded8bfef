// SPDX-License-Identifier: MIT
// The driver of rewrite rules: as often as something is found, but not for ever.
#include "rewrite/driver.h"

#include "support/pass_support.h"

namespace quarkq::rewrite {
namespace {

using test::PassBench;
using Proposal = Result<std::optional<ir::GraphPatch>>;

/// Turns a node with this operator into one with another.
Rule replaces(std::string from, std::string to) {
  return [from = std::move(from), to = std::move(to)](const ir::Graph&, const ir::Node& node) -> Proposal {
    if (!node.is(from.c_str())) return std::optional<ir::GraphPatch>();
    ir::GraphPatch patch;
    patch.remove(node.id);
    patch.node({to, "", node.name, {node.input(0)}, {node.output(0)}, {}});
    return std::optional(std::move(patch));
  };
}

TEST(RewriteDriverTest, AppliesARuleUntilNothingIsFound) {
  PassBench bench("g (float[2] x) => (float[2] y) { a = Relu (x) b = Relu (a) y = Neg (b) }");
  pass::FloatContext context = bench.context.float_context();
  const Result<Changed> changed = run_rule(context, "test", replaces("Relu", "Sigmoid"));
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed.value(), Changed::kYes);
  EXPECT_EQ(bench.ops(), "Sigmoid Sigmoid Neg");
  EXPECT_EQ(run_rule(context, "test", replaces("Relu", "Sigmoid")).value(), Changed::kNo);
  EXPECT_TRUE(bench.diagnostics.all().empty());
}

TEST(RewriteDriverTest, SaysWhenARuleDoesNotSettle) {
  PassBench bench("g (float[2] x) => (float[2] y) { y = Relu (x) }");
  pass::FloatContext context = bench.context.float_context();
  const Rule for_ever = replaces("Relu", "Relu");
  const Result<Changed> changed = run_rule(context, "never-content", for_ever);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(changed.value(), Changed::kYes);
  EXPECT_EQ(bench.ops(), "Relu");
  ASSERT_EQ(bench.diagnostics.all().size(), 1u);
  EXPECT_EQ(bench.diagnostics.all()[0].id, "pass-not-settled");
  EXPECT_EQ(bench.diagnostics.all()[0].subject, "never-content");
}

TEST(RewriteDriverTest, AnErrorOfARuleNamesThePass) {
  PassBench bench("g (float[2] x) => (float[2] y) { y = Relu (x) }");
  pass::FloatContext context = bench.context.float_context();
  const Rule fails = [](const ir::Graph&, const ir::Node&) -> Proposal { return internal_error("it cannot"); };
  const Result<Changed> changed = run_rule(context, "failing", fails);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.status().message().find("failing"), std::string::npos);
}

}  // namespace
}  // namespace quarkq::rewrite
