// SPDX-License-Identifier: MIT
// AdaRound and AdaQuant against recorded numbers, and on a layer whose weights are coarse.
#include <omp.h>

#include <cstring>
#include <numeric>
#include <random>

#include "base/hash.h"
#include "planning/tune/optimizer.h"
#include "planning/tune/saved_units.h"
#include "planning/tune/train_unit.h"
#include "support/golden_algorithms.h"
#include "support/pass_support.h"

namespace quarkq::planning::finetune {
namespace {

TEST(FinetuneFormulasTest, AdaRoundStartsAtTheWeights) {
  QQ_SKIP_WITHOUT_ALGORITHMS();
  const nlohmann::json& golden = test::golden_algorithms()["adaround_init"];
  const std::vector<float> w = test::flat(golden["w"]), alpha = test::flat(golden["alpha"]);
  for (size_t i = 0; i < w.size(); ++i) {
    const float scaled = w[i] / 0.1f;
    EXPECT_NEAR(alpha_of_fraction(scaled - std::floor(scaled)), alpha[i], 1e-4) << i;
  }
  const Grid grid{{1, 1, 8}, {{0.1f, 0}}, {-8, 7}};
  const auto variables = make_adaround(w, grid, config::FinetuneSettings(), 0.1);
  std::vector<float> now(w.size()), none;
  ASSERT_TRUE(variables->current(now, none).ok());
  const std::vector<float> soft = test::flat(golden["soft_qdq"]), hard = test::flat(golden["hard_qdq"]),
                           codes = test::flat(golden["hard_int"]);
  for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(now[i], soft[i], 1e-6) << i;
  ASSERT_TRUE(variables->final(now, none).ok());
  for (size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(now[i], hard[i], 1e-6) << i;
    EXPECT_EQ(static_cast<float>(variables->weight_codes()[i]), codes[i]) << i;
  }
}

/// A product of 32 x 16 whose weights have about 4 bits, and 256 inputs that depend on each other.
struct CoarseLayer {
  static constexpr size_t kDepth = 32, kColumns = 16, kSamples = 256;

  CoarseLayer()
      : model(test::model_of(cat("g (float[1,32] x) => (float[1,16] y) <float[32,16] w = ", test::numbers(512, 1),
                                 "> { y = MatMul (x, w) }"))),
        data(/*channels_last=*/false, store) {
    omp_set_num_threads(1);  // so little work waits longer for its threads than it takes
    std::mt19937 generator(4);
    std::normal_distribution<float> normal;
    weights.resize(kDepth * kColumns);
    std::vector<float> mixing(kDepth * kDepth);
    for (auto* list : {&weights, &mixing})
      for (float& value : *list) value = normal(generator);
    layer.kind = Layer::Kind::kProduct;
    layer.node = model.graph.order()[0];
    layer.weight = model.graph.find("w");
    layer.weight_dims = {kDepth, kColumns};
    unit = unit_of(layer, model.graph);
    float largest = 0;
    for (const float value : weights) largest = std::max(largest, std::abs(value));
    grid = {{1, 1, static_cast<int64_t>(weights.size())}, {{largest / 7, 0}}, {-128, 127}};
    for (size_t s = 0; s < kSamples; ++s) {
      std::vector<float> raw(kDepth), x(kDepth), y(kColumns);
      for (float& value : raw) value = normal(generator);
      for (size_t k = 0; k < kDepth; ++k)
        for (size_t j = 0; j < kDepth; ++j) x[k] += raw[j] * mixing[j * kDepth + k] / static_cast<float>(1 + j * j);
      for (size_t k = 0; k < kDepth; ++k)
        for (size_t n = 0; n < kColumns; ++n) y[n] += x[k] * weights[k * kColumns + n];
      EXPECT_TRUE(data.add_input(ir::Tensor::from<float>({1, kDepth}, x)).ok());
      EXPECT_TRUE(data.add_target(ir::Tensor::from<float>({1, kColumns}, y)).ok());
    }
  }

  ~CoarseLayer() { omp_set_num_threads(threads); }

  struct Errors {
    double before = 0, after = 0;
  };
  Errors train(const config::FinetuneSettings& options, bool adaround) {
    std::vector<LayerValues> now(1);
    now[0].weights.resize(weights.size());
    const Trainee trainee{unit, model, now, {}, data};
    UnitTrainer trainer(trainee, options);
    std::vector<size_t> all(kSamples);
    std::iota(all.begin(), all.end(), size_t{0});
    AdaQuantStart start;
    start.weights = weights;
    start.grid = grid;
    const auto nearest = make_adaquant(start, 1);
    UnitVariables variables;
    variables.push_back(adaround ? make_adaround(weights, grid, options, options.learning_rate)
                                 : make_adaquant(start, options.learning_rate));
    Errors errors;
    EXPECT_TRUE(nearest->final(now[0].weights, now[0].bias).ok());
    errors.before = trainer.error(now, all).value();
    EXPECT_TRUE(trainer.train(variables, all, 1, {}).ok());
    EXPECT_TRUE(variables[0]->final(now[0].weights, now[0].bias).ok());
    errors.after = trainer.error(now, all).value();
    return errors;
  }

