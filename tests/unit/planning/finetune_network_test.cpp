// SPDX-License-Identifier: MIT
// The finetuning of the whole network as a pass: what is gained, that nothing gets worse, the same bytes for any number
// of threads and resumed runs, and which part is learned.
#include <omp.h>

#include <filesystem>

#include "ir/edit.h"
#include "planning/tune/augment.h"
#include "planning/tune/network.h"
#include "support/finetuning.h"

namespace quarkq::pass_tests {
namespace {

using planning::finetune::Augmentation;
using planning::finetune::Change;
using planning::finetune::Network;
using planning::finetune::PlacedRandom;
using test::Finetuning;

/// A detector in small: gates, a join of two scales, two outputs.
const std::string kDetector =
    cat("g (float[1, 3, 12, 12] x) => (float[1, 4, 6, 6] y, float[1, 5, 3, 3] z) <float[8, 3, 3, 3] w0 = ",
        test::numbers(216, 1), ", float[8] b0 = ", test::numbers(8, 2),
        ", float[8, 8, 3, 3] w1 = ", test::numbers(576, 3), ", float[8] b1 = ", test::numbers(8, 4),
        ", float[4, 16, 1, 1] w2 = ", test::numbers(64, 5), ", float[4] b2 = ", test::numbers(4, 6),
        ", float[5, 8, 1, 1] w3 = ", test::numbers(40, 7), ", float[4] scales = {1.0, 1.0, 2.0, 2.0}", R"(> {
  c0 = Conv<pads=[1, 1, 1, 1], strides=[2, 2]> (x, w0, b0)
  s0 = Sigmoid (c0)
  m0 = Mul (c0, s0)
  p = MaxPool<kernel_shape=[2, 2], strides=[2, 2]> (m0)
  c1 = Conv<pads=[1, 1, 1, 1]> (p, w1, b1)
  r1 = Relu (c1)
  u = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"> (r1, , scales)
  k = Concat<axis=1> (u, m0)
  y = Conv (k, w2, b2)
  z = Conv (r1, w3)
})");

Finetuning network_tuning(const std::string& preset, std::vector<std::string> sets = {}, size_t count = 16,
                          const std::string& body = kDetector) {
  sets.insert(sets.begin(), "FastFinetune.NumIterations=100");
  return Finetuning(preset, std::move(sets), count, body);
}

TEST(FinetuneNetworkTest, BringsTheOutputsCloser) {
  for (const char* preset : {"A8W8_NETWORK", "XINT8_NETWORK", "VINT8_NETWORK"}) {
    Finetuning tuning = network_tuning(preset);
    const std::string graph = ir::dump(tuning.bench.model);
    const double before = tuning.error();
    EXPECT_TRUE(tuning.run()) << preset;
    EXPECT_EQ(ir::dump(tuning.bench.model), graph) << preset;
    EXPECT_LT(tuning.error(), before) << preset;
    const auto& report = tuning.bench.context.tuning;
    ASSERT_EQ(report.layers.size(), 1u) << preset;
    EXPECT_EQ(report.layers[0].node, "network (4 layers)");
    EXPECT_LT(report.layers[0].error_after, report.layers[0].error_before) << preset;
    ASSERT_TRUE(report.outputs) << preset;
  }
}

TEST(FinetuneNetworkTest, StartsAtTheStoredCodes) {
  for (const char* preset : {"A8W8_NETWORK", "XINT8_NETWORK"}) {
    Finetuning tuning = network_tuning(preset, {"FastFinetune.NumIterations=1", "FastFinetune.LearningRate=1e-6"});
    const std::string before = tuning.codes();
    tuning.run();
    EXPECT_EQ(tuning.codes(), before) << preset;
  }
}

TEST(FinetuneNetworkTest, ThreadsAndMemoryDoNotShow) {
  const int before = omp_get_max_threads();
  std::string first;
  for (const int threads : {1, 2, 4}) {
    omp_set_num_threads(threads);
    Finetuning tuning = network_tuning("XINT8_NETWORK");
    tuning.run();
    if (first.empty()) first = tuning.codes();
    EXPECT_EQ(tuning.codes(), first) << threads << " threads";
  }
  omp_set_num_threads(before);
  Finetuning on_disk = network_tuning("XINT8_NETWORK", {"FastFinetune.MemOptLevel=2"});
  on_disk.run();
  EXPECT_EQ(on_disk.codes(), first);
  Finetuning other = network_tuning("XINT8_NETWORK", {"FastFinetune.FixedSeed=7"});
  other.run();
  EXPECT_NE(other.codes(), first);
}

TEST(FinetuneNetworkTest, GoesOnWhereItWasInterrupted) {
  const std::string folder = testing::TempDir() + "finetune_network_state";
  std::filesystem::remove_all(folder);
  Finetuning whole = network_tuning("XINT8_NETWORK", {"FastFinetune.NumIterations=230"});
  whole.run();
  for (const size_t stop_at : {size_t{30}, size_t{70}, size_t{120}, size_t{40}}) {
    Finetuning interrupted = network_tuning("XINT8_NETWORK", {"FastFinetune.NumIterations=230"});
    interrupted.bench.context.tuning.state_folder = folder;
    size_t calls = 0;
    interrupted.bench.context.progress = [&](size_t, size_t) { return ++calls < stop_at; };
    EXPECT_EQ(pipeline::run_pass(interrupted.bench.context, planning::finetune_weights).status().code(),
              Code::kInterrupted);
  }
  EXPECT_TRUE(std::filesystem::exists(folder + "/layer0.training.bin"));
  Finetuning resumed = network_tuning("XINT8_NETWORK", {"FastFinetune.NumIterations=230"});
  resumed.bench.context.tuning.state_folder = folder;
  size_t calls = 0;
  resumed.bench.context.progress = [&](size_t, size_t) { return ++calls > 0; };
  resumed.run();
  EXPECT_LT(calls, 150u);
  EXPECT_EQ(resumed.codes(), whole.codes());
  EXPECT_FALSE(std::filesystem::exists(folder + "/layer0.training.bin"));
}

TEST(FinetuneNetworkTest, LearnsWhatFollowsAnOperatorWithoutABackwardFunction) {
  const std::string sine =
      cat("g (float[1, 3, 12, 12] x) => (float[1, 5, 12, 12] y) <float[4, 3, 1, 1] w0 = ", test::numbers(12, 1),
          ", float[4, 4, 1, 1] w1 = ", test::numbers(16, 2), ", float[5, 4, 1, 1] w2 = ", test::numbers(20, 3),
          "> {\n  c = Conv (x, w0)\n  [sine] s = Sin (c)\n  d = Conv (s, w1)\n  r = Relu (d)\n  y = Conv (r, w2)\n}");
  Finetuning tuning = network_tuning("A8W8_NETWORK", {}, 16, sine);
  tuning.run();
  const auto& report = tuning.bench.context.tuning;
  ASSERT_EQ(report.layers.size(), 1u);
  EXPECT_EQ(report.layers[0].node, "network (2 layers)");
  std::string text;
  for (const auto& finding : tuning.bench.diagnostics.all()) text += finding.id + " " + finding.subject + "\n";
  EXPECT_NE(text.find("not-finetuned node sine (Sin)"), std::string::npos) << text;
}

TEST(FinetuneNetworkTest, LeavesOutWhatFollowsTheLastLayer) {
  const std::string sine =
      cat("g (float[1, 3, 12, 12] x) => (float[1, 4, 12, 12] y) <float[4, 3, 1, 1] w0 = ", test::numbers(12, 1),
          "> {\n  c = Conv (x, w0)\n  y = Sin (c)\n}");
  Finetuning tuning = network_tuning("A8W8_NETWORK", {}, 16, sine);
  tuning.run();
  ASSERT_EQ(tuning.bench.context.tuning.layers.size(), 1u);
  EXPECT_EQ(tuning.bench.context.tuning.layers[0].node, "network (1 layers)");
}

TEST(FinetuneNetworkTest, NamesSettingsThatItCannotUse) {
  for (const char* set : {"FastFinetune.OptimAlgorithm=adaround", "FastFinetune.Parallel=true",
                          "FastFinetune.SelectiveUpdate=true", "FastFinetune.RefModelPath=other.onnx"}) {
    Finetuning tuning("A8W8_NETWORK", {set});
    const Result<Changed> changed = pipeline::run_pass(tuning.bench.context, planning::finetune_weights);
    ASSERT_FALSE(changed.ok()) << set;
    EXPECT_NE(changed.status().message().find("FastFinetune.Unit"), std::string::npos) << changed.status().message();
  }
}

/// The simulated model of a text, its layers and the region that is learned.
struct Region {
  explicit Region(const std::string& outputs, const std::string& nodes) {
    model = test::model_of(cat(
        "g (float[1, 3, 12, 12] x) => (", outputs, ") <float[4, 3, 1, 1] wa = ", test::numbers(12, 1),
        ", float[4, 4, 1, 1] wb = ", test::numbers(16, 2), ", float scale = {0.1}, uint8 zero = {0}> { ", nodes, " }"));
    layers.reserve(8);
    for (const ir::NodeId id : model.graph.order()) {
      if (!model.graph.node(id).is("Conv")) continue;
      planning::finetune::Layer layer;
      layer.node = id;
      layers.push_back(layer);
    }
    Result<Network> made = planning::finetune::find_network(layers, model.graph, {});
    status = made.status();
    if (made.ok()) found = std::move(made).value();
  }
  std::string names(const std::vector<ir::ValueId>& values) const {
    std::string text;
    for (const ir::ValueId value : values) text += model.graph.value(value).name + " ";
    return text;
  }

