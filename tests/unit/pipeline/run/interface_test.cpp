// SPDX-License-Identifier: MIT
// Results have the inputs and outputs of the float model.
#include "pipeline/run/model_interface.h"

#include "support/pass_support.h"

namespace quarkq::pipeline {
namespace {

ir::Graph graph_of(const std::string& inputs, const std::string& outputs) {
  return test::model_of(cat("g (", inputs, ") => (", outputs, ") { y = Relu (x) z = Neg (x) }")).graph;
}

const char kX[] = "float[1, 4] x", kOutputs[] = "float[1, 4] y, float[1, 4] z";

TEST(InterfaceTest, AcceptsTheSameNamesAndTypes) {
  EXPECT_TRUE(check_interface(graph_of(kX, kOutputs), graph_of(kX, kOutputs)).ok());
  EXPECT_TRUE(check_interface(graph_of("float[N, 4] x", "float[N, 4] y, float[N, 4] z"), graph_of(kX, kOutputs)).ok());
}

TEST(InterfaceTest, RefusesOtherNamesOrdersAndTypes) {
  const ir::Graph wanted = graph_of(kX, kOutputs);
  for (const ir::Graph& found : {graph_of(kX, "float[1, 4] z, float[1, 4] y"), graph_of(kX, "float[1, 4] y"),
                                 graph_of("float[1, 4] x, float[1] w", kOutputs),
                                 graph_of("float16[1, 4] x", "float16[1, 4] y, float16[1, 4] z")}) {
    EXPECT_EQ(check_interface(wanted, found).code(), Code::kInternal);
  }
}

TEST(InterfaceTest, NamesWhatASettingChanged) {
  Diagnostics diagnostics;
  report_changed_interface(graph_of("float16[1, 4] x", "float16[1, 4] y, float16[1, 4] z"), graph_of(kX, kOutputs),
                           diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(
      diagnostics.all()[0].text,
      "x is FLOAT [1, 4] instead of FLOAT16 [1, 4]; y is FLOAT [1, 4] instead of FLOAT16 [1, 4]; z is FLOAT [1, 4] "
      "instead of FLOAT16 [1, 4]");
  Diagnostics none;
  report_changed_interface(graph_of(kX, kOutputs), graph_of(kX, kOutputs), none);
  EXPECT_TRUE(none.all().empty());
}

}  // namespace
}  // namespace quarkq::pipeline
