// SPDX-License-Identifier: MIT
// Rows of a layer's input times its weights are its results: against the executor, over strides, pads, dilations,
// groups and one to three spatial axes.
#include "planning/round/nearest_plane.h"

#include <algorithm>

#include "ir/constants.h"
#include "support/every_isa.h"
#include "support/pass_support.h"

namespace quarkq::planning {
namespace {

struct LayerCase {
  std::string name, node;  ///< "Conv <strides = [2, 2]> (x, w)"
  ir::Shape input, weights;
};

void PrintTo(const LayerCase& row, std::ostream* out) { *out << row.name; }

std::string dims_text(const ir::Shape& dims) {
  std::string text;
  for (const int64_t dim : dims) text += cat(text.empty() ? "" : ", ", dim);
  return text;
}

ir::Tensor random_input(const ir::Shape& dims) {
  ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, dims);
  const std::vector<float> values = test::random_values(tensor.size(), 7);
  std::copy(values.begin(), values.end(), tensor.mutable_data<float>().begin());
  return tensor;
}

class InputRowsTest : public testing::TestWithParam<LayerCase> {
 protected:
  InputRowsTest() {
    const LayerCase& row = GetParam();
    int64_t count = 1;
    for (const int64_t dim : row.weights) count *= dim;
    model_ = test::model_of(cat("g (float[", dims_text(row.input), "] x) => (y) <float[", dims_text(row.weights),
                                "] w = ", test::numbers(static_cast<size_t>(count), 1), "> { y = ", row.node, " }"),
                            17);
    const ir::Node& node = model_.graph.node(model_.graph.order().front());
    layer_.kind = node.is("Conv") ? finetune::Layer::Kind::kConv : finetune::Layer::Kind::kProduct;
    layer_.transposed = node.int_or("transB", 0) != 0;
    input_ = random_input(row.input);
  }

  Result<InputRows> rows() const {
    return InputRows::make(layer_, model_.graph.node(model_.graph.order().front()), GetParam().weights);
  }

  std::vector<float> results() const {
    exec::Session session(model_, {}, {});
    return ir::float_values((*session.run({&input_, 1}).value())[0]).value();
  }

