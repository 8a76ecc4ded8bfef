// SPDX-License-Identifier: MIT
// Whole runs on random models, one for each family of formats: the result is a valid file, computes something close to
// the float model, and has the same bytes when the run is repeated.
#include <gtest/gtest.h>

#include "numeric/metrics.h"
#include "onnx_io/check_model.h"
#include "onnx_io/load.h"
#include "onnx_io/save.h"
#include "support/legalize_samples.h"
#include "support/random_graph.h"

namespace quarkq::pass_tests {
namespace {

struct RunCase {
  const char* preset;
  double least_cosine;  ///< of all outputs on a calibration sample, for ranges that are well known
  std::vector<std::string> sets = {};
};

void PrintTo(const RunCase& row, std::ostream* out) { *out << row.preset << " " << join(row.sets, " "); }

class RandomRunsTest : public ::testing::TestWithParam<RunCase> {
 protected:
  static ir::Model drawn(uint32_t seed) {
    test::RandomGraph graph(seed);
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(graph.grow()) << graph.failure();
    graph.close();
    ir::Model model = graph.model();
    Diagnostics ignored;
    EXPECT_TRUE(onnx_io::infer_types(model, ignored).ok());
    return model;
  }
  static std::vector<ir::Tensor> outputs(const ir::Model& model, const calib::DataReader& samples) {
    exec::Session session(model, {}, {});
    const auto found = session.run(samples.read(0).value().inputs);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? *found.value() : std::vector<ir::Tensor>{};
  }
  /// All passes; the serialized result.
  static std::string quantized(const ir::Model& model, const calib::DataReader& samples) {
    PassBench bench(model, test::settings_for(GetParam().preset, GetParam().sets));
    bench.context.source.data = &samples;
    std::vector<PassTime> times;
    const Status done = pipeline::run_passes(bench.context, {}, times, {});
    EXPECT_TRUE(done.ok()) << done.message();
    EXPECT_EQ(ir::verify(bench.model.graph).message(), "");
    return onnx_io::to_bytes(bench.model);
  }
  using PassBench = test::PassBench;
};

INSTANTIATE_TEST_SUITE_P(Presets, RandomRunsTest,
                         ::testing::Values(RunCase{"XINT8", 0.95}, RunCase{"A8W8", 0.98}, RunCase{"A16W8", 0.99},
                                           RunCase{"U8S8_AAWS", 0.98}, RunCase{"BF16", 0.999}, RunCase{"BFP16", 0.99},
                                           RunCase{"MX9", 0.99}, RunCase{"MXINT8", 0.99}, RunCase{"FP16", 0.999},
                                           RunCase{"UINT8_DYNAMIC_QUANT", 0.97},
                                           RunCase{"A8W8", 0.98, {"per_channel=true"}},
                                           RunCase{"A8W8", 0.98, {"DedicatedQDQPair=true", "include_cle=true"}}));

TEST_P(RandomRunsTest, ResultsAreValidCloseAndReproducible) {
  for (uint32_t seed = 500; seed < 502; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Model model = drawn(seed);
    const test::RandomSamples samples(model.graph, 4);
    const std::string bytes = quantized(model, samples);
    EXPECT_EQ(quantized(model, samples), bytes) << "the same run gives other bytes";
    const Result<ir::Model> loaded = onnx_io::load_bytes(bytes, "result");
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(onnx_io::check_model(loaded.value()).message(), "");
    const std::vector<ir::Tensor> exact = outputs(model, samples), found = outputs(loaded.value(), samples);
    ASSERT_EQ(found.size(), exact.size());
    for (size_t i = 0; i < exact.size(); ++i) {
      const std::string& name = model.graph.value(model.graph.outputs()[i]).name;
      EXPECT_EQ(loaded.value().graph.value(loaded.value().graph.outputs()[i]).name, name);
      ASSERT_EQ(found[i].dims(), exact[i].dims()) << name;
      ASSERT_EQ(found[i].type(), exact[i].type()) << name;
      const numeric::PairSums sums = numeric::pair_sums(test::values(exact[i]), test::values(found[i]));
      if (sums.norm_a < 1e-6) continue;  // no signal, no direction
      EXPECT_GE(numeric::cosine(sums), GetParam().least_cosine) << name;
    }
  }
}

}  // namespace
}  // namespace quarkq::pass_tests
