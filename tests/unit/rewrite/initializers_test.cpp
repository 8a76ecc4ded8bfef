// SPDX-License-Identifier: MIT
// Copies of initializers with several readers.
#include "pipeline/run/pass_runner.h"
#include "support/pass_support.h"

namespace quarkq::pass_tests {
namespace {

using test::expect_fires;
using test::expect_idle;
using test::PassBench;

/// Two Convs and an Add that share weight and bias.
const char* const kShared = R"(g (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y)
    <float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2] b = {1, -1}, float[1] a = {2}> {
      c = Conv (x, w, b)
      d = Conv (c, w, b)
      e = Add (d, a)
      y = Add (e, a)
    })";

config::Settings settings_with(std::optional<std::vector<std::string>> shared, const std::string& preset = "A8W8") {
  config::Settings settings = test::settings_for(preset);
  settings.runtime.copy_shared_init = std::move(shared);
  settings.runtime.copy_bias_init = std::vector<std::string>{"Conv", "ConvTranspose", "Gemm"};
  return settings;
}

std::string inputs_of(const PassBench& bench, size_t node) {
  std::vector<std::string> names;
  for (const ir::ValueId input : bench.graph().node(bench.graph().order()[node]).inputs)
    names.push_back(bench.graph().value(input).name);
  return join(names, " ");
}

TEST(CopySharedInitTest, EachFurtherUseGetsACopy) {
  PassBench bench(test::model_of(kShared), settings_with(std::vector<std::string>{}));
  expect_fires(bench, copy_shared_init);
  EXPECT_EQ(inputs_of(bench, 0), "x w b");
  EXPECT_EQ(inputs_of(bench, 1), "c duplicatedw2 duplicatedb2");
  EXPECT_EQ(inputs_of(bench, 3), "e duplicateda2");
}

TEST(CopySharedInitTest, OnlyForTheListedOperators) {
  PassBench bench(test::model_of(kShared), settings_with(std::vector<std::string>{"Conv"}));
  expect_fires(bench, copy_shared_init);
  EXPECT_EQ(inputs_of(bench, 3), "e a");
  PassBench none(test::model_of(kShared), settings_with(std::vector<std::string>{"Gemm"}));
  expect_idle(none, copy_shared_init);
  PassBench off(test::model_of(kShared), settings_with(std::nullopt));
  expect_idle(off, copy_shared_init);
}

TEST(CopyBiasInitTest, CopiesBiasesOnly) {
  PassBench bench(test::model_of(kShared), settings_with(std::nullopt));
  expect_fires(bench, copy_bias_init);
  EXPECT_EQ(inputs_of(bench, 1), "c w duplicatedb2");
}

TEST(CopyBiasInitTest, NeedsSmallIntegersAndAMethodWithFloatScales) {
  PassBench power_of_two(test::model_of(kShared), settings_with(std::nullopt, "XINT8"));
  expect_idle(power_of_two, copy_bias_init);
  config::Settings wide = settings_with(std::nullopt);
  wide.formats.activation_type = config::DataType::kBFloat16;
  PassBench floats(test::model_of(kShared), wide);
  expect_idle(floats, copy_bias_init);
  config::Settings off = settings_with(std::nullopt);
  off.runtime.copy_bias_init = std::nullopt;
  PassBench nothing(test::model_of(kShared), off);
  expect_idle(nothing, copy_bias_init);
}

}  // namespace
}  // namespace quarkq::pass_tests
