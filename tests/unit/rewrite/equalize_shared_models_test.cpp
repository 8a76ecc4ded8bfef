// SPDX-License-Identifier: MIT
// Fusions, equalization and hardware conversions of the shared models against the recorded stages of the reference, in
// compat mode, after simplification and the basic optimizer.
#include <algorithm>
#include <cmath>

#include "pipeline/run/pass_runner.h"
#include "rewrite/simplify/simplify.h"
#include "support/golden_stages.h"
#include "support/pass_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::GoldenStage;
using test::PassBench;

struct Step {
  const char* stage;
  Result<Changed> (*pass)(FloatContext&);
};

const Step kSteps[] = {{"simplify", simplify_model},
                       {"remove_input_init", remove_input_initializers},
                       {"copy_shared_init", copy_shared_init},
                       {"copy_bias_init", copy_bias_init},
                       {"ort_basic", optimize_basic},
                       {"fuse_instance_norm", fuse_instance_norm},
                       {"fuse_l2_norm", fuse_l2_norm},
                       {"fuse_layer_norm", fuse_layer_norm},
                       {"fuse_gelu", fuse_gelu},
                       {"fold_batch_norm", fold_batch_norm},
                       {"fold_batch_norm_after_concat", fold_batch_norm_after_concat},
                       {"cle_stem", equalize_stem},
                       {"cle_clip6_to_relu", replace_clip6_relu},
                       {"cle", cross_layer_equalization},
                       {"convert_reduce_mean_to_global_avg_pool", convert_reduce_mean_to_global_avg_pool},
                       {"split_large_kernel_pool", split_large_kernel_pool},
                       {"convert_split_to_slice", convert_split_to_slice},
                       {"convert_bn_to_conv", convert_bn_to_conv}};

struct Case {
  std::string model, preset;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.model << "_" << c.preset; }

class EqualizeSharedModelsTest : public ::testing::TestWithParam<Case> {};
class EqualizeByDefaultTest : public ::testing::TestWithParam<Case> {};

bool has_captures(const ir::Graph& graph) {
  return std::any_of(graph.order().begin(), graph.order().end(),
                     [&](ir::NodeId id) { return !graph.node(id).captures.empty(); });
}

TEST_P(EqualizeSharedModelsTest, AgreesWithTheReference) {
  const std::vector<GoldenStage> stages = test::golden_stages(GetParam().model, GetParam().preset);
  QQ_NEED_RECORD(!stages.empty());
  // The float model of BF16 is that of A8W8, and so are its options here.
  config::Settings settings = test::settings_for(GetParam().preset == "BF16" ? "A8W8" : GetParam().preset);
  settings.compat = true;
  settings.runtime.copy_bias_init = std::vector<std::string>{"Conv", "ConvTranspose", "Gemm"};
  PassBench bench(test::shared_model(GetParam().model), settings);
  bench.run(select_nodes);
  test::CompareStage what;
  what.tolerance = 1e-5;
  what.constant_names = false;  // they change nothing (ref:rewrites#basic-optimizer)
  for (const Step& step : kSteps) {
    if (!test::has_stage(stages, step.stage)) continue;
    if (test::stage_named(stages, step.stage).failed) break;
    bench.run(step.pass);
    // The record was taken before the sort that belongs to this step. With nested graphs the reference's order is no
    // valid one (ref:writing#node-order), ours is.
    what.order = step.pass != replace_clip6_relu && !has_captures(bench.graph());
    const std::vector<std::string> found =
        test::differences(bench.graph(), test::stage_named(stages, step.stage), what);
    ASSERT_TRUE(found.empty()) << step.stage << ": " << found.size() << " differences, first: " << found.front();
  }
}

/// Gives unknown sizes of inputs a value that run_model() can make up: batch 1, images 64. False when inputs are not
/// all float.
bool settle_inputs(ir::Model& model) {
  for (const ir::ValueId id : model.graph.required_inputs()) {
    ir::ValueType type = model.graph.value(id).type;
    if (type.element != ElementType::kFloat || !type.has_shape) return false;
    for (size_t i = 0; i < type.dims.size(); ++i) {
      if (!type.dims[i].known()) type.dims[i] = {i == 0 ? 1 : 64, {}};
    }
    ir::GraphEdit(model.graph).set_type(id, type);
  }
  return true;
}

TEST_P(EqualizeByDefaultTest, KeepsTheFunction) {
  PassBench bench(test::shared_model(GetParam().model));
  bench.run(select_nodes);
  bench.run(remove_input_initializers);
  // run_model() makes random floats only: a model with inputs of other types cannot be run here.
  if (!settle_inputs(bench.model)) GTEST_SKIP() << "inputs of other types";
  const std::vector<ir::Tensor> before = test::run_model(bench.model);
  for (const Step& step : kSteps) {
    const bool is_optimizer = step.pass == simplify_model || step.pass == optimize_basic;
    if (!is_optimizer && step.pass != replace_clip6_relu) bench.run(step.pass);
  }
  const std::vector<ir::Tensor> after = test::run_model(bench.model);
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    const std::vector<double> x = ir::to_double(before[i]).value(), y = ir::to_double(after[i]).value();
    double largest = 0, worst = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      largest = std::max(largest, std::abs(x[k]));
      worst = std::max(worst, std::abs(x[k] - y[k]));
    }
    EXPECT_LE(worst, 1e-4 * largest) << "output " << i;
  }
}

std::vector<Case> cases(const std::vector<std::string>& presets) {
  std::vector<Case> all;
  for (const std::string& preset : presets) {
    for (const std::string& model : test::models_with_stages(preset)) all.push_back({model, preset});
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.model + "_" + info.param.preset; }

INSTANTIATE_TEST_SUITE_P(SharedModels, EqualizeSharedModelsTest,
                         ::testing::ValuesIn(cases({"XINT8", "A8W8", "VINT8", "BF16"})), name_of);
INSTANTIATE_TEST_SUITE_P(SharedModels, EqualizeByDefaultTest, ::testing::ValuesIn(cases({"A8W8"})), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EqualizeSharedModelsTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EqualizeByDefaultTest);

}  // namespace
}  // namespace quarkq::pass_tests
