// SPDX-License-Identifier: MIT
// Passes over the quantized graph, on the reference's own graphs: what each makes of the plain case is the recorded
// case, node by node and in order.
#include "config/load.h"
#include "pipeline/run/pass_runner.h"
#include "support/golden_quantized.h"
#include "support/pass_support.h"
#include "support/shared_records.h"
#include "support/written_plan.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

struct FinishCase {
  const char *model, *before, *after;
  std::vector<PassBench::Pass> passes;
  test::RecordedModel how = {};
};

/// Op pairs of the record's options.
config::List pairs_of(const nlohmann::json& record) {
  config::Node::List items;
  for (const auto& pair : record["extra_options"]["RemoveQDQBetweenOps"])
    items.push_back(config::Node::list_of(pair.get<std::vector<std::string>>()));
  return {config::Node(std::move(items))};
}

class FinishGoldenTest : public testing::TestWithParam<FinishCase> {};

TEST_P(FinishGoldenTest, MakesTheRecordedNodes) {
  const FinishCase& c = GetParam();
  const nlohmann::json before = test::golden_op_case(c.model, c.before), after = test::golden_op_case(c.model, c.after);
  QQ_NEED_RECORD(!before.is_null() && !after.is_null());
  PassBench bench(test::model_of_record(before, c.how), config::Settings());
  for (const PassBench::Pass& pass : c.passes) bench.run(pass);
  EXPECT_EQ(test::nodes_in_order(bench.graph()), test::recorded_nodes(after));
  const std::string once = ir::dump(bench.model);
  for (const PassBench::Pass& pass : c.passes) EXPECT_FALSE(bench.run(pass));
  EXPECT_EQ(ir::dump(bench.model), once);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FinishGoldenTest,
    testing::Values(FinishCase{"opt_cnn", "A8W8", "A8W8-DedicateDQNode", {dedicate_dq_node}},
                    FinishCase{"opt_cnn", "XINT8", "XINT8-DedicateDQNode", {dedicate_dq_node}},
                    FinishCase{"opt_cnn", "S8S8_AAWS", "S8S8_AAWS-DedicateDQNode", {dedicate_dq_node}},
                    FinishCase{"opt_cnn", "BF16", "BF16-DedicateDQNode", {dedicate_dq_node}},
                    FinishCase{"opt_cnn", "BF16", "BF16-BF16QDQToCast", {bf16_qdq_to_cast}},
                    FinishCase{
                        "opt_cnn", "BF16", "BF16-BF16QDQToCast_scaled", {bf16_qdq_to_cast}, {ElementType::kFloat, 2}},
                    FinishCase{"opt_cnn", "BF16", "BF16-EnableVaimlBF16", {bf16_qdq_to_cast, drop_bf16_casts}},
                    FinishCase{"opt_cnn", "BF16", "BF16-BF16WithClip", {bf16_with_clip}},
                    FinishCase{"opt_cnn", "BF16", "BF16-BF16WithClip_and_Cast", {bf16_qdq_to_cast, bf16_with_clip}},
                    FinishCase{"opt_block", "BF16", "BF16-BF16QDQToCast", {bf16_qdq_to_cast}},
                    FinishCase{"opt_block", "BF16", "BF16-EnableVaimlBF16", {bf16_qdq_to_cast, drop_bf16_casts}},
                    FinishCase{"opt_block", "BF16", "BF16-BF16WithClip", {bf16_with_clip}},
                    FinishCase{"half_precision",
                               "A8W8-no_cle_UseFP32Scale_false",
                               "A8W8-no_cle",
                               {use_fp32_scale},
                               {ElementType::kFloat16, 1}}),
    [](const auto& info) {
      std::string name = cat(info.param.model, "_", info.param.after);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// The same by way of the plan: import, remove, write.
class RemovePairsGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(RemovePairsGoldenTest, MakesTheRecordedNodes) {
  const std::string preset = GetParam();
  const nlohmann::json before = test::golden_op_case("opt_cnn", preset),
                       after = test::golden_op_case("opt_cnn", preset + "-RemoveQDQBetweenOps");
  QQ_NEED_RECORD(!before.is_null() && !after.is_null());
  config::Settings settings;
  settings.qdq.remove_qdq_between_ops = pairs_of(after);
  PassBench bench(test::model_of_record(before), settings);
  test::import_written(bench, preset);
  EXPECT_TRUE(bench.run(remove_pairs_between));
  bench.run(write_qdq);
  EXPECT_EQ(test::nodes_in_order(bench.graph()), test::recorded_nodes(after));
}

INSTANTIATE_TEST_SUITE_P(Presets, RemovePairsGoldenTest, testing::Values("A8W8", "XINT8"),
                         [](const auto& info) { return std::string(info.param); });

/// Values after Int16Bias are recorded; those before are the ones of the plain case.
TEST(Int16BiasGoldenTest, SaturatesLikeTheReference) {
  const nlohmann::json before = test::golden_op_case("opt_cnn", "A16W8"),
                       after = test::golden_op_case("opt_cnn", "A16W8-Int16Bias");
  QQ_NEED_RECORD(!before.is_null());
  ir::Model model = test::model_of_record(before);
  ir::GraphEdit edit(model.graph);
  for (const auto& [name, stored] : before["stored"].items()) {
    if (stored[0] != "INT32") continue;
    edit.set_constant(model.graph.find(name),
                      ir::Tensor::from<int32_t>(stored[1].get<ir::Shape>(), stored[2].get<std::vector<int32_t>>()));
  }
  PassBench bench(std::move(model));
  EXPECT_TRUE(bench.run(int16_bias));
  for (const Diagnostic& found : bench.diagnostics.all()) EXPECT_EQ(found.id, "bias-saturated") << found.text;
  EXPECT_EQ(bench.model.opset(), 21);
  EXPECT_EQ(test::nodes_in_order(bench.graph()), test::recorded_nodes(after));
  for (const auto& [name, stored] : after["stored"].items()) {
    if (stored[0] != "INT16") continue;
    const ir::Tensor* codes = bench.graph().constant(bench.value(name));
    ASSERT_NE(codes, nullptr) << name;
    EXPECT_TRUE(
        codes->same_as(ir::Tensor::from<int16_t>(stored[1].get<ir::Shape>(), stored[2].get<std::vector<int16_t>>())))
        << name;
  }
  EXPECT_FALSE(bench.run(int16_bias));
}

}  // namespace
}  // namespace quarkq::pass_tests
