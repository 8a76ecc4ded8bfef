// SPDX-License-Identifier: MIT
// Compensated rounding in a plan: outputs come closer, on samples that it has not seen, too; scales stay; what it
// cannot do is left as it was.
#include <omp.h>

#include "exec/environment.h"
#include "exec/simulate.h"
#include "plan/constant_codes.h"
#include "support/legalize_samples.h"

namespace quarkq::pass_tests {
namespace {

using test::numbers;

/// Layers of several kinds one after the other, with inputs of one sign between them.
std::string network(int batch) {
  return cat(
      "g (float[", batch, ", 3, 8, 8] x) => (float[", batch, ", 10] y) <float[16, 3, 3, 3] w0 = ", numbers(432, 1),
      ", float[16] b0 = ", numbers(16, 2), ", float[16, 1, 3, 3] w1 = ", numbers(144, 3),
      ", float[16] b1 = ", numbers(16, 4), ", float[24, 16, 1, 1] w2 = ", numbers(384, 5),
      ", float[24] b2 = ", numbers(24, 6), ", float[24, 10] w3 = ", numbers(240, 7),
      ", float[10] b3 = ", numbers(10, 8), ", int64[2] shape = {", batch,
      ", 24}> {\n a = Conv <pads = [1, 1, 1, 1]> (x, w0, b0) r0 = Relu (a) ",
      "b = Conv <group = 16, pads = [1, 1, 1, 1]> (r0, w1, b1) r1 = Relu (b) c = Conv (r1, w2, b2) r2 = Relu (c) ",
      "p = GlobalAveragePool (r2) f = Reshape (p, shape) y = Gemm (f, w3, b3) }");
}

struct Planned {
  explicit Planned(const std::vector<std::string>& sets, const std::string& preset = "A8W8",
                   const std::string& model = network(8))
      : bench(test::model_of(model), test::settings_for(preset, sets)), samples(bench.graph(), 24, -1, 2) {
    bench.context.source.data = &samples;
    plan_until_tuning();
  }

  /// Everything that comes before phase tune, as a run does it.
  void plan_until_tuning() {
    std::vector<PassTime> times;
    const Status status = pipeline::run_passes(bench.context, {.until = pass::Phase::kTune}, times, {});
    EXPECT_TRUE(status.ok()) << status.message();
  }

  /// Noise of the outputs on samples that were not calibrated with.
  double noise() const {
    const Result<ir::Model> simulated = exec::simulate(bench.model, bench.context.plan);
    EXPECT_TRUE(simulated.ok()) << simulated.status().message();
    const test::RandomSamples all(bench.graph(), 40, -1, 2);
    return test::output_difference(*bench.context.calibrated, simulated.value(), all).square;
  }

  std::vector<double> codes(const std::string& name) const {
    const plan::QuantSlot& slot = bench.context.plan.slot(bench.model.graph.find(name));
    return slot.codes ? ir::to_double(*slot.codes).value() : std::vector<double>();
  }

  /// Scales and zero points of all tensors.
  std::vector<plan::ParamList> params() const {
    std::vector<plan::ParamList> all;
    for (const plan::QuantSlot& slot : bench.context.plan.slots())
      all.push_back(bench.context.plan.params[slot.stage.params]);
    return all;
  }

