// SPDX-License-Identifier: MIT
// Alignment of scales: the recorded cases, the shared models, and int32 biases in both modes.
#include <filesystem>

#include "calib/range_file.h"
#include "planning/constrain/align_scales.h"
#include "support/npu_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;
using Json = nlohmann::ordered_json;

struct AlignBench : PassBench {
  explicit AlignBench(const std::string& body, const std::vector<std::string>& on = {}, bool is_compat = false)
      : PassBench(test::model_of(body), settings_with(on, is_compat)) {
    test::run_phases(*this, {"select", "mark"});
    run(order_as_written);
    test::fill_parameters(graph(), context.plan);
  }
  static config::Settings settings_with(const std::vector<std::string>& on, bool is_compat) {
    std::vector<std::string> sets = {"AlignConcat=false", "QuantizeAllOpTypes=true"};
    for (const std::string& name : on) sets.push_back(name + "=true");
    return is_compat ? test::compat_settings("A8W8", sets) : test::settings_for("A8W8", sets);
  }
  plan::ParamId id(const std::string& name) const { return context.plan.slot(value(name)).stage.params; }
  void set(const std::string& name, float scale, int32_t zero_point = 0) {
    context.plan.params.set(id(name), {{scale, zero_point}});
  }
  numeric::QuantParams params(const std::string& name) const { return context.plan.params[id(name)][0]; }
};

constexpr char kConcat[] = "g (float[2] a, float[2] b) => (float[4] y) { y = Concat <axis = 0> (a, b) }";

TEST(AlignScalesTest, ConcatGivesItsOutputsPairToTheInputs) {
  AlignBench bench(kConcat, {"AlignConcat"});
  bench.set("a", 0.1f, 10);
  bench.set("b", 0.02f, 100);
  bench.set("y", 0.05f, 3);
  EXPECT_TRUE(bench.run(align_scales));
  for (const char* name : {"a", "b", "y"}) EXPECT_EQ(bench.params(name), (numeric::QuantParams{0.05f, 3})) << name;
  EXPECT_FALSE(bench.run(align_scales));
}

TEST(AlignScalesTest, PoolAndSliceGiveTheirInputsPair) {
  AlignBench pool("g (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) { y = AveragePool <kernel_shape = [2, 2]> (x) }",
                  {"AlignPool"});
  pool.set("x", 0.1f, 10);
  pool.set("y", 0.05f, 3);
  EXPECT_TRUE(pool.run(align_scales));
  EXPECT_EQ(pool.params("y"), (numeric::QuantParams{0.1f, 10}));
  AlignBench slice("g (float[4] x) => (float[2] y) <int64[1] s = {0}, int64[1] e = {2}> { y = Slice (x, s, e) }",
                   {"AlignSlice"});
  slice.set("x", 0.1f);
  slice.set("y", 0.2f);
  EXPECT_TRUE(slice.run(align_scales));
  EXPECT_EQ(slice.params("y").scale, 0.1f);
}

TEST(AlignScalesTest, IdleWhenOffOrEqualOrWithoutAPair) {
  AlignBench off(kConcat);
  off.set("a", 0.1f);
  EXPECT_FALSE(off.run(align_scales));
  AlignBench equal(kConcat, {"AlignConcat"});
  EXPECT_FALSE(equal.run(align_scales));
  AlignBench constant("g (float[2] a) => (float[4] y) <float[2] b = {1, 2}> { y = Concat <axis = 0> (a, b) }",
                      {"AlignConcat"});
  constant.set("b", 0.5f);
  EXPECT_FALSE(constant.run(align_scales));
  EXPECT_EQ(constant.params("b").scale, 0.5f);
}

/// The Concats want two scales for b; rounds would never end.
constexpr char kTwoConcats[] =
    "g (float[2] a, float[2] b) => (float[4] y, float[4] z) "
    "{ y = Concat <axis = 0> (a, b) z = Concat <axis = 0> (b, b) }";

TEST(AlignScalesTest, StopsAfterMaxLoopNum) {
  AlignBench bench(kTwoConcats, {"AlignConcat"}, /*is_compat=*/true);
  bench.set("y", 0.1f);
  bench.set("z", 0.2f);
  EXPECT_TRUE(bench.run(align_scales));
  EXPECT_EQ(bench.diagnostics.all().back().id, "scales-not-settled");
}

TEST(AlignScalesTest, TheWidestScaleSettlesWhatRoundsDoNot) {
  AlignBench bench(kTwoConcats, {"AlignConcat"});
  bench.set("y", 0.1f, 7);
  bench.set("z", 0.2f, 1);
  EXPECT_TRUE(bench.run(align_scales));
  for (const char* name : {"a", "b", "y", "z"}) EXPECT_EQ(bench.params(name), (numeric::QuantParams{0.2f, 1})) << name;
  EXPECT_NE(bench.diagnostics.all().back().id, "scales-not-settled");
  EXPECT_FALSE(bench.run(align_scales));
}

