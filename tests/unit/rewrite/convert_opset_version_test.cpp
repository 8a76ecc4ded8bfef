// SPDX-License-Identifier: MIT
// The opset by request: up, down, refused, and against the reference's results.
#include "onnx_io/check_model.h"
#include "onnx_io/load.h"
#include "pipeline/run/pass_runner.h"
#include "rewrite/simplify/simplify.h"
#include "support/golden_ops.h"
#include "support/pass_support.h"
#include "support/shared_records.h"

namespace quarkq::pass_tests {
namespace {

using test::PassBench;

config::Settings to_opset(std::optional<int64_t> version) {
  config::Settings settings = test::settings_for("A8W8");
  settings.preprocessing.convert_opset_version = version;
  return settings;
}

const char* const kReduce = R"(g (float[1, 2, 3, 4] x) => (float[1, 2] y) {
      a = ReduceMean <axes = [2, 3], keepdims = 0> (x)
      y = Softmax <axis = 1> (a)
    })";

TEST(ConvertOpsetVersionTest, GoesUpAndOnce) {
  PassBench bench(test::model_of(kReduce, 13), to_opset(18));
  test::expect_fires(bench, convert_opset_version);
  EXPECT_EQ(bench.model.opset(), 18);
  EXPECT_EQ(bench.node("ReduceMean").find("axes"), nullptr);
  EXPECT_TRUE(onnx_io::check_model(bench.model).ok());
}

TEST(ConvertOpsetVersionTest, GoesDown) {
  const std::string relu = "g (float[1, 4] x) => (float[1, 4] y) { a = Relu(x)  y = Sigmoid(a) }";
  PassBench bench(test::model_of(relu, 21), to_opset(14));
  test::expect_fires(bench, convert_opset_version);
  EXPECT_EQ(bench.model.opset(), 14);
}

TEST(ConvertOpsetVersionTest, StaysWithoutTheOptionAndAtTheRightVersion) {
  PassBench off(test::model_of(kReduce, 13), to_opset(std::nullopt));
  test::expect_idle(off, convert_opset_version);
  PassBench same(test::model_of(kReduce, 13), to_opset(13));
  test::expect_idle(same, convert_opset_version);
}

TEST(ConvertOpsetVersionTest, WarnsAndKeepsWhatCannotBeConverted) {
  for (const int64_t target : {int64_t{99}, int64_t{0}, int64_t{-3}}) {
    PassBench bench(test::model_of(kReduce, 13), to_opset(target));
    test::expect_idle(bench, convert_opset_version);
    ASSERT_EQ(bench.diagnostics.all().size(), 1U);
    EXPECT_EQ(bench.diagnostics.all()[0].id, "opset-not-converted");
  }
  const std::string mish = "g (float[1, 4] x) => (float[1, 4] y) { y = Mish(x) }";
  PassBench bench(test::model_of(mish, 18), to_opset(11));
  test::expect_idle(bench, convert_opset_version);
  EXPECT_EQ(bench.diagnostics.all().size(), 1U);
}

TEST(ConvertOpsetVersionTest, ExcludedNodesStayExcluded) {
  config::Settings settings =
      test::settings_for("A8W8", {"nodes_to_exclude=[first]", "op_types_to_quantize=[ReduceMean, Softmax]"});
  settings.preprocessing.convert_opset_version = 18;
  PassBench bench(test::model_of(R"(g (float[1, 2, 3, 4] x) => (float[1, 2] y) {
        [first] a = ReduceMean <axes = [2, 3], keepdims = 0> (x)
        [second] y = Softmax <axis = 1> (a)
      })",
                                 13),
                  settings);
  bench.run(select_nodes);
  ASSERT_TRUE(bench.run(convert_opset_version));
  EXPECT_FALSE(bench.context.selection.selects(bench.node("ReduceMean")));
  EXPECT_TRUE(bench.context.selection.selects(bench.node("Softmax")));
}

struct OpsetCase {
  const char* model;
  int64_t target;
};

/// Where the reference's result is followed node by node. Resize is not among them: its empty roi becomes absent.
const OpsetCase kCases[] = {{"relu_o13", 17},    {"relu_o13", 21},       {"relu_o21", 17},
                            {"clip_0_6_o9", 17}, {"reduce_mean_hw", 18}, {"softmax_default_o11", 17},
                            {"squeeze_o11", 13}, {"split_sizes_o11", 17}};

TEST(ConvertOpsetVersionTest, LeavesTheNodesOfTheReference) {
  for (const OpsetCase& c : kCases) {
    SCOPED_TRACE(cat(c.model, " to ", c.target));
    const nlohmann::json record = test::golden_op_case(c.model, cat("A8W8-ConvertOpsetVersion_", c.target));
    QQ_NEED_RECORD(!record.is_null());
    Result<ir::Model> model = onnx_io::load(test::golden_ops_folder() + c.model + ".onnx");
    ASSERT_TRUE(model.ok()) << model.status().message();
    PassBench bench(std::move(model).value(), to_opset(c.target));
    const ir::Model before = bench.model;
    bench.run(select_nodes);
    EXPECT_TRUE(bench.run(convert_opset_version));
    test::expect_same_outputs(before, bench.model);
    bench.run(simplify_model);
    bench.run(convert_reduce_mean_to_global_avg_pool);
    bench.run(convert_split_to_slice);
    EXPECT_EQ(test::float_nodes(bench.graph()), test::recorded_float_nodes(record));
    EXPECT_EQ(bench.model.opset(), record["opsets"]["ai.onnx"].get<int64_t>());
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
