// SPDX-License-Identifier: MIT
// The opset that a target asks for: exactly, or at most.
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

const char* const kReduce = R"(g (float[1, 2, 3, 4] x) => (float[1, 2] y) {
      [mean] a = ReduceMean <axes = [2, 3], keepdims = 0> (x)
      y = Softmax <axis = 1> (a)
    })";

config::Settings with(const std::vector<std::string>& sets) { return test::settings_for("A8W8", sets); }

TEST(LegalizeOpsetTest, ConvertsUpAndDown) {
  PassBench up(test::model_of(kReduce, 13), with({"legalize.opset=18"}));
  test::expect_fires(up, legalize_opset);
  EXPECT_EQ(up.model.opset(), 18);
  EXPECT_EQ(test::diagnostic_ids(up.diagnostics), (std::vector<std::string>{"opset-converted"}));
  PassBench down(test::model_of("g (float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }", 21),
                 with({"legalize.opset=17"}));
  test::expect_fires(down, legalize_opset);
  EXPECT_EQ(down.model.opset(), 17);
}

TEST(LegalizeOpsetTest, TheMostIsALimitOnly) {
  const std::string relu = "g (float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }";
  PassBench above(test::model_of(relu, 21), with({"legalize.most_opset=17"}));
  test::expect_fires(above, legalize_opset);
  EXPECT_EQ(above.model.opset(), 17);
  PassBench below(test::model_of(relu, 13), with({"legalize.most_opset=17"}));
  test::expect_idle(below, legalize_opset);
  EXPECT_TRUE(below.diagnostics.all().empty());
}

TEST(LegalizeOpsetTest, DoesNothingWithoutASetting) {
  PassBench bench(test::model_of(kReduce, 13), with({}));
  EXPECT_FALSE(bench.settings.legalizes_opset());
  test::expect_idle(bench, legalize_opset);
  EXPECT_TRUE(bench.diagnostics.all().empty()) << bench.diagnostics.all()[0].id;
}

TEST(LegalizeOpsetTest, TheUsersOwnOpsetIsStronger) {
  PassBench bench(test::model_of(kReduce, 13), with({"ConvertOpsetVersion=15", "legalize.opset=18"}));
  test::expect_idle(bench, legalize_opset);
}

TEST(LegalizeOpsetTest, WarnsAndKeepsWhatCannotBeConverted) {
  PassBench bench(test::model_of(kReduce, 13), with({"legalize.opset=99"}));
  test::expect_idle(bench, legalize_opset);
  EXPECT_EQ(test::diagnostic_ids(bench.diagnostics), (std::vector<std::string>{"opset-not-converted"}));
  PassBench mish(test::model_of("g (float[1, 4] x) => (float[1, 4] y) { y = Mish (x) }", 18),
                 with({"legalize.most_opset=11"}));
  test::expect_idle(mish, legalize_opset);
  EXPECT_EQ(mish.diagnostics.all().size(), 1U);
}

TEST(LegalizeOpsetTest, ExcludedNodesStayExcluded) {
  PassBench bench(test::model_of(kReduce, 13),
                  with({"legalize.opset=18", "nodes_to_exclude=[mean]", "op_types_to_quantize=[ReduceMean, Softmax]"}));
  bench.run(select_nodes);
  ASSERT_TRUE(bench.run(legalize_opset));
  EXPECT_FALSE(bench.context.selection.selects(bench.node("ReduceMean")));
  EXPECT_TRUE(bench.context.selection.selects(bench.node("Softmax")));
}

}  // namespace
}  // namespace quarkq::pass_tests