  ir::Model model_;
  finetune::Layer layer_;
  ir::Tensor input_;
};

TEST_P(InputRowsTest, TimesTheWeightsAreTheResults) {
  const Result<InputRows> made = rows();
  ASSERT_TRUE(made.ok()) << made.status().message();
  const InputRows& r = made.value();
  const std::vector<float> read = r.read(input_, 1 << 20, {}).value();
  const int64_t places = static_cast<int64_t>(read.size()) / (r.groups() * r.depth());
  const std::vector<float> results = this->results();
  const std::vector<float> weights = ir::float_values(*model_.graph.value(model_.graph.find("w")).constant).value();
  ASSERT_EQ(static_cast<int64_t>(results.size()), places * r.groups() * r.outputs());
  const bool is_product = layer_.kind == finetune::Layer::Kind::kProduct;
  const int64_t batch = is_product ? 1 : GetParam().input[0], inner = places / batch,
                channels = r.groups() * r.outputs();
  for (int64_t o = 0; o < channels; ++o) {
    for (int64_t p = 0; p < places; ++p) {
      double sum = 0;
      for (int64_t k = 0; k < r.depth(); ++k) {
        const int64_t at = is_product && !layer_.transposed ? k * channels + o : o * r.depth() + k;
        sum += static_cast<double>(weights[static_cast<size_t>(at)]) *
               static_cast<double>(read[static_cast<size_t>((o / r.outputs() * places + p) * r.depth() + k)]);
      }
      const int64_t place = is_product ? p * channels + o : (p / inner * channels + o) * inner + p % inner;
      ASSERT_NEAR(results[static_cast<size_t>(place)], sum, 1e-3) << "output " << o << ", place " << p;
    }
  }
}

TEST_P(InputRowsTest, FewerRowsAreSomeOfAll) {
  const InputRows r = rows().value();
  const std::vector<float> all = r.read(input_, 1 << 20, {}).value(), some = r.read(input_, 3, {}).value();
  const auto depth = static_cast<std::ptrdiff_t>(r.depth());
  ASSERT_EQ(static_cast<int64_t>(some.size()),
            std::min<int64_t>(3 * r.groups() * r.depth(), static_cast<int64_t>(all.size())));
  for (auto row = some.begin(); row != some.end(); row += depth)
    EXPECT_NE(std::search(all.begin(), all.end(), row, row + depth), all.end());
  EXPECT_EQ(some, r.read(input_, 3, {}).value());
}

TEST_P(InputRowsTest, ValuesStayWithinTheRange) {
  const InputRows r = rows().value();
  const std::vector<float> all = r.read(input_, 1 << 20, {}).value(),
                           some = r.read(input_, 1 << 20, {-1, 0.5f}).value();
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(some[i], std::clamp(all[i], -1.0f, 0.5f));
}

TEST_P(InputRowsTest, OtherInputsAreRefused) {
  const InputRows r = rows().value();
  ir::Shape dims = GetParam().input;
  dims[layer_.kind == finetune::Layer::Kind::kProduct ? dims.size() - 1 : 1] += 1;
  EXPECT_EQ(r.read(random_input(dims), 10, {}).status().code(), Code::kUnsupported);
  if (layer_.kind == finetune::Layer::Kind::kConv) {
    EXPECT_EQ(r.read(random_input({2, GetParam().input[1]}), 10, {}).status().code(), Code::kUnsupported);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layers, InputRowsTest,
    testing::Values(
        LayerCase{"Plain", "Conv (x, w)", {1, 3, 5, 6}, {4, 3, 3, 3}},
        LayerCase{"Pointwise", "Conv (x, w)", {2, 5, 4, 4}, {3, 5, 1, 1}},
        LayerCase{"PadsAndStrides", "Conv <pads = [1, 0, 2, 1], strides = [2, 1]> (x, w)", {2, 3, 7, 5}, {4, 3, 3, 2}},
        LayerCase{"Dilations", "Conv <dilations = [2, 3], pads = [1, 1, 1, 1]> (x, w)", {1, 2, 9, 9}, {2, 2, 3, 3}},
        LayerCase{"Depthwise", "Conv <group = 4, pads = [1, 1, 1, 1]> (x, w)", {1, 4, 5, 5}, {4, 1, 3, 3}},
        LayerCase{"Groups", "Conv <group = 2> (x, w)", {1, 6, 4, 4}, {4, 3, 2, 2}},
        LayerCase{"OneAxis", "Conv <pads = [1, 1]> (x, w)", {1, 3, 8}, {2, 3, 3}},
        LayerCase{"ThreeAxes", "Conv <strides = [1, 2, 1]> (x, w)", {1, 2, 3, 4, 5}, {3, 2, 2, 2, 2}},
        LayerCase{"Product", "MatMul (x, w)", {4, 6}, {6, 3}},
        LayerCase{"BatchedProduct", "MatMul (x, w)", {2, 3, 5}, {5, 4}},
        LayerCase{"TransposedGemm", "Gemm <transB = 1> (x, w)", {4, 6}, {3, 6}}),
    [](const auto& info) { return info.param.name; });

TEST(InputRowsOfOddLayersTest, AreUnsupported) {
  ir::Model model = test::model_of(
      "g (float[1, 2, 4, 4] x) => (y) <float[2, 2, 1, 1] w = {1, 2, 3, 4}> { y = Conv <strides = [1, 1]> (x, w) }", 17);
  const ir::Node& node = model.graph.node(model.graph.order().front());
  finetune::Layer layer;
  layer.kind = finetune::Layer::Kind::kConvTranspose;
  EXPECT_EQ(InputRows::make(layer, node, {2, 2, 1, 1}).status().code(), Code::kUnsupported);
  layer.kind = finetune::Layer::Kind::kConv;
  EXPECT_EQ(InputRows::make(layer, node, {2, 2, 1}).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace quarkq::planning
