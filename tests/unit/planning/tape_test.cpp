// SPDX-License-Identifier: MIT
// Tapes: results like the executor's, the gradient of every operator like finite differences, the same bits for any
// number of threads.
#include "planning/tune/tape.h"

#include <omp.h>

#include <random>

#include "exec/layout.h"
#include "planning/tune/train_loops.h"
#include "support/finite_differences.h"
#include "support/pass_support.h"

namespace quarkq::planning::finetune {
namespace {

struct TapeCase {
  const char* name;
  const char* input;  ///< dimensions of x
  const char* parameters;
  const char* body;
  double rounded = 1;  ///< 0: quantizers only clip, so that finite differences exist
  bool channels_last = true;
  bool one_layout = true;  ///< False: a region of a network, not a block.
};

constexpr const char* kPair =
    R"(quarkq.FakeQuantize<quantize_op="QuantizeLinear", quantize_domain="", dequantize_op="DequantizeLinear", dequantize_domain="">)";

std::vector<TapeCase> tape_cases() {
  constexpr const char* kTwo = "w0 float[6,3,1,1] b0 float[6] w1 float[4,6,1,1]";
  constexpr const char* kMatrices = "w0 float[10,14] b0 float[14] w1 float[14,10]";
  return {
      {"Relu", "1,3,5,4", kTwo, "c = Conv (x, w0, b0) r = Relu (c) y = Conv (r, w1)"},
      {"Clip", "1,3,5,4", kTwo, "c = Conv (x, w0, b0) r = Clip (c, low, high) y = Conv (r, w1)"},
      {"LeakyRelu", "1,3,5,4", kTwo, "c = Conv (x, w0, b0) r = LeakyRelu<alpha=0.2> (c) y = Conv (r, w1)"},
      {"Sigmoid", "2,3,5,4", kTwo, "c = Conv (x, w0, b0) r = Sigmoid (c) y = Conv (r, w1)"},
      {"Tanh", "1,3,5,4", kTwo, "c = Conv (x, w0, b0) r = Tanh (c) y = Conv (r, w1)"},
      {"HardSigmoid", "1,3,5,4", kTwo, "c = Conv (x, w0, b0) r = HardSigmoid<alpha=0.6> (c) y = Conv (r, w1)"},
      {"HardSwish", "1,3,5,4", kTwo, "c = Conv (x, w0, b0) t = Mul (c, five) r = HardSwish (t) y = Conv (r, w1)"},
      {"strided", "1,3,8,7", "w0 float[6,3,3,3] w1 float[8,6,3,3] w2 float[4,8,2,2]",
       "c = Conv<pads=[1,1,1,1]> (x, w0) d = Conv<strides=[2,2]> (c, w1) y = Conv<strides=[2,2], pads=[0,1,1,0]> (d, "
       "w2)"},
      {"depthwise", "1,3,6,6", "w0 float[18,3,1,1] w1 float[18,1,3,3] w2 float[3,18,1,1]",
       "c = Conv (x, w0) d = Conv<group=18, strides=[2,2], pads=[1,1,1,1]> (c, w1) y = Conv (d, w2)"},
      {"grouped", "1,4,6,6", "w0 float[6,4,1,1] w1 float[9,2,3,3]",
       "c = Conv (x, w0) y = Conv<group=3, dilations=[2,1]> (c, w1)"},
      {"ConvTranspose", "1,3,4,4", "w0 float[6,3,1,1] w1 float[6,4,3,3] w2 float[2,4,1,1]",
       "c = Conv (x, w0) d = ConvTranspose<strides=[2,2], pads=[1,0,0,1]> (c, w1) y = Conv (d, w2)"},
      {"Add", "1,3,5,4", "w0 float[6,3,1,1] w1 float[6,6,1,1] w2 float[3,6,1,1]",
       "c = Conv (x, w0) d = Conv (c, w1) e = Add (c, d) f = Conv (e, w2) y = Add (f, x)"},
      {"Add of one value", "1,3,5,4", "w0 float[6,3,1,1] w1 float[6,6,1,1]",
       "c = Conv (x, w0) d = Add (c, c) y = Conv (d, w1)"},
      {"Mul", "1,3,5,4", "w0 float[6,3,1,1] w1 float[6,6,1,1]",
       "c = Conv (x, w0) d = Conv (c, w1) e = Mul (c, d) t = Mul (e, perchannel) y = Mul (t, five)"},
      {"squeeze and excitation", "2,3,5,4", "w0 float[6,3,1,1] w1 float[2,6,1,1] w2 float[6,2,1,1]",
       "c = Conv (x, w0) p = GlobalAveragePool (c) s = Conv (p, w1) r = Relu (s) t = Conv (r, w2) g = Sigmoid (t) "
       "y = Mul (c, g)"},
      {"gate of the input", "1,3,5,4", "w0 float[3,3,1,1]",
       "p = GlobalAveragePool (x) s = Conv (p, w0) g = HardSigmoid (s) t = Mul (g, x) y = Add (t, g)"},
      {"FakeQuantize", "1,3,5,4", kTwo,
       "c = Conv (x, w0, b0) q = PAIR (c, fine, middle) d = Conv (q, w1) y = PAIR (d, fine, middle)", 0},
      {"Gelu", "2,5,10", kMatrices,
       "c = MatMul (x, w0) d = Add (c, b0) g = com.microsoft.Gelu (d) e = MatMul (g, w1) y = Add (x, e)", 1, false},
      {"Gemm", "3,10", kMatrices,
       "c = Gemm<alpha=0.5, beta=2.0> (x, w0, b0) r = Relu (c) y = Gemm<alpha=2.0, transB=1> (r, w0t)", 1, false},
  };
}

TapeCase network_case(const char* name, const char* input, const char* parameters, const char* body) {
  return {name, input, parameters, body, 1, true, false};
}

/// Operators that occur in regions of networks and end a block.
std::vector<TapeCase> network_cases() {
  constexpr const char* kTwo = "w0 float[6,3,1,1] b0 float[6] w1 float[4,6,1,1]";
  constexpr const char* kThree = "w0 float[6,3,1,1] w1 float[4,6,1,1] w2 float[5,4,1,1]";
  return {
      network_case("Concat", "1,3,5,4", kThree,
                   "c = Conv (x, w0) d = Conv (c, w1) e = Concat<axis=1> (d, c, x, d) y = Relu (e)"),
      network_case("Concat of rows", "2,3,5,4", kTwo,
                   "c = Conv (x, w0, b0) e = Concat<axis=2> (c, c) y = Conv (e, w1)"),
      network_case("Split", "2,3,5,4", "w0 float[6,3,1,1] w1 float[4,3,1,1]",
                   "c = Conv (x, w0) d, e = Split<axis=1> (c, halves) f = Mul (d, e) y = Conv (f, w1)"),
      network_case("Split with an idle part", "1,3,5,4", "w0 float[6,3,1,1] w1 float[4,3,1,1]",
                   "c = Conv (x, w0) d, e = Split<axis=1> (c, halves) y = Conv (d, w1)"),
      network_case("Slice", "1,3,8,4", kTwo,
                   "c = Conv (x, w0, b0) s = Slice (c, one, nine, two, two) y = Conv (s, w1)"),
      network_case(
          "MaxPool", "2,3,7,6", kTwo,
          "c = Conv (x, w0, b0) p = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (c) y = Conv (p, w1)"),
      network_case(
          "chain of MaxPools", "1,3,3,3", kTwo,
          "c = Conv (x, w0, b0) p = MaxPool<kernel_shape=[2,2], pads=[1,1,0,0]> (c) q = MaxPool<kernel_shape=[3,3], "
          "pads=[1,1,1,1]> (p) r = Add (p, q) y = Conv (r, w1)"),
      network_case("AveragePool", "2,3,7,6", kTwo,
                   "c = Conv (x, w0, b0) p = AveragePool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]> (c) y = "
                   "Conv (p, w1)"),
      network_case("AveragePool with padding", "1,3,7,6", kTwo,
                   "c = Conv (x, w0, b0) p = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1> (c) "
                   "y = Conv (p, "
                   "w1)"),
      network_case("nearest Resize", "2,3,3,4", kTwo,
                   "c = Conv (x, w0, b0) r = Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", "
                   "nearest_mode=\"floor\"> (c, , twice) y = Conv (r, w1)"),
      network_case("linear Resize", "2,3,3,4", kTwo,
                   "c = Conv (x, w0, b0) r = Resize<mode=\"linear\"> (c, , twice) y = Conv (r, w1)"),
      network_case(
          "linear Resize of corners", "1,3,3,4", kTwo,
          "c = Conv (x, w0, b0) r = Resize<mode=\"linear\", coordinate_transformation_mode=\"align_corners\"> (c, , , "
          "larger) y = Conv (r, w1)"),
      network_case("Pad", "1,3,3,4", kTwo, "c = Conv (x, w0, b0) p = Pad (c, borders) y = Conv (p, w1)"),
      network_case("DepthToSpace", "1,3,3,4", "w0 float[8,3,1,1] w1 float[4,2,1,1]",
                   "c = Conv (x, w0) d = DepthToSpace<blocksize=2> (c) y = Conv (d, w1)"),
      network_case("SpaceToDepth", "1,3,4,6", "w0 float[2,3,1,1] w1 float[4,8,1,1]",
                   "c = Conv (x, w0) d = SpaceToDepth<blocksize=2> (c) y = Conv (d, w1)"),
      network_case("classifier", "2,3,5,4", "w0 float[10,3,1,1] w1 float[10,14] b1 float[14]",
                   "c = Conv (x, w0) p = GlobalAveragePool (c) f = Flatten (p) g = Gemm (f, w1, b1) y = Softmax (g)"),
      network_case("tokens", "1,3,5,4", "w0 float[10,3,1,1] w1 float[10,14]",
                   "c = Conv (x, w0) f = Reshape (c, tokens) t = Transpose<perm=[0,2,1]> (f) g = MatMul (t, w1) y = "
                   "Softmax<axis=1> (g)"),
      network_case("attention", "1,3,5,4", "w0 float[12,3,1,1]",
                   "c = Conv (x, w0) f = Reshape (c, heads) q, k, v = Split<axis=1> (f, thirds) t = "
                   "Transpose<perm=[0,1,3,2]> (q) "
                   "s = MatMul (t, k) p = Softmax (s) u = Transpose<perm=[0,1,3,2]> (v) y = MatMul (p, u)"),
      network_case("Sub", "1,3,5,4", kThree,
                   "c = Conv (x, w0) d = Conv (c, w1) e = Conv (d, w2) f = Sub (c, perchannel) g = Relu (f) "
                   "h = Sub (e, e2) y = Concat<axis=1> (g, h)"),
      network_case("a layer that stays", "1,3,5,4",
                   "w0 float[6,3,1,1] fixed float[6,1,3,3] b1 float[6] w2 float[4,6,1,1]",
                   "c = Conv (x, w0) d = Conv<group=6> (c, fixed, b1) y = Conv (d, w2)"),
      network_case("LayerNormalization", "2,5,10", "w0 float[10,14] s0 float[14] b0 float[14] w1 float[14,10]",
                   "c = MatMul (x, w0) n = LayerNormalization (c, s0, b0) y = MatMul (n, w1)"),
      network_case("InstanceNormalization", "2,3,5,4", "w0 float[6,3,1,1] s0 float[6] b0 float[6] w1 float[4,6,1,1]",
                   "c = Conv (x, w0) n = InstanceNormalization (c, s0, b0) y = Conv (n, w1)"),
      network_case("a value read in both layouts", "1,3,5,4", kTwo,
                   "c = Conv (x, w0, b0) t = Transpose<perm=[0,1,3,2]> (c) u = Transpose<perm=[0,1,3,2]> (t) s = Add "
                   "(u, c) y = Conv (s, "
                   "w1)"),
  };
}

std::vector<TapeCase> all_cases() {
  std::vector<TapeCase> cases = tape_cases();
  for (TapeCase& c : network_cases()) cases.push_back(c);
  return cases;
}

std::vector<float> drawn(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = distribution(generator);
  return values;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t i = text.find(from); i != std::string::npos; i = text.find(from, i + to.size()))
    text.replace(i, from.size(), to);
  return text;
}

ir::Model model_of(const TapeCase& c) {
  std::string parameters =
      "float low = {-0.4}, float high = {0.5}, float five = {5.0}, float scale = {0.01}, uint8 zero = {50}, "
      "float fine = {0.00004}, uint16 middle = {12500}, "
      "int64[2] halves = {3, 3}, int64[3] thirds = {4, 4, 4}, int64[1] one = {1}, int64[1] nine = {9}, int64[1] two = "
      "{2}, "
      "float[4] twice = {1.0, 1.0, 2.0, 2.0}, int64[4] larger = {1, 6, 5, 7}, int64[8] borders = {0, 0, 1, 0, 0, 0, 2, "
      "1}, "
      "int64[3] tokens = {1, 10, 20}, int64[4] heads = {1, 12, 5, 4}, float e2 = {0.1}, "
      "float[6,1,1] perchannel = {1.0, -0.5, 2.0, 0.3, 0.7, -1.0}, float[10,14] w0t = " +
      test::numbers(140, 3);
  std::istringstream words(c.parameters);
  uint32_t seed = 7;
  for (std::string name, type; words >> name >> type;) {
    int64_t count = 1;
    std::istringstream dims(type.substr(6));
    for (int64_t dim; dims >> dim; dims.ignore()) count *= dim;
    parameters += cat(", ", type, " ", name, " = ", test::numbers(static_cast<size_t>(count), seed++));
  }
  return test::model_of(
      cat("g (float[", c.input, "] x) => (float[] y) <", parameters, "> { ", replaced(c.body, "PAIR", kPair), " }"));
}

/// All nodes of a model as one unit.
struct TapeBench {
  explicit TapeBench(const TapeCase& c) : model(model_of(c)), mixing{c.rounded, 5} {
    static const std::map<std::string, Layer::Kind> kinds = {{"Conv", Layer::Kind::kConv},
                                                             {"ConvTranspose", Layer::Kind::kConvTranspose},
                                                             {"Gemm", Layer::Kind::kProduct},
                                                             {"MatMul", Layer::Kind::kProduct}};
    const ir::Graph& graph = model.graph;
    layers.reserve(graph.order().size());
    for (const ir::NodeId id : graph.order()) {
      const ir::Node& node = graph.node(id);
      unit.nodes.push_back(id);
      const auto kind = kinds.find(node.op);
      if (kind == kinds.end() || graph.constant(node.input(1)) == nullptr) continue;
      if (graph.value(node.input(1)).name == "fixed") continue;
      Layer layer;
      layer.kind = kind->second;
      layer.node = id;
      layer.weight = node.input(1);
      layer.bias = node.input(2);
      layer.weight_dims = graph.constant(layer.weight)->dims();
      layer.transposed = node.int_or("transB", 0) != 0;
      if (node.op == "Gemm") layer.alpha = node.float_or("alpha", 1), layer.beta = node.float_or("beta", 1);
      layers.push_back(layer);
      LayerValues& own = values.emplace_back();
      const auto w = graph.constant(layer.weight)->data<float>();
      own.weights.assign(w.begin(), w.end());
      if (!layer.bias.valid()) continue;
      const auto b = graph.constant(layer.bias)->data<float>();
      own.bias.assign(b.begin(), b.end());
    }
    for (const Layer& layer : layers) unit.layers.push_back(&layer);
    unit.start = graph.inputs()[0];
    unit.channels_last = c.channels_last;
    unit.rounds_end = c.rounded > 0;
    const ir::Shape dims = graph.value(unit.start).type.shape();
    input = ir::Tensor::from<float>(dims, drawn(ir::checked_count(dims), 8));
    x = stored(input);
    region = unit.region();
    region.ends = {graph.outputs()[0]};
    region.one_layout = c.one_layout;
    Result<std::unique_ptr<Tape>> made = Tape::make(region, model, {&dims, 1});
    EXPECT_TRUE(made.ok()) << c.name << ": " << made.status().message();
    if (made.ok()) tape = std::move(made).value();
  }
  ir::Tensor stored(const ir::Tensor& tensor) const {
    const bool is_end = tape != nullptr;
    return (is_end ? tape->result().channels_last : unit.channels_last)
               ? exec::in_layout(tensor, exec::Layout::kChannelsLast)
               : tensor;
  }
  const float* forward() { return tape->forward(x.data<float>().data(), values, mixing); }
  double loss(const std::vector<float>& direction) {
    double sum = 0;
    const float* const y = forward();
    for (size_t i = 0; i < direction.size(); ++i) sum += static_cast<double>(y[i]) * static_cast<double>(direction[i]);
    return sum;
  }
  Gradients gradients(const std::vector<float>& direction) {
    Gradients found{values, std::vector<bool>(values.size())};
    for (size_t i = 0; i < values.size(); ++i) {
      std::fill(found.layers[i].weights.begin(), found.layers[i].weights.end(), 0.0f);
      std::fill(found.layers[i].bias.begin(), found.layers[i].bias.end(), 0.0f);
      found.of_bias[i] = !values[i].bias.empty();
    }
    forward();
    std::ranges::copy(direction, tape->result_gradient().begin());
    tape->backward(values, found);
    return found;
  }