  test::PassBench bench;
  test::RandomSamples samples;
};

/// How much of the noise is left depends on how much of it came from the weights.
TEST(CompensateRoundingTest, BringsOutputsCloserAndLeavesScales) {
  constexpr struct {
    const char *preset, *more;
    double left;
  } kCases[] = {{"A8W8", "quarkq.range_headroom=1", 0.7},
                {"A8W8", "weight_type=QuantType.QInt4", 0.5},
                {"VINT8", "quarkq.guards=on", 1.2},
                {"XINT8", "quarkq.guards=on", 1.2}};  // activations make nearly all of it
  for (const auto& row : kCases) {
    Planned planned({"quarkq.rounding=compensated", row.more}, row.preset);
    const double before = planned.noise();
    const std::vector<plan::ParamList> params = planned.params();
    EXPECT_TRUE(planned.bench.run(compensate_rounding));
    EXPECT_LT(planned.noise(), row.left * before) << row.preset << ", " << row.more;
    EXPECT_EQ(planned.params(), params);
  }
}

TEST(CompensateRoundingTest, EveryLayerOfAKindItKnowsGetsOtherCodes) {
  Planned planned({"quarkq.rounding=compensated"});
  std::map<std::string, std::vector<double>> before;
  for (const char* name : {"w0", "w1", "w2", "w3"}) before[name] = planned.codes(name);
  EXPECT_TRUE(planned.bench.run(compensate_rounding));
  for (const auto& [name, codes] : before) {
    const std::vector<double> now = planned.codes(name);
    EXPECT_NE(now, codes) << name;
    ASSERT_EQ(now.size(), codes.size());
    for (size_t i = 0; i < now.size(); ++i) EXPECT_LE(std::abs(now[i] - codes[i]), 16) << name << ", " << i;
  }
}

/// The Gemm has one result for each of 12 samples.
TEST(CompensateRoundingTest, ALayerWithFewResultsKeepsItsBias) {
  Planned planned({"quarkq.rounding=compensated"}, "A8W8", network(1));
  const std::vector<double> biases = planned.codes("b3");
  EXPECT_TRUE(planned.bench.run(compensate_rounding));
  EXPECT_EQ(planned.codes("b3"), biases);
  EXPECT_NE(planned.codes("b2"), biases);
}

TEST(CompensateRoundingTest, WeightsAloneLeaveBiases) {
  Planned planned({"quarkq.rounding=compensated_weights"});
  const std::vector<double> weights = planned.codes("w2"), biases = planned.codes("b2");
  EXPECT_TRUE(planned.bench.run(compensate_rounding));
  EXPECT_NE(planned.codes("w2"), weights);
  EXPECT_EQ(planned.codes("b2"), biases);
}

TEST(CompensateRoundingTest, OnceMoreChangesNothing) {
  Planned planned({"quarkq.rounding=compensated"});
  EXPECT_TRUE(planned.bench.run(compensate_rounding));
  EXPECT_FALSE(planned.bench.run(compensate_rounding));
}

TEST(CompensateRoundingTest, ThreadsDoNotShow) {
  std::vector<std::vector<double>> found;
  const int threads = omp_get_max_threads();
  for (const int count : {1, 2, 3}) {
    exec::set_threads(count);
    Planned planned({"quarkq.rounding=compensated"});
    EXPECT_TRUE(planned.bench.run(compensate_rounding));
    found.emplace_back();
    for (const char* name : {"w0", "b0", "w1", "b1", "w2", "b2", "w3", "b3"}) {
      const std::vector<double> codes = planned.codes(name);
      found.back().insert(found.back().end(), codes.begin(), codes.end());
    }
  }
  exec::set_threads(threads);
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
}

TEST(CompensateRoundingTest, ChannelsKeepTheirOwnScales) {
  Planned planned({"quarkq.rounding=compensated", "per_channel=true"});
  const double before = planned.noise();
  const std::vector<plan::ParamList> params = planned.params();
  EXPECT_TRUE(planned.bench.run(compensate_rounding));
  EXPECT_EQ(planned.params(), params);
  EXPECT_LT(planned.noise(), before);
}

/// MatMul has its outputs in the last axis of the weights, a transposed Gemm in the first.
TEST(CompensateRoundingTest, ProductsComeCloserWhicheverWayWeightsLie) {
  for (const auto& [dims, product] : {std::pair{"32, 12", "MatMul (h, w)"}, {"12, 32", "Gemm <transB = 1> (h, w)"}}) {
    Planned planned({"quarkq.rounding=compensated"}, "A8W8",
                    cat("g (float[6, 32] x) => (float[6, 12] y) <float[", dims, "] w = ", numbers(384, 1),
                        "> { h = Relu (x) y = ", product, " }"));
    const double before = planned.noise();
    EXPECT_TRUE(planned.bench.run(compensate_rounding)) << product;
    EXPECT_LT(planned.noise(), before) << product;
  }
}

TEST(CompensateRoundingTest, WithoutSamplesWarns) {
  Planned planned({"quarkq.rounding=compensated", "quarkq.range_headroom=1"});  // whose own finding is no subject here
  planned.bench.context.source.data = nullptr;
  EXPECT_FALSE(planned.bench.run(compensate_rounding));
  ASSERT_EQ(planned.bench.diagnostics.all().size(), 1u);
  EXPECT_EQ(planned.bench.diagnostics.all()[0].id, "rounding-not-compensated");
}

TEST(CompensateRoundingTest, NothingQuantizedIsNothingChanged) {
  Planned planned({"quarkq.rounding=compensated", "op_types_to_quantize=[Relu]"});
  EXPECT_FALSE(planned.bench.run(compensate_rounding));
}

/// Fails when it is read.
struct NoSamples : calib::DataReader {
  size_t size() const override { return 24; }
  Result<calib::Sample> read(size_t /*index*/) const override { return bad_data("read"); }
};

TEST(CompensateRoundingTest, KeptWeightsNeedNoSamplesAgain) {
  Planned first({"quarkq.rounding=compensated_weights"});
  Planned second({"quarkq.rounding=compensated_weights"});
  first.bench.context.tuning.rounded = second.bench.context.tuning.rounded = std::make_shared<pass::RoundingCache>();
  EXPECT_TRUE(first.bench.run(compensate_rounding));
  const NoSamples none;
  second.bench.context.source.data = &none;
  EXPECT_TRUE(second.bench.run(compensate_rounding));
  for (const char* name : {"w0", "w1", "w2", "w3"}) EXPECT_EQ(second.codes(name), first.codes(name)) << name;
}

TEST(CompensateRoundingTest, OtherScalesAreRoundedAgain) {
  const auto kept = std::make_shared<pass::RoundingCache>();
  for (const char* sets : {"per_channel=false", "per_channel=true"}) {
    Planned cached({"quarkq.rounding=compensated", sets}), alone({"quarkq.rounding=compensated", sets});
    cached.bench.context.tuning.rounded = kept;
    EXPECT_TRUE(cached.bench.run(compensate_rounding));
    EXPECT_TRUE(alone.bench.run(compensate_rounding));
    for (const char* name : {"w0", "b0", "w1", "b1", "w2", "b2", "w3", "b3"})
      EXPECT_EQ(cached.codes(name), alone.codes(name)) << name << ", " << sets;
  }
}

TEST(CompensateRoundingTest, OtherGridsNeedNoSamplesAgain) {
  const auto kept = std::make_shared<pass::RoundingCache>();
  Planned first({"quarkq.rounding=compensated_weights"});
  first.bench.context.tuning.rounded = kept;
  EXPECT_TRUE(first.bench.run(compensate_rounding));
  Planned alone({"quarkq.rounding=compensated_weights", "per_channel=true"});
  EXPECT_TRUE(alone.bench.run(compensate_rounding));
  Planned other({"quarkq.rounding=compensated_weights", "per_channel=true"});
  other.bench.context.tuning.rounded = kept;
  const NoSamples none;
  other.bench.context.source.data = &none;
  EXPECT_TRUE(other.bench.run(compensate_rounding));
  for (const char* name : {"w0", "w1", "w2", "w3"}) EXPECT_EQ(other.codes(name), alone.codes(name)) << name;
}

TEST(CompensateRoundingTest, CanBeInterrupted) {
  Planned planned({"quarkq.rounding=compensated"});
  planned.bench.context.progress = [](size_t done, size_t) { return done < 3; };
  const Result<Changed> result = pipeline::run_pass(planned.bench.context, compensate_rounding);
  EXPECT_EQ(result.status().code(), Code::kInterrupted);
}

}  // namespace
}  // namespace quarkq::pass_tests
