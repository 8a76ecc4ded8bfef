// SPDX-License-Identifier: MIT
// Which layers are trained or corrected, why others are not, and what their constants are stored as.
#include "planning/tune/layers.h"

#include "exec/simulate.h"
#include "planning/tune/correct_bias.h"
#include "planning/tune/finetuner.h"
#include "planning/tune/layer_constants.h"
#include "support/finetuning.h"
#include "support/legalize_samples.h"

namespace quarkq::planning::finetune {
namespace {

using test::numbers;

/// A model planned up to phase tune, and what a search for layers finds in it.
struct SearchedLayers {
  explicit SearchedLayers(const std::string& body, const std::vector<std::string>& sets = {})
      : tuning("A8W8_ADAROUND", sets, 2, body) {
    const size_t before = tuning.bench.diagnostics.all().size();
    options = config::read_finetune_settings(tuning.bench.settings).value();
    layers = find_layers(tuning.bench.context.plan_context(), tuning.original.graph, options);
    const auto& all = tuning.bench.diagnostics.all();
    for (size_t i = before; i < all.size(); ++i) reasons.push_back(all[i].text);
  }
  std::string name(ir::ValueId id) const { return id.valid() ? tuning.bench.graph().value(id).name : "none"; }

  test::Finetuning tuning;
  config::FinetuneSettings options;
  std::vector<Layer> layers;
  std::vector<std::string> reasons;
};

/// `node` on images of 3 channels; it makes y.
std::string one_layer(const std::string& node, const std::string& weight) {
  return cat("g (float[1, 3, 12, 12] x) => (float[] y) <", weight, "> { ", node, " }");
}

TEST(FindLayersTest, SaysWhyALayerIsNotTrained) {
  const std::string conv = cat("float[4, 3, 3, 3] w = ", numbers(108, 1)),
                    matrix = cat("float[12, 5] w = ", numbers(60, 2));
  const std::pair<std::string, const char*> rows[] = {
      {one_layer("[layer] y = Conv (x, w)", conv), ""},
      {one_layer("[layer] y = ConvTranspose <strides = [2, 2], output_padding = [1, 1]> (x, w)",
                 cat("float[3, 4, 3, 3] w = ", numbers(108, 1))),
       "it pads its output"},
      {one_layer("[layer] y = ConvTranspose <strides = [2, 2], output_shape = [24, 24]> (x, w)",
                 cat("float[3, 4, 3, 3] w = ", numbers(108, 1))),
       "it states its output shape"},
      {one_layer("f = Flatten <axis = 2> (x) [layer] y = Gemm <transA = 1> (f, w)",
                 cat("float[3, 5] w = ", numbers(15, 1))),
       "its input is transposed"},
      {one_layer("[layer] y = MatMul (x, w)", matrix), ""},
      {one_layer("[layer] y = MatMul (x, w)", cat("float[3, 12, 5] w = ", numbers(180, 1))),
       "its weights are not a matrix"},
  };
  for (const auto& [body, reason] : rows) {
    SearchedLayers found(body);
    EXPECT_EQ(join(found.reasons, "; "), reason) << body;
    EXPECT_EQ(found.layers.size(), *reason == '\0' ? 1u : 0u) << body;
  }
}

TEST(FindLayersTest, TellsWhereALayerBeginsAndEnds) {
  const SearchedLayers found(test::kConvs);
  std::string text;
  for (const Layer& layer : found.layers) {
    text += cat(found.name(layer.start), " ", found.name(layer.weight), " ", found.name(layer.bias), " ",
                found.name(layer.end), " ", static_cast<int>(layer.activation.kind), layer.transposed ? " turned" : "",
                "\n");
  }
  EXPECT_EQ(text, "x w0 b0 r0 1\nr0 w1 b1 c1 0\nf w2 b2 y 0 turned\n");
  EXPECT_EQ(found.layers[0].exact.end, found.tuning.original.graph.find("r0"));
}

TEST(FindLayersTest, OnlyOperatorsThatAreAskedFor) {
  const SearchedLayers found(test::kConvs, {"FastFinetune.TargetOpType=[Gemm]"});
  ASSERT_EQ(found.layers.size(), 1u);
  EXPECT_EQ(found.name(found.layers[0].weight), "w2");
  EXPECT_TRUE(found.reasons.empty()) << "what is not asked for needs no notice";
}

struct ReadActivation {
  std::string node;
  bool is_read;
  Activation::Kind kind = Activation::Kind::kNone;
  float low = 0, high = 0;
  std::vector<float> slopes = {};
};

TEST(ReadActivationTest, LimitsAndSlopesAreConstants) {
  using Kind = Activation::Kind;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const ReadActivation rows[] = {
      {"Relu (x)", true, Kind::kClip, 0, kInf},
      {"Clip (x)", true, Kind::kClip, -kInf, kInf},
      {"Clip (x, , six)", true, Kind::kClip, -kInf, 6},
      {"Clip (x, zero, six)", true, Kind::kClip, 0, 6},
      {"Clip (x, limit)", false},
      {"LeakyRelu (x)", true, Kind::kLeakyRelu, 0, 0, {0.01f}},
      {"LeakyRelu <alpha = 0.25> (x)", true, Kind::kLeakyRelu, 0, 0, {0.25f}},
      {"PRelu (x, one)", true, Kind::kLeakyRelu, 0, 0, {0.5f}},
      {"PRelu (x, slopes)", true, Kind::kLeakyRelu, 0, 0, {1, 2, 3}},
      {"PRelu (x, batched)", true, Kind::kLeakyRelu, 0, 0, {1, 2, 3}},
      {"PRelu (x, columns)", false},
      {"Tanh (x)", true, Kind::kTanh},
      {"Sigmoid (x)", true, Kind::kSigmoid},
      {"Gelu (x)", true, Kind::kGelu},
      {"Gelu <approximate = \"tanh\"> (x)", true, Kind::kTanhGelu},
      {"com.microsoft.Gelu (x)", true, Kind::kGelu},
      {"com.microsoft.Relu (x)", false},
      {"Elu (x)", false},
  };
  for (const ReadActivation& row : rows) {
    const Result<ir::Model> model = onnx_io::parse_model_text(cat(
        "<ir_version: 8, opset_import: [\"\" : 20, \"com.microsoft\" : 1]>\ng (float[2, 3, 4, 3] x, float limit) => "
        "(float[2, 3, 4, 3] y) <float zero = {0}, float six = {6}, float[1] one = {0.5}, float[3, 1, 1] slopes = {1, "
        "2, 3}, float[1, 3, 1, 1] batched = {1, 2, 3}, float[3] columns = {1, 2, 3}> { y = ",
        row.node, " }"));
    ASSERT_TRUE(model.ok()) << model.status().message();
    const ir::Graph& graph = model.value().graph;
    Activation read;
    ASSERT_EQ(read_activation(graph, graph.node(graph.order()[0]), read), row.is_read) << row.node;
    if (!row.is_read) continue;
    EXPECT_EQ(read.kind, row.kind) << row.node;
    EXPECT_EQ(read.low, row.low) << row.node;
    EXPECT_EQ(read.high, row.high) << row.node;
    EXPECT_EQ(read.slopes, row.slopes) << row.node;
  }
}

TEST(ReferToTest, SaysWhatTheReferenceModelLacks) {
  const std::string own =
      cat("g (float[1, 3, 12, 12] x) => (float[1, 4, 10, 10] y) <float[4, 3, 3, 3] w = ", numbers(108, 1),
          ", float[4] b = ", numbers(4, 2), "> { [layer] c = Conv (x, w, b) [act] y = Relu (c) }");
  const SearchedLayers found(own);
  ASSERT_EQ(found.layers.size(), 1u);
  const auto with = [](const std::string& nodes, const std::string& weight = "float[4, 3, 3, 3] w") {
    const size_t count = weight.find("[4, 3, 1") == std::string::npos ? 108 : 12;
    return cat("g (float[1, 3, 12, 12] x) => (float[] y) <", weight, " = ", numbers(count, 5),
               ", float[4] b = ", numbers(4, 6), ", float[3, 4, 3, 3] t = ", numbers(108, 1), "> { ", nodes, " }");
  };
  const std::pair<std::string, const char*> rows[] = {
      {with("[layer] c = Conv (x, w, b) y = Relu (c)"), ""},
      {with("[other] c = Conv (x, w, b) y = Relu (c)"), "the reference model has no node of this name"},
      {with("[layer] c = ConvTranspose (x, t) y = Relu (c)"), "the reference model has a ConvTranspose of this name"},
      {with("a = Abs (w) [layer] c = Conv (x, a, b) y = Relu (c)"), "the reference model has no float weights there"},
      {with("[layer] c = Conv (x, w, b) y = Relu (c)", "float[4, 3, 1, 1] w"),
       "the reference model's weights have another shape"},
      {with("[layer] c = Conv (x, w) y = Relu (c)"), "only one of both models has a bias there"},
      {with("[layer] c = Conv (x, w, b) y = Tanh (c)"), "the reference model has another activation after it"},
      {with("[layer] y = Conv (x, w, b)"), "the reference model has another activation after it"},
  };
  for (const auto& [body, reason] : rows) {
    const ir::Model reference = test::model_of(body);
    std::vector<Layer> layers = found.layers;
    Diagnostics diagnostics;
    refer_to(reference.graph, found.tuning.original.graph, diagnostics, layers);
    EXPECT_EQ(layers.empty(), *reason != '\0') << body;
    if (*reason == '\0') {
      EXPECT_EQ(layers[0].exact.weight, reference.graph.find("w"));
      EXPECT_EQ(layers[0].exact.end, reference.graph.find("y"));
      EXPECT_TRUE(diagnostics.all().empty());
    } else {
      ASSERT_EQ(diagnostics.all().size(), 1u) << body;
      EXPECT_EQ(diagnostics.all()[0].text, reason);
      EXPECT_EQ(diagnostics.all()[0].subject, found.layers[0].label);
    }
  }
}

TEST(ReferToTest, AQuantizedReferenceIsReadBeforeItsPairs) {
  const SearchedLayers found(cat("g (float[1, 3, 12, 12] x) => (float[1, 4, 12, 12] y) <float[4, 3, 1, 1] w = ",
                                 numbers(12, 1), "> { [layer] y = Conv (x, w) }"));
  ASSERT_EQ(found.layers.size(), 1u);
  const ir::Model reference = test::model_of(cat(
      "g (float[1, 3, 12, 12] x) => (float[1, 4, 12, 12] y) <float[4, 3, 1, 1] w = ", numbers(12, 2),
      ", float s = {0.5}, int8 z = {0}> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) [layer] y = Conv "
      "(d, w) }"));
  std::vector<Layer> layers = found.layers;
  Diagnostics diagnostics;
  refer_to(reference.graph, found.tuning.original.graph, diagnostics, layers);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].exact.start, reference.graph.find("x"));
}