  ir::Model model;
  std::vector<Layer> layers;
  Unit unit;
  TapeRegion region;
  std::vector<LayerValues> values;
  Mixing mixing;
  ir::Tensor input, x;
  std::unique_ptr<Tape> tape;
};

TEST(TapeTest, ComputesWhatTheModelDoes) {
  for (const TapeCase& c : all_cases()) {
    if (c.rounded < 1) continue;
    TapeBench bench(c);
    ASSERT_NE(bench.tape, nullptr) << c.name;
    exec::Session session(bench.model, {}, {});
    const auto results = session.run({&bench.input, 1});
    ASSERT_TRUE(results.ok()) << c.name << results.status().message();
    const ir::Tensor expected = bench.stored(results.value()->front());
    ASSERT_EQ(expected.size(), bench.tape->result_size()) << c.name;
    const float* const found = bench.forward();
    for (int64_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(found[i], expected.data<float>()[static_cast<size_t>(i)], 2e-5) << c.name;
  }
}

TEST(TapeTest, GradientsAreFiniteDifferences) {
  for (const TapeCase& c : all_cases()) {
    TapeBench bench(c);
    ASSERT_NE(bench.tape, nullptr) << c.name;
    const std::vector<float> direction = drawn(bench.tape->result_size(), 11);
    const Gradients found = bench.gradients(direction);
    for (size_t i = 0; i < bench.values.size(); ++i) {
      const std::string name = cat(c.name, ", layer ", i);
      const auto loss = [&] { return bench.loss(direction); };
      test::expect_finite_differences({name, bench.values[i].weights, found.layers[i].weights}, loss);
      test::expect_finite_differences({name + ", bias", bench.values[i].bias, found.layers[i].bias}, loss);
    }
  }
}

TEST(TapeTest, HasTheSameBitsForAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const TapeCase& c : all_cases()) {
    std::vector<float> first;
    for (const int threads : {1, 2, 4}) {
      omp_set_num_threads(threads);
      TapeBench bench(c);
      const Gradients found = bench.gradients(drawn(bench.tape->result_size(), 11));
      std::vector<float> all;
      for (const LayerValues& layer : found.layers) all.insert(all.end(), layer.weights.begin(), layer.weights.end());
      if (first.empty()) first = all;
      EXPECT_EQ(all, first) << c.name << ", " << threads << " threads";
    }
  }
  omp_set_num_threads(before);
}

/// Straight through: a gradient passes where the value is in the range, whether it was rounded or not.
TEST(TapeTest, QuantizersRoundTheirShareAndPassTheGradientInside) {
  const TapeCase one = {"quantizer", "1,1,40,50", "w0 float[1,1,1,1]",
                        "c = Conv (x, w0) q = PAIR (c, scale, zero) y = Relu (q)", 0.5};
  TapeBench bench(one);
  ASSERT_NE(bench.tape, nullptr);
  bench.values[0].weights = {1.5f};  // values from -1.5 to 1.5 in a range from -0.5 to 2.05
  bench.forward();
  const std::vector<float> ones(2000, 1.0f);
  std::vector<float> first;
  double gradient = 0;
  int64_t rounded = 0, inside = 0;
  const float* const y = bench.forward();
  for (int64_t i = 0; i < 2000; ++i) {
    const float c = 1.5f * bench.x.data<float>()[static_cast<size_t>(i)];
    if (c <= 0) continue;
    ++inside;
    rounded += y[i] != c;
    EXPECT_NEAR(y[i], c, 0.00501f);
    gradient += static_cast<double>(bench.x.data<float>()[static_cast<size_t>(i)]);
  }
  EXPECT_NEAR(static_cast<double>(rounded) / static_cast<double>(inside), 0.5, 0.05);
  EXPECT_NEAR(bench.gradients(ones).layers[0].weights[0], gradient, 1);
}

TEST(TapeTest, RefusesWhatItCannotCompute) {
  const TapeCase wide = {"two ways", "1,3,1,4", "w0 float[3,3,1,1]", "c = Conv (x, w0) y = Add (c, column)"};
  const ir::Model model = test::model_of(
      cat("g (float[1,3,1,4] x) => (float[] y) <float[5,1] column = {1.0, 2.0, 3.0, 4.0, 5.0}, float[3,3,1,1] w0 = ",
          test::numbers(9, 1), "> { ", wide.body, " }"));
  Unit unit;
  Layer layer;
  layer.node = model.graph.order()[0];
  layer.weight = model.graph.find("w0");
  layer.weight_dims = {3, 3, 1, 1};
  unit.layers = {&layer};
  unit.nodes = model.graph.order();
  unit.start = model.graph.inputs()[0];
  unit.channels_last = true;
  EXPECT_EQ(Tape::make(unit, model, {1, 3, 1, 4}).status().code(), Code::kUnsupported);
  unit.layers.clear();
  EXPECT_EQ(Tape::make(unit, model, {1, 3, 1, 4}).status().code(), Code::kUnsupported);
}

TEST(TapeTest, ReleasesValuesThatNoOperatorReadsAnyMore) {
  const TapeCase chain = network_case("chain", "1,3,8,8", "w0 float[6,3,1,1] w1 float[6,6,1,1] w2 float[6,6,1,1]",
                                      "a = Conv (x, w0) b = Relu (a) c = Conv (b, w1) d = Relu (c) y = Conv (d, w2)");
  TapeBench bench(chain);
  ASSERT_NE(bench.tape, nullptr);
  FloatPool training, forward;
  const ir::Shape dims = bench.input.dims();
  for (FloatPool* const pool : {&training, &forward}) {
    Result<std::unique_ptr<Tape>> tape = Tape::make(bench.region, bench.model, {&dims, 1}, pool);
    ASSERT_TRUE(tape.ok());
    const float* const x = bench.x.data<float>().data();
    const Tape::Pass pass = pool == &training ? Tape::Pass::kTraining : Tape::Pass::kOnlyForward;
    for (size_t i = 0; i < 3; ++i) tape.value()->forward({&x, 1}, bench.values, {}, pass);
  }
  const size_t value = size_t{6} * 64 * sizeof(float);
  EXPECT_EQ(training.bytes(), 5 * value);
  EXPECT_EQ(forward.bytes(), 2 * value);
}

TEST(FloatPoolTest, UsesBuffersAgain) {
  FloatPool pool;
  FloatBuffer small = pool.take(10), large = pool.take(100);
  EXPECT_EQ(pool.bytes(), 110 * sizeof(float));
  const float* const of_small = small.data();
  pool.give(small);
  pool.give(large);
  EXPECT_TRUE(small.empty());
  FloatBuffer again = pool.take(8), other = pool.take(20);
  EXPECT_EQ(again.data(), of_small);
  EXPECT_EQ(again.size(), 8u);
  EXPECT_EQ(other.capacity(), 100u);
  EXPECT_EQ(pool.bytes(), 110 * sizeof(float));
  FloatBuffer third = pool.take(5);
  EXPECT_EQ(pool.bytes(), 115 * sizeof(float));
  FloatBuffer none;
  pool.give(none);
  EXPECT_EQ(pool.take(5).size(), 5u);
}

TEST(TapeTest, NamesTheOperatorThatItCannotCompute) {
  const TapeCase odd = network_case("odd", "1,3,5,4", "w0 float[6,3,1,1]", "c = Conv (x, w0) y = Relu (c)");
  TapeBench bench(odd);
  const ir::Model model = test::model_of("g (float[1,3,5,4] x) => (float[] y) { r = Relu (x) y = Sin (r) }");
  TapeRegion region;
  region.nodes = model.graph.order();
  region.starts = {model.graph.inputs()[0]};
  region.ends = {model.graph.outputs()[0]};
  region.one_layout = false;
  const ir::Shape dims = {1, 3, 5, 4};
  ir::NodeId failed;
  const auto tape = Tape::make(region, model, {&dims, 1}, nullptr, &failed);
  EXPECT_EQ(tape.status().code(), Code::kUnsupported);
  EXPECT_EQ(failed, model.graph.order()[1]);
}

TEST(TapeTest, DrawsTheirShare) {
  EXPECT_EQ(draw_limit(-1), 0u);
  EXPECT_EQ(draw_limit(std::nan("")), 0u);
  EXPECT_EQ(draw_limit(2), draw_limit(1));
  for (const double share : {0.0, 0.25, 0.5, 1.0}) {
    std::vector<float> a(40000, 1.0f), b(40000, 0.0f), y(40000);
    QQ_DISPATCH(planning, mix)(a.data(), b.data(), y.data(), {123, draw_limit(share)}, {0, 40000});
    EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0) / 40000, share, 0.01);
  }
}

}  // namespace
}  // namespace quarkq::planning::finetune
