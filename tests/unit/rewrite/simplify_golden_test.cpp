// SPDX-License-Identifier: MIT
// Simplification of the shared models against the reference's records: nodes, names, wiring, constants and order.
#include "rewrite/simplify/simplify.h"
#include "support/golden_stages.h"
#include "support/pass_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

class SimplifyGoldenTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SimplifyGoldenTest, LeavesTheRecordedGraph) {
  const std::vector<std::string> models = test::models_with_stages(GetParam());
  QQ_NEED_RECORD(!models.empty());
  for (const std::string& model : models) {
    test::PassBench bench(test::shared_model(model));
    bench.run(simplify_model);
    const std::vector<test::GoldenStage> stages = test::golden_stages(model, GetParam());
    for (const std::string& difference : test::differences(bench.graph(), test::stage_named(stages, "simplify")))
      ADD_FAILURE() << model << ": " << difference;
  }
}

/// Something to feed a shared model with: unknown dimensions are 1, integers small (sample rates excepted).
std::vector<ir::Tensor> sample_for(const ir::Model& model) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<float> distribution(0, 1);
  std::vector<ir::Tensor> inputs;
  for (const ir::ValueId id : model.graph.required_inputs()) {
    const ir::Value& value = model.graph.value(id);
    ir::Shape dims;
    for (const ir::Dim& dim : value.type.dims) dims.push_back(dim.known() ? dim.size : 1);
    ir::Tensor tensor = ir::Tensor::zeros(value.type.element, dims);
    if (value.type.element == ElementType::kFloat) {
      for (float& number : tensor.mutable_data<float>())
        number = value.name == "input_mask" ? 0 : distribution(generator);
    } else if (value.type.element == ElementType::kInt64) {
      for (int64_t& number : tensor.mutable_data<int64_t>()) number = value.name == "sr" ? 16000 : 3;
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

TEST(SimplifySharedModelsTest, KeepsTheFunctionAndChangesNothingTwice) {
  const std::vector<std::string> models = test::models_with_stages("A8W8");
  QQ_NEED_RECORD(!models.empty());
  for (const std::string& name : models) {
    SCOPED_TRACE(name);
    test::PassBench bench(test::shared_model(name));
    const ir::Model before = bench.model;
    bench.run(simplify_model);
    const std::string once = ir::dump(bench.model);
    EXPECT_FALSE(bench.run(simplify_model));
    EXPECT_EQ(ir::dump(bench.model), once);
    exec::Session as_loaded(before, {}, {}), simplified(bench.model, {}, {});
    const auto expected = as_loaded.run(sample_for(before)), found = simplified.run(sample_for(bench.model));
    if (!expected.ok()) continue;  // a model that this sample does not suit
    ASSERT_TRUE(found.ok()) << found.status().message();
    for (size_t i = 0; i < expected.value()->size(); ++i) {
      const std::vector<double> x = ir::to_double((*expected.value())[i]).value();
      const std::vector<double> y = ir::to_double((*found.value())[i]).value();
      ASSERT_EQ(x.size(), y.size());
      double error = 0, size = 1e-12;
      for (size_t k = 0; k < x.size(); ++k) error += std::abs(x[k] - y[k]), size += std::abs(x[k]);
      EXPECT_LT(error / size, 1e-4) << "output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SimplifyGoldenTest, ::testing::Values("A8W8", "XINT8"));

}  // namespace
}  // namespace quarkq::pass_tests
