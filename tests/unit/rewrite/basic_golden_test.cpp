// SPDX-License-Identifier: MIT
// The shared models after the basic optimizer against the reference's records: nodes, names, wiring and order.
#include "pipeline/run/pass_runner.h"
#include "rewrite/simplify/simplify.h"
#include "support/golden_stages.h"
#include "support/pass_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

TEST(BasicGoldenTest, LeavesTheRecordedGraph) {
  // XINT8: the cases with copied biases differ from here on in what has nothing to do with this pass.
  const std::vector<std::string> models = test::models_with_stages("XINT8");
  QQ_NEED_RECORD(!models.empty());
  for (const std::string& model : models) {
    const std::vector<test::GoldenStage> stages = test::golden_stages(model, "XINT8");
    if (!test::has_stage(stages, "ort_basic")) continue;
    test::PassBench bench(test::shared_model(model));
    bench.run(simplify_model);
    bench.run(optimize_basic);
    test::CompareStage what;
    what.constant_names = false;
    for (const std::string& difference :
         test::differences(bench.graph(), test::stage_named(stages, "ort_basic"), what)) {
      ADD_FAILURE() << model << ": " << difference;
    }
    EXPECT_FALSE(bench.run(optimize_basic)) << model;
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