/// Labels of the layers whose bias can be corrected, then the reasons of the others.
std::string correctable(const std::string& nodes, const std::string& outputs = "float[] y") {
  const std::string body = cat("g (float[1, 3, 12, 12] x) => (", outputs, ") <float[4, 3, 1, 1] w = ", numbers(12, 1),
                               ", float[4, 4, 1, 1] v = ", numbers(16, 2), ", float[4] b = ", numbers(4, 3),
                               ", float[4] b1 = ", numbers(4, 4), "> { ", nodes, " }");
  test::Finetuning planned("A8W8", {}, 2, body);
  const ir::Model simulated = exec::simulate(planned.bench.model, planned.bench.context.plan).value();
  const size_t before = planned.bench.diagnostics.all().size();
  const auto layers = bias_layers(planned.bench.context.plan_context(), simulated.graph);
  EXPECT_TRUE(layers.ok()) << layers.status().message();
  std::string text;
  for (const BiasLayer& layer : layers.value()) {
    text += cat(layer.label, " ends at ", planned.bench.graph().value(layer.float_end).name, "; ");
    EXPECT_EQ(layer.stored.size(), 4);
  }
  const auto& all = planned.bench.diagnostics.all();
  for (size_t i = before; i < all.size(); ++i) text += cat(all[i].subject, ": ", all[i].text, "; ");
  return text;
}