  ir::Model model;
  std::vector<planning::finetune::Layer> layers;
  Status status;
  Network found;
};

TEST(FindNetworkTest, SpansFromInputsToOutputs) {
  const Region all("float[] y, float[] z", "a = Conv (x, wa) b = Conv (a, wb) y = Relu (b) z = Sigmoid (a)");
  EXPECT_EQ(all.found.region.nodes.size(), 4u);
  EXPECT_EQ(all.names(all.found.region.starts), "x ");
  EXPECT_EQ(all.names(all.found.region.ends), "y z ");
  EXPECT_TRUE(all.found.barriers.empty());
}

TEST(FindNetworkTest, BeginsAfterAnUnknownOperatorThatLayersFollow) {
  const Region part("float[] y, float[] z",
                    "a = Conv (x, wa) s = Sin (a) b = Conv (s, wb) y = Relu (b) z = Sigmoid (a)");
  EXPECT_EQ(part.names(part.found.region.starts), "s a ");
  EXPECT_EQ(part.names(part.found.region.ends), "y z ");
  ASSERT_EQ(part.found.region.layers.size(), 1u);
  ASSERT_EQ(part.found.barriers.size(), 1u);
}

TEST(FindNetworkTest, EndsBeforeAnUnknownOperatorAfterTheLastLayer) {
  const Region part("float[] y", "a = Conv (x, wa) b = Conv (a, wb) s = Sin (b) y = Relu (s)");
  EXPECT_EQ(part.names(part.found.region.ends), "b ");
  EXPECT_EQ(part.found.region.layers.size(), 2u);
  EXPECT_TRUE(part.found.barriers.empty());
}

TEST(FindNetworkTest, NamesTheOperatorThatLeavesNothing) {
  const Region none("float[] y", "s = Sin (x) y = Relu (s)");
  EXPECT_EQ(none.status.code(), Code::kUnsupported);
}

/// Channels of the calibrated model are those of the teacher, multiplied by factors.
TEST(FindTargetsTest, MeasuresFactorsOfChannels) {
  const Region region(
      "float[] y",
      "a = Conv (x, wa) r = Relu (a) m = MaxPool<kernel_shape=[1,1]> (r) "
      R"(q = quarkq.FakeQuantize<quantize_op="QuantizeLinear", quantize_domain="", dequantize_op="DequantizeLinear", )"
      R"(dequantize_domain=""> (m, scale, zero) y = Conv (q, wb))");
  ir::Model scaled = region.model;
  ir::Tensor weights = *scaled.graph.constant(scaled.graph.find("wa"));
  const auto values = weights.mutable_data<float>();
  for (size_t i = 0; i < 3; ++i) values[i] *= 3;  // channel 0
  ir::GraphEdit(scaled.graph).set_constant(scaled.graph.find("wa"), weights);
  const test::SmoothSamples data(2);
  const exec::Environment environment;
  Network network = region.found;
  const planning::finetune::NetworkModels models{scaled, scaled, region.model, nullptr, environment, data};
  ASSERT_TRUE(planning::finetune::find_targets(models, 2, network).ok());
  ASSERT_EQ(network.targets.size(), 2u);
  EXPECT_TRUE(network.targets[0].is_output);
  EXPECT_TRUE(network.targets[0].factors.empty());
  EXPECT_EQ(region.names(network.region.ends), "y q ");
  const std::vector<float>& factors = network.targets[1].factors;
  ASSERT_EQ(factors.size(), 4u);
  for (size_t c = 0; c < 4; ++c) {
    const bool is_seen = factors[c] > 0;
    EXPECT_NEAR(factors[c], !is_seen ? 0 : c == 0 ? 3 : 1, 0.05) << c;
  }
  EXPECT_GT(network.targets[0].power, 0);
  EXPECT_EQ(network.targets[0].sigmoid_power, 0);
}

TEST(FindTargetsTest, ComparesTheSigmoidThatTheTailApplies) {
  const Region region("float[] y, float[] z", "y = Conv (x, wa) z = Conv (y, wb)");
  const ir::Model tail = test::model_of(
      "t (float[1, 4, 12, 12] y, float[1, 4, 12, 12] z) => (float[] s, float[] r) <int64[2] shape = {4, 144}> {\n"
      "  v = Reshape (y, shape)\n  s = Sigmoid (v)\n  w = Relu (z)\n  r = Sigmoid (w)\n}");
  const test::SmoothSamples data(2);
  const exec::Environment environment;
  Network network = region.found;
  const planning::finetune::NetworkModels models{region.model, region.model, region.model, &tail, environment, data};
  ASSERT_TRUE(planning::finetune::find_targets(models, 2, network).ok());
  ASSERT_EQ(network.targets.size(), 2u);
  EXPECT_GT(network.targets[0].sigmoid_power, 0);
  EXPECT_EQ(network.targets[1].sigmoid_power, 0);
}

TEST(FindTargetsTest, ComparesTheValueBeforeASoftmax) {
  const Region region("float[] s", "y = Conv (x, wa) z = Conv (y, wb) s = Softmax<axis=1> (z)");
  const test::SmoothSamples data(2);
  const exec::Environment environment;
  Network network = region.found;
  EXPECT_EQ(region.names(network.region.ends), "s ");
  const planning::finetune::NetworkModels models{region.model, region.model, region.model, nullptr, environment, data};
  ASSERT_TRUE(planning::finetune::find_targets(models, 2, network).ok());
  EXPECT_EQ(region.names(network.region.ends), "z ");
  EXPECT_TRUE(network.targets[0].is_output);
}

TEST(FindTargetsTest, FailsWithoutAPartner) {
  const Region region("float[] y", "y = Conv (x, wa)");
  const ir::Model other =
      test::model_of("g (float[1, 3, 12, 12] x) => (float[1, 3, 12, 12] other) { other = Relu (x) }");
  const test::SmoothSamples data(2);
  const exec::Environment environment;
  Network network = region.found;
  const planning::finetune::NetworkModels models{region.model, region.model, other, nullptr, environment, data};
  EXPECT_EQ(planning::finetune::find_targets(models, 2, network).code(), Code::kUnsupported);
}

ir::Tensor image_of(const ir::Shape& dims) {
  ir::Tensor image = ir::Tensor::allocate(ElementType::kFloat, dims);
  const auto values = image.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return image;
}

TEST(AugmentationTest, CropsMirrorsAndScales) {
  for (const bool is_channels_last : {false, true}) {
    const ir::Shape dims = is_channels_last ? ir::Shape{1, 20, 24, 3} : ir::Shape{1, 3, 20, 24};
    const std::optional<Augmentation> images = Augmentation::of(dims);
    ASSERT_TRUE(images);
    const ir::Tensor image = image_of(dims);
    const ir::Tensor found = images->changed(image, {4, 2, 8, 6, true, 0.5f});
    EXPECT_EQ(found.dims(), images->shape(8, 6));
    const auto at = [&](const ir::Tensor& t, int64_t c, int64_t y, int64_t x) {
      const ir::Shape& d = t.dims();
      const int64_t place = is_channels_last ? (y * d[2] + x) * 3 + c : (c * d[2] + y) * d[3] + x;
      return t.data<float>()[static_cast<size_t>(place)];
    };
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t y = 0; y < 8; ++y)
        for (int64_t x = 0; x < 6; ++x) EXPECT_EQ(at(found, c, y, x), 0.5f * at(image, c, 4 + y, 2 + 5 - x));
  }
}

