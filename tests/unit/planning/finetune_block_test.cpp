// SPDX-License-Identifier: MIT
// Blocks of the finetuning: results like the executor's, gradients like finite differences, the same bits for any
// number of threads.
#include "planning/tune/block.h"

#include <omp.h>

#include <random>

#include "exec/layout.h"
#include "support/finite_differences.h"
#include "support/pass_support.h"

namespace quarkq::planning::finetune {
namespace {

struct BlockCase {
  const char* name;
  const char* body;  ///< of a model that reads x
  Layer::Kind kind;
  Activation activation;
  float alpha = 1, beta = 1;
  bool transposed = false;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const Activation kNone, kRelu{Activation::Kind::kClip, 0, kInfinity, {}};

std::vector<BlockCase> cases() {
  using Kind = Layer::Kind;
  using A = Activation::Kind;
  return {
      {"conv",
       "g (float[2,3,7,6] x) => (float[2,20,a,b] y) { c = Conv<pads=[1,0,1,2], strides=[2,1]> (x, w, b) y = "
       "Relu(c) } | w float[20,3,3,3] b float[20]",
       Kind::kConv, kRelu},
      {"pointwise", "g (float[1,24,5,5] x) => (float[1,40,a,b] y) { y = Conv (x, w) } | w float[40,24,1,1]",
       Kind::kConv, kNone},
      {"depthwise",
       "g (float[1,36,6,6] x) => (float[1,36,a,b] y) { c = Conv<group=36, pads=[1,1,1,1]> (x, w, b) y = Sigmoid(c) "
       "} | w float[36,1,3,3] b float[36]",
       Kind::kConv,
       {A::kSigmoid, 0, 0, {}}},
      {"grouped",
       "g (float[1,12,6,6] x) => (float[1,18,a,b] y) { c = Conv<group=3, dilations=[2,1]> (x, w) y = "
       "LeakyRelu<alpha=0.3> (c) } | w float[18,4,3,3]",
       Kind::kConv,
       {A::kLeakyRelu, 0, 0, {0.3f}}},
      {"conv1d",
       "g (float[1,4,9] x) => (float[1,5,a] y) { c = Conv<pads=[2,1]> (x, w) y = Tanh(c) } | w float[5,4,4]",
       Kind::kConv,
       {A::kTanh, 0, 0, {}}},
      {"conv3d", "g (float[1,2,4,4,3] x) => (float[1,3,a,b,c] y) { y = Conv (x, w) } | w float[3,2,2,2,2]", Kind::kConv,
       kNone},
      {"transpose",
       "g (float[1,6,4,5] x) => (float[1,8,a,b] y) { c = ConvTranspose<strides=[2,2], pads=[1,0,0,1]> (x, w, b) y "
       "= Relu(c) } | w float[6,8,3,3] b float[8]",
       Kind::kConvTranspose, kRelu},
      {"transpose groups",
       "g (float[1,6,4,5] x) => (float[1,8,a,b] y) { y = ConvTranspose<group=2> (x, w) } | w float[6,4,2,2]",
       Kind::kConvTranspose, kNone},
      {"gemm",
       "g (float[3,10] x) => (float[3,7] y) { y = Gemm<alpha=0.5, beta=2.0, transB=1> (x, w, b) } | w float[7,10] "
       "b float[7]",
       Kind::kProduct, kNone, 0.5f, 2.0f, true},
      {"gemm plain",
       "g (float[3,10] x) => (float[3,7] y) { c = Gemm (x, w, b) y = Relu(c) } | w float[10,7] b float[7]",
       Kind::kProduct, kRelu},
      {"instance norm",
       "g (float[2,6,5,4] x) => (float[2,6,5,4] y) { c = InstanceNormalization<epsilon=0.01> (x, w, b) y = Relu(c) } "
       "| w float[6] b float[6]",
       Kind::kInstanceNorm, kRelu},
      {"layer norm",
       "g (float[2,5,12] x) => (float[2,5,12] y) { y = LayerNormalization<axis=-1> (x, w, b) } "
       "| w float[12] b float[12]",
       Kind::kLayerNorm, kNone},
      {"matmul", "g (float[2,4,10] x) => (float[2,4,21] y) { y = MatMul (x, w) } | w float[10,21]", Kind::kProduct,
       kNone}};
}

std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = distribution(generator);
  return values;
}

/// The model of a case with random weights, and a block over it.
struct Bench {
  explicit Bench(const BlockCase& c) {
    const std::string text = c.body;
    const size_t bar = text.find(" | ");
    std::string parameters;
    std::istringstream words(text.substr(bar + 3));
    uint32_t seed = 7;
    for (std::string name, type; words >> name >> type;) {
      int64_t count = 1;
      std::istringstream dims(type.substr(6));
      for (int64_t dim; dims >> dim; dims.ignore()) count *= dim;
      parameters += cat(parameters.empty() ? "" : ", ", type, " ", name, " = ",
                        test::numbers(static_cast<size_t>(count), seed++));
    }
    const size_t brace = text.find('{');
    model = test::model_of(cat(text.substr(0, brace), "<", parameters, ">", text.substr(brace, bar - brace)));
    const ir::Node& node = model.graph.node(model.graph.order()[0]);
    layer.kind = c.kind;
    layer.node = node.id;
    layer.weight = node.input(1);
    layer.bias = node.input(2);
    layer.activation = c.activation;
    layer.alpha = c.alpha;
    layer.beta = c.beta;
    layer.transposed = c.transposed;
    const ir::Tensor& w = *model.graph.constant(layer.weight);
    weights.assign(w.data<float>().begin(), w.data<float>().end());
    if (layer.bias.valid()) {
      const auto b = model.graph.constant(layer.bias)->data<float>();
      bias.assign(b.begin(), b.end());
    }
    const ir::Shape dims = model.graph.value(node.input(0)).type.shape();
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    input = ir::Tensor::from<float>(dims, random_floats(count, 8));
    x = stored(input);
    Result<std::unique_ptr<Block>> made = Block::make(layer, node, w.dims(), dims);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) block = std::move(made).value();
  }
  ir::Tensor stored(const ir::Tensor& tensor) const {
    return layer.is_channels_last() ? exec::in_layout(tensor, exec::Layout::kChannelsLast) : tensor;
  }
  const std::vector<float>& forward() {
    result.resize(static_cast<size_t>(block->result_size()));
    block->forward(x.data<float>().data(), weights, bias.empty() ? nullptr : &bias, result.data());
    return result;
  }
  double loss(const std::vector<float>& direction) {
    double sum = 0;
    const std::vector<float>& y = forward();
    for (size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * static_cast<double>(direction[i]);
    return sum;
  }

  ir::Model model;
  Layer layer;
  std::vector<float> weights, bias, result;
  ir::Tensor input, x;
  std::unique_ptr<Block> block;
};

TEST(FinetuneBlockTest, ComputesWhatTheModelDoes) {
  for (const BlockCase& c : cases()) {
    Bench bench(c);
    ASSERT_NE(bench.block, nullptr) << c.name;
    exec::Session session(bench.model, {}, {});
    const auto results = session.run({&bench.input, 1});
    ASSERT_TRUE(results.ok()) << c.name << results.status().message();
    const ir::Tensor expected = bench.stored(results.value()->front());
    const std::vector<float>& found = bench.forward();
    ASSERT_EQ(static_cast<size_t>(expected.size()), found.size()) << c.name;
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected.data<float>()[i], 1e-5) << c.name;
  }
}

TEST(FinetuneBlockTest, GradientsAreFiniteDifferences) {
  for (const BlockCase& c : cases()) {
    Bench bench(c);
    ASSERT_NE(bench.block, nullptr) << c.name;
    const std::vector<float> direction = random_floats(bench.block->result_size(), 11);
    std::vector<float> dw(bench.weights.size()), db(bench.bias.size()), dy = direction;
    bench.forward();
    bench.block->backward(bench.x.data<float>().data(), dy, dw, bench.bias.empty() ? nullptr : &db);
    const auto loss = [&] { return bench.loss(direction); };
    test::expect_finite_differences({c.name, bench.weights, dw, 40}, loss);
    test::expect_finite_differences({cat(c.name, ", bias"), bench.bias, db, 40}, loss);
  }
}

TEST(FinetuneBlockTest, HasTheSameBitsForAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  // From 5 threads on the executor's own result of the smallest convolution (conv1d) has other last bits.
  for (const BlockCase& c : cases()) {
    std::vector<float> first;
    for (const int threads : {1, 2, 4}) {
      omp_set_num_threads(threads);
      Bench bench(c);
      std::vector<float> dw(bench.weights.size()), dy = random_floats(bench.block->result_size(), 11);
      bench.forward();
      bench.block->backward(bench.x.data<float>().data(), dy, dw, nullptr);
      if (first.empty()) first = dw;
      EXPECT_EQ(dw, first) << c.name << ", " << threads << " threads";
    }
  }
  omp_set_num_threads(before);
}

TEST(FinetuneBlockTest, GeluHasItsDerivative) {
  for (const auto kind : {Activation::Kind::kGelu, Activation::Kind::kTanhGelu}) {
    const Activation gelu{kind, 0, 0, {}};
    const std::vector<float> x = random_floats(20, 5);
    std::vector<float> above = x, below = x, y1(20), y2(20), dy(20, 1.0f);
    for (float& value : above) value += 1e-2f;
    for (float& value : below) value -= 1e-2f;
    activate(gelu, above, 1, y1);
    activate(gelu, below, 1, y2);
    activation_gradient(gelu, x, 1, dy);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dy[i], (y1[i] - y2[i]) / 2e-2f, 1e-3);
  }
}

}  // namespace
}  // namespace quarkq::planning::finetune
