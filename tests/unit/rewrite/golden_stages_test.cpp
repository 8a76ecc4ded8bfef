// SPDX-License-Identifier: MIT
// The reader of stage goldens against the models as loaded: the first stage must be what onnx_io::load makes of them.
#include "support/golden_stages.h"
#include "support/shared_records.h"

#include <gtest/gtest.h>

namespace quarkq::test {
namespace {

/// Constant nodes are compared by op and outputs only: load() turns their other attribute forms into tensors.
TEST(GoldenStagesTest, TheFirstStageIsTheModelAsLoaded) {
  const std::vector<std::string> models = models_with_stages("A8W8");
  QQ_NEED_RECORD(!models.empty());
  for (const std::string& model : models) {
    const std::vector<GoldenStage> stages = golden_stages(model, "A8W8");
    ASSERT_EQ(stages[0].name, "input");
    for (const std::string& difference : differences(shared_model(model).graph, stages[0]))
      ADD_FAILURE() << model << ": " << difference;
  }
}

TEST(GoldenStagesTest, TellsDifferencesAndWhereTheyAre) {
  QQ_NEED_RECORD(!models_with_stages("A8W8").empty());
  GoldenStage stage = golden_stages("resnet8_cifar10", "A8W8")[0];
  const ir::Model model = shared_model("resnet8_cifar10");
  ASSERT_TRUE(differences(model.graph, stage).empty());
  std::swap(stage.nodes[0], stage.nodes[1]);
  EXPECT_EQ(differences(model.graph, stage).size(), 1u);
  stage.nodes[0].inputs[0] = "other";
  stage.nodes[1].op = "Other";
  stage.nodes[2].name = "other";
  EXPECT_EQ(differences(model.graph, stage).size(), 4u);
  EXPECT_EQ(differences(model.graph, stage, {.node_names = false, .order = false}).size(), 2u);
}

}  // namespace
}  // namespace quarkq::test