TEST(BiasLayersTest, EndAfterTheirActivation) {
  EXPECT_EQ(correctable("[one] c = Conv (x, w, b) r = Relu (c) [two] y = Conv (r, v, b1)"),
            "node one (Conv) ends at r; node two (Conv) ends at y; ");
  EXPECT_EQ(correctable("[one] c = Conv (x, w) y = Relu (c)"), "") << "without a bias there is nothing to correct";
}

TEST(BiasLayersTest, ABiasThatOthersReadStays) {
  const std::string found =
      correctable("[one] c = Conv (x, w, b) [two] y = Conv (c, v, b) z = Abs (b)", "float[] y, float[4] z");
  EXPECT_EQ(found, "node two (Conv) ends at y; node one (Conv): its bias is shared; ") << "two got a copy of its own";
}

ir::Model chained(const std::string& scale) {
  return test::model_of(
      cat("g (float[2] x, float e) => (float[2] y) <int8[2] q = {10, -6}, float s = {0.5}, int8 z = {2}> "
          "{ w = DequantizeLinear (q, ",
          scale, ", z) y = Mul (x, w) }"));
}

TEST(ConstantChainTest, RunsFromWhatIsStored) {
  ir::Model model = chained("s");
  const ir::ValueId read = model.graph.find("w");
  const Result<ConstantChain> chain = ConstantChain::to(model, read);
  ASSERT_TRUE(chain.ok()) << chain.status().message();
  EXPECT_EQ(chain.value().stored(), model.graph.find("q"));
  EXPECT_EQ(ir::to_double(chain.value().run().value()).value(), (std::vector<double>{4, -4}));
  const ir::Tensor other = ir::Tensor::from<int8_t>({2}, std::vector<int8_t>{2, 3});
  EXPECT_EQ(ir::to_double(chain.value().run(other).value()).value(), (std::vector<double>{0, 0.5}));
  ASSERT_TRUE(store_constant(model, read, other).ok());
  EXPECT_EQ(ir::to_double(ConstantChain::to(model, read).value().run().value()).value(), (std::vector<double>{0, 0.5}));
  EXPECT_EQ(ConstantChain::to(model, model.graph.find("q")).value().stored(), model.graph.find("q"));
}