  int threads = omp_get_max_threads();
  ir::Model model;
  Layer layer;
  Unit unit;
  ir::TensorStore store;
  LayerData data;
  std::vector<float> weights;
  Grid grid;
};

TEST(FinetuneFormulasTest, AdaRoundBeatsRoundingToNearest) {
  CoarseLayer layer;
  config::FinetuneSettings options;
  options.batch_size = 32;
  const CoarseLayer::Errors errors = layer.train(options, true);
  EXPECT_LT(errors.after, 0.7 * errors.before);  // recorded: 0.345 to 0.202
  options.early_stop = true;
  EXPECT_LE(layer.train(options, true).after, errors.before);
}

TEST(FinetuneFormulasTest, AdaQuantBeatsRoundingToNearest) {
  CoarseLayer layer;
  config::FinetuneSettings options;
  options.algorithm = config::FinetuneAlgorithm::kAdaQuant;
  options.batch_size = 32;
  options.learning_rate = 1e-4;
  const CoarseLayer::Errors errors = layer.train(options, false);
  EXPECT_LT(errors.after, errors.before);
}

TEST(FinetuneFormulasTest, TakesFloatInputsWhereItIsTold) {
  CoarseLayer layer;
  for (size_t i = 0; i < CoarseLayer::kSamples; ++i)
    EXPECT_TRUE(layer.data.add_float_input(ir::Tensor::zeros(ElementType::kFloat, {1, CoarseLayer::kDepth})).ok());
  config::FinetuneSettings options;
  options.iterations = 50;
  options.drop_ratio = 0;  // no input, no gradient: what is left is rounding to nearest
  options.reg_param = 0;
  const CoarseLayer::Errors errors = layer.train(options, true);
  EXPECT_NEAR(errors.after, errors.before, 1e-6);
}

TEST(FinetuneFormulasTest, HoldsSamplesOut) {
  EXPECT_EQ(partition(1, true).judging, (std::vector<size_t>{0}));
  EXPECT_EQ(partition(3, true).judging, (std::vector<size_t>{2}));
  EXPECT_EQ(partition(16, true).judging, (std::vector<size_t>{7, 15}));
  EXPECT_EQ(partition(16, true).training.size(), 14u);
  EXPECT_EQ(partition(16, false).training.size(), 16u);
}

TEST(FinetuneFormulasTest, StoreSpillsBeyondItsBudget) {
  ir::TensorStore store;
  EXPECT_TRUE(store.set_limit(1000).ok());
  std::vector<int> numbers;
  for (float value = 0; value < 10; ++value)
    numbers.push_back(store.keep(ir::Tensor::from<float>({100}, std::vector<float>(100, value))).value());
  EXPECT_LE(store.bytes_in_memory(), 1000);
  EXPECT_EQ(store.bytes_on_disk(), 3200);
  store.drop(numbers[5]);
  numbers[5] = store.keep(ir::Tensor::from<float>({100}, std::vector<float>(100, 5))).value();
  EXPECT_EQ(store.bytes_on_disk(), 3200);
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(store.get(numbers[i]).value().data<float>()[99], static_cast<float>(i));
  EXPECT_TRUE(store.set_limit(500).ok());  // what is in memory is moved, too
  EXPECT_LE(store.bytes_in_memory(), 500);
  EXPECT_EQ(store.bytes_on_disk(), 3600);
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(store.get(numbers[i]).value().data<float>()[99], static_cast<float>(i));
}

TEST(FinetuneFormulasTest, SavedUnitsThatCannotBeAreNotRead) {
  const auto read = [](const std::string& bytes) {
    ContentHash hash;  // the right one, so that only what is inside decides
    hash.add(std::string_view(bytes));
    return parse_saved_unit(hash.text() + bytes, "key");
  };
  SavedUnit unit;
  unit.kept = true;
  unit.layers = {{ir::Tensor::from<int8_t>({2, 3}, std::vector<int8_t>{1, 2, 3, 4, 5, 6}), {}}};
  const std::string good = encode_saved_unit("key", unit).substr(32);
  ASSERT_TRUE(read(good));
  EXPECT_TRUE(read(good)->layers[0].weight.same_as(unit.layers[0].weight));
  EXPECT_FALSE(parse_saved_unit(encode_saved_unit("other", unit), "key"));
  const size_t type = good.find("key") + 3 + 1 + 3 * sizeof(double) + sizeof(uint32_t), rank = type + 4, dim = rank + 8;
  const auto with = [&](size_t at, auto value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  for (const int32_t wrong : {8, 99, -1, 14}) EXPECT_FALSE(read(with(type, wrong))) << wrong;
  for (const int64_t wrong : {int64_t{-1}, INT64_MAX, int64_t{1} << 40, int64_t{3}}) {
    EXPECT_FALSE(read(with(rank, wrong))) << wrong;
    EXPECT_FALSE(read(with(dim, wrong))) << wrong;
  }
}

TEST(FinetuneFormulasTest, StoreNamesAFolderItCannotUse) {
  ir::TensorStore store("/no/such/folder");
  EXPECT_TRUE(store.set_limit(0).ok());
  const auto kept = store.keep(ir::Tensor::zeros(ElementType::kFloat, {4}));
  ASSERT_FALSE(kept.ok());
  EXPECT_NE(kept.status().message().find("/no/such/folder"), std::string::npos) << kept.status().message();
}

}  // namespace
}  // namespace quarkq::planning::finetune