constexpr char kConv[] =
    "g (float[1, 1, 2, 2] a, float[1, 1, 2, 2] b) => (float[1, 2, 2, 2] y) "
    "<float[2, 2, 1, 1] w = {1, 1, 1, 1}, float[2] bias = {10, -10.3}> "
    "{ x = Concat <axis = 1> (a, b) y = Conv (x, w, bias) }";

/// x 0.5, w 0.25, and a bias stored at scale 0.1.
void set_bias(AlignBench& bench) {
  bench.set("x", 0.5f);
  bench.set("w", 0.25f);
  bench.set("bias", 0.1f);
  bench.context.plan.slot(bench.value("bias")).codes = plan::store_codes({100, -103}, ElementType::kInt32, {2});
}

std::vector<int32_t> bias_codes(const AlignBench& bench) {
  const auto data = bench.context.plan.slot(bench.value("bias")).codes->data<int32_t>();
  return {data.begin(), data.end()};
}

TEST(AlignScalesTest, CompatModeTruncatesBiasCodes) {
  AlignBench bench(kConv, {}, /*is_compat=*/true);
  set_bias(bench);
  EXPECT_TRUE(bench.run(align_scales));
  EXPECT_EQ(bench.params("bias").scale, 0.125f);
  EXPECT_EQ(bias_codes(bench), (std::vector<int32_t>{80, -82}));
  EXPECT_FALSE(bench.run(align_scales));
}

TEST(AlignScalesTest, CompatModeLeavesABiasWithOneEqualChannel) {
  AlignBench bench(kConv, {}, /*is_compat=*/true);
  set_bias(bench);
  bench.context.plan.params.set(bench.id("w"), {{0.25f, 0}, {0.5f, 0}});
  bench.context.plan.params.set(bench.id("bias"), {{0.125f, 0}, {0.3f, 0}});
  EXPECT_FALSE(bench.run(align_scales));
  bench.context.plan.params.set(bench.id("bias"), {{0.1f, 0}, {0.3f, 0}});
  EXPECT_TRUE(bench.run(align_scales));
  EXPECT_EQ(bias_codes(bench), (std::vector<int32_t>{80, -123}));
}

TEST(AlignScalesTest, ByDefaultBiasesAreEncodedAgain) {
  AlignBench bench(kConv, {"AlignConcat"});
  set_bias(bench);
  bench.set("a", 0.3f);
  bench.set("b", 0.3f);
  EXPECT_TRUE(bench.run(align_scales));
  EXPECT_EQ(bench.params("bias").scale, 0.125f);
  EXPECT_EQ(bias_codes(bench), (std::vector<int32_t>{80, -82}));
  AlignBench off(kConv, {"AlignConcat"});
  off.settings.bias.adjust_bias_scale = false;
  set_bias(off);
  off.set("a", 0.3f);
  EXPECT_TRUE(off.run(align_scales));
  EXPECT_EQ(off.params("bias").scale, 0.1f);
}

class AlignSharedModelsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(AlignSharedModelsTest, AgreesWithTheReference) {
  const Json golden = test::golden_json(GetParam() + "/stages_A8W8.json");
  QQ_NEED_RECORD(golden.contains("aligned") && !golden["ranges"].empty());
  test::PlannedModel bench(GetParam(), test::compat_settings("A8W8"));
  const auto file = std::filesystem::temp_directory_path() / cat("quarkq_align_", GetParam(), ".json");
  calib::NamedRanges ranges;
  for (const auto& [name, range] : golden["ranges"].items()) {
    ranges[name] = {range[0].get<float>(), range[1].get<float>()};
  }
  ASSERT_TRUE(calib::save_ranges(file.string(), ranges, bench.settings.ranges.calibrate_method).ok());
  bench.settings.ranges.save_and_restore = file.string();
  test::run_phases(bench, {"calibrate"});
  std::filesystem::remove(file);
  bench.run(order_as_written);
  const plan::ParamPool before = bench.plan().params;
  bench.run(align_scales);
  std::map<std::string, std::vector<double>> changed;
  for (const plan::QuantSlot& slot : bench.plan().slots()) {
    const plan::ParamId id = slot.stage.params;
    if (slot.state == plan::SlotState::kAbsorbed) continue;
    if (before[id] == bench.plan().params[id]) continue;
    changed[test::golden_keys(bench.graph(), slot.value).front()] = {before[id][0].scale,
                                                                     bench.plan().params[id][0].scale};
  }
  std::vector<std::string> names, wanted;
  for (const auto& [name, scales] : changed) names.push_back(name);
  for (const auto& [name, scales] : golden["aligned"].items()) {
    if (!scales[0].is_number()) continue;
    wanted.push_back(name);
    if (!changed.contains(name)) continue;
    for (const size_t i : {0u, 1u}) EXPECT_NEAR(changed[name][i], scales[i].get<double>(), 1e-6 * changed[name][i]);
  }
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(names, wanted);
}

INSTANTIATE_TEST_SUITE_P(SharedModels, AlignSharedModelsTest, ::testing::ValuesIn(test::models_with_stages("A8W8")),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AlignSharedModelsTest);

}  // namespace
}  // namespace quarkq::pass_tests