TEST(ConstantChainTest, WhatIsComputedIsRefused) {
  const ir::Model model = chained("e");
  for (const char* name : {"w", "x", "y"}) {
    const Result<ConstantChain> chain = ConstantChain::to(model, model.graph.find(name));
    EXPECT_EQ(chain.status().code(), Code::kUnsupported) << name;
  }
}

TEST(GridTest, ScalesBelongToTheirChannel) {
  const test::Finetuning planned("A8W8", {"per_channel=true"}, 2);
  const plan::QuantPlan& plan = planned.bench.context.plan;
  const auto grid_of = [&](const char* name) {
    return stored_grid(plan, planned.bench.settings, planned.bench.value(name));
  };
  for (const auto& [name, inner] :
       {std::pair<const char*, size_t>{"w0", 27}, {"w1", 9}, {"w2", 8}, {"b0", 1}, {"b2", 1}}) {
    const std::optional<Grid> grid = grid_of(name);
    ASSERT_TRUE(grid.has_value()) << name;
    const plan::ParamList& params = plan.params[plan.find(planned.bench.value(name))->stage.params];
    for (size_t i = 0; i < params.size() * inner; ++i)
      ASSERT_EQ(grid->of(i).scale, params[i / inner].scale) << name << " element " << i;
  }
  EXPECT_FALSE(grid_of("x").has_value()) << "activations are not stored";
  EXPECT_FALSE(pair_grid(plan, *planned.bench.graph().constant(planned.bench.value("w0")), planned.bench.value("w0")));
}