TEST(AugmentationTest, KeepsAnUnchangedImage) {
  for (const ir::Shape& dims : {ir::Shape{1, 1, 16, 16}, {1, 3, 20, 24}, {1, 20, 24, 3}}) {
    const std::optional<Augmentation> images = Augmentation::of(dims);
    ASSERT_TRUE(images);
    const ir::Tensor image = image_of(dims);
    const ir::Tensor same = images->changed(image, {0, 0, images->height(), images->width()});
    EXPECT_TRUE(same.same_as(image));
    const ir::Tensor mirrored = images->changed(image, {0, 0, images->height(), images->width(), true});
    EXPECT_FALSE(mirrored.same_as(image));
    const ir::Tensor twice = images->changed(mirrored, {0, 0, images->height(), images->width(), true});
    EXPECT_TRUE(twice.same_as(image));
  }
}

TEST(PlacedRandomTest, DrawsInTheirRange) {
  for (uint64_t place = 0; place < 200; ++place) {
    PlacedRandom random(9, 3, place);
    EXPECT_LT(random.below(7), 7u);
    const double share = random.uniform();
    EXPECT_GE(share, 0);
    EXPECT_LT(share, 1);
    EXPECT_NE(PlacedRandom(9, 3, place).uniform(), PlacedRandom(9, 4, place).uniform());
    EXPECT_NE(PlacedRandom(9, 3, place).uniform(), PlacedRandom(8, 3, place).uniform());
    EXPECT_NE(PlacedRandom(9, 3, place).uniform(), PlacedRandom(9, 3, place + 1).uniform());
  }
}

