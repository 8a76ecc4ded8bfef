// SPDX-License-Identifier: MIT
// Every decision has a rule and a text of its own, and planning leaves one for each tensor of the graph.
#include "plan/decisions.h"

#include <set>

#include "support/npu_support.h"

namespace quarkq::pass_tests {
namespace {

using plan::Decision;
using plan::DecisionKind;
using test::PassBench;

TEST(DecisionsTest, EachKindReadsDifferently) {
  PassBench bench("g (float[2] x) => (float[2] y) { [n] y = Relu (x) }");
  std::set<std::string> texts;
  for (int kind = 0; kind <= static_cast<int>(DecisionKind::kPromoted); ++kind) {
    const Decision decision{bench.value("x"), static_cast<DecisionKind>(kind), bench.graph().order()[0]};
    const std::string text = plan::text(decision, bench.graph());
    EXPECT_TRUE(texts.insert(text).second) << text;
    EXPECT_TRUE(text.ends_with(" node n (Relu)")) << text;
    EXPECT_STRNE(plan::rule_name(decision.kind), "");
  }
  const Decision shared{bench.value("y"), DecisionKind::kShared, {}, bench.value("x")};
  EXPECT_EQ(plan::text(shared, bench.graph()), "shares the parameters of x");
}

std::set<std::string> rules_of(const PassBench& bench, const std::string& name) {
  std::set<std::string> rules;
  for (const Decision& decision : bench.context.plan.decisions) {
    if (decision.value == bench.value(name)) rules.insert(plan::rule_name(decision.kind));
  }
  return rules;
}

TEST(DecisionsTest, PlanningLeavesOneForEachTensor) {
  PassBench bench(test::model_of("g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y) "
                                 "<float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2] b = {1, 2}> "
                                 "{ [c] a = Conv (x, w, b) [r] f = Relu (a) [e] y = Erf (f) }"),
                  test::settings_for("XINT8"));
  test::run_phases(bench, {"select", "mark"});
  EXPECT_EQ(rules_of(bench, "w"), std::set<std::string>{"marker"});
  EXPECT_EQ(rules_of(bench, "x"), std::set<std::string>{"marker"});
  EXPECT_EQ(rules_of(bench, "a"), (std::set<std::string>{"marker", "absorb-annotated"}));
  EXPECT_EQ(rules_of(bench, "f"), (std::set<std::string>{"marker", "op-set"}));
  EXPECT_EQ(rules_of(bench, "y"), std::set<std::string>{"op-set"});
  for (const char* name : {"x", "w", "b", "a", "f", "y"}) EXPECT_FALSE(rules_of(bench, name).empty()) << name;
}

TEST(DecisionsTest, ExclusionAndInclusionAreToldApart) {
  const std::string net = "g (float[2] x) => (float[2] y) { [one] a = Add (x, x) [two] y = Add (a, a) }";
  PassBench excluded(test::model_of(net), test::settings_for("A8W8", {"exclude=[two]"}));
  test::run_phases(excluded, {"select", "mark"});
  EXPECT_EQ(rules_of(excluded, "y"), std::set<std::string>{"exclude"});
  PassBench included(test::model_of(net), test::settings_for("A8W8", {"nodes_to_quantize=[one]"}));
  test::run_phases(included, {"select", "mark"});
  EXPECT_EQ(rules_of(included, "y"), std::set<std::string>{"include"});
}

}  // namespace
}  // namespace quarkq::pass_tests