TEST(MemoryBudgetTest, LeavesRoomForTheWork) {
  const ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, {1000});
  config::FinetuneSettings small;
  small.memory_budget = 1;
  ir::TensorStore spilled;
  MemoryBudget budget(small);
  EXPECT_EQ(budget.bytes(), 1);
  ASSERT_TRUE(budget.make_room(100, 0, spilled).ok());
  EXPECT_TRUE(budget.is_too_small());
  const int number = spilled.keep(tensor).value();
  EXPECT_EQ(spilled.bytes_in_memory(), 0);
  EXPECT_TRUE(spilled.get(number).value().same_as(tensor));

  config::FinetuneSettings ample;
  ample.memory_budget = int64_t{1} << 50;
  ir::TensorStore kept;
  MemoryBudget room(ample);
  ASSERT_TRUE(room.make_room(100, 0, kept).ok());
  EXPECT_FALSE(room.is_too_small());
  ASSERT_TRUE(kept.keep(tensor).ok());
  EXPECT_EQ(kept.bytes_in_memory(), 4000);
  ASSERT_TRUE(room.make_room(ample.memory_budget, 0, kept).ok());  // work grows, values make place
  EXPECT_EQ(kept.bytes_in_memory(), 0);

  config::FinetuneSettings on_disk = ample;
  on_disk.keeps_on_disk = true;
  ir::TensorStore file;
  ASSERT_TRUE(MemoryBudget(on_disk).make_room(100, 0, file).ok());
  ASSERT_TRUE(file.keep(tensor).ok());
  EXPECT_EQ(file.bytes_in_memory(), 0);
}

TEST(ModelDistanceTest, IsTheMeanNormOfTheDifference) {
  constexpr size_t kSamples = 3;
  const std::string body = "g (float[4] x) => (float[4] y, float[4] z) <float[4] d = {";
  const ir::Model exact = test::model_of(body + "0, 0, 0, 0}> { y = Add (x, d) z = Identity (x) }");
  const ir::Model moved = test::model_of(body + "3, 0, 4, 0}> { y = Add (x, d) z = Identity (x) }");
  const test::RandomSamples samples(exact.graph, kSamples);
  const exec::Environment environment;
  const auto distance = [&](std::optional<int64_t> output) {
    config::FinetuneSettings options;
    options.output_index = output;
    const Result<double> found = model_distance({exact, moved, environment, samples}, kSamples, options);
    return found.ok() ? found.value() : -1;
  };
  EXPECT_NEAR(distance({}), 2.5, 1e-5);  // 5 of one output, 0 of the other
  EXPECT_NEAR(distance(0), 5, 1e-5);
  EXPECT_EQ(distance(1), 0);
  EXPECT_EQ(distance(7), -1) << "there is no such output";
  const size_t all[] = {0, 1, 2};
  const Result<std::optional<double>> same = model_cosine({exact, exact, environment, samples}, all);
  ASSERT_TRUE(same.ok() && same.value().has_value());
  EXPECT_EQ(*same.value(), 1);
  const Result<std::optional<double>> other = model_cosine({exact, moved, environment, samples}, all);
  ASSERT_TRUE(other.ok() && other.value().has_value());
  EXPECT_LT(*other.value(), 0.9999);
  EXPECT_FALSE(model_cosine({exact, moved, environment, samples}, {}).value().has_value());
}

}  // namespace
}  // namespace quarkq::planning::finetune