TEST(AugmentationTest, KeepsWhatIsNoImage) {
  for (const ir::Shape& dims : {ir::Shape{1, 8, 20, 24}, {2, 3, 20, 24}, {1, 3, 48, 320}, {1, 3, 12, 12}, {1, 3, 20}})
    EXPECT_FALSE(Augmentation::of(dims));
}

TEST(AugmentationTest, DrawsDependOnTheirPlaceOnly) {
  std::optional<Augmentation> images = Augmentation::of({1, 3, 64, 96});
  ASSERT_TRUE(images);
  images->allow_crop(32, 64);
  size_t crops = 0, mirrored = 0;
  for (uint64_t step = 0; step < 400; ++step) {
    PlacedRandom random(5, step, 1), again(5, step, 1);
    const Change change = images->draw(random), same = images->draw(again);
    EXPECT_EQ(change.left, same.left);
    EXPECT_EQ(change.brightness, same.brightness);
    EXPECT_LE(change.top + change.height, 64);
    EXPECT_LE(change.left + change.width, 96);
    EXPECT_TRUE(change.brightness >= 0.8f && change.brightness < 1.1f);
    crops += change.height == 32;
    mirrored += change.is_mirrored;
  }
  EXPECT_NEAR(static_cast<double>(crops), 200, 50);
  EXPECT_NEAR(static_cast<double>(mirrored), 200, 50);
}

}  // namespace
}  // namespace quarkq::pass_tests
