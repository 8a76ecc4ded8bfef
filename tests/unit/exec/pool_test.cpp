// SPDX-License-Identifier: MIT
// Pools against numbers of ONNX Runtime for inputs made by a formula, and against their own float form in other types.
#include <numeric>

#include "exec/session.h"
#include "onnx_io/text.h"
#include "support/op_checks.h"

namespace quarkq::test {
namespace {

using Ints = std::vector<int64_t>;

/// Multiples of 1/64 in [-30/64, 30/64].
ir::Tensor wave(const ir::Shape& dims, int64_t phase) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::kFloat, dims);
  int64_t i = 0;
  for (float& value : tensor.mutable_data<float>()) {
    value = static_cast<float>((i++ * 37 + phase * 11) % 61 - 30) / 64.0f;
  }
  return tensor;
}

TEST(PoolTest, MaxPoolTellsWhereTheMaximaWere) {
  const std::vector shared = {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 1}),
                              attribute("pads", Ints{1, 0, 0, 1})};
  const std::vector<double> maxima = {0.28125,  0.28125,  -0.09375, 0.3125, 0.109375, -0.265625,
                                      -0.03125, 0.171875, 0.171875, 0.375,  0.375,    0};
  const std::vector<double> places[] = {{1, 1, 2, 6, 4, 5, 12, 14, 14, 16, 16, 17},
                                        {4, 4, 8, 2, 5, 9, 12, 20, 20, 17, 17, 21}};
  for (const int64_t order : {0, 1}) {
    auto attributes = shared;
    attributes.push_back(attribute("storage_order", order));
    const auto result = run_op({"MaxPool", "", 12, attributes, 2}, {wave({1, 2, 4, 3}, 1)});
    ASSERT_TRUE(result.ok()) << result.status().message();
    expect_near(result.value()[0], maxima, 0);
    expect_near(result.value()[1], places[order], 0);
  }
  const auto cube =
      run_op({"MaxPool", "", 12, {attribute("kernel_shape", Ints{2, 2, 1}), attribute("storage_order", int64_t{1})}, 2},
             {wave({1, 2, 3, 3, 2}, 1)});
  ASSERT_TRUE(cube.ok()) << cube.status().message();
  expect_near(cube.value()[1], {1, 9, 6, 16, 1, 13, 8, 16, 22, 30, 22, 30, 22, 29, 22, 34}, 0);
}

TEST(PoolTest, DilationsAndCeilMode) {
  expect_op({"MaxPool",
             "",
             12,
             {attribute("kernel_shape", Ints{2, 3}), attribute("dilations", Ints{2, 2}),
              attribute("strides", Ints{2, 2}), attribute("ceil_mode", int64_t{1})}},
            {wave({1, 1, 6, 7}, 2)}, {1, 1, 3, 2}, {0.34375, 0.28125, 0.34375, 0.46875, 0.265625, 0.46875});
  expect_op({"AveragePool",
             "",
             19,
             {attribute("kernel_shape", Ints{2, 2}), attribute("dilations", Ints{3, 2}),
              attribute("strides", Ints{2, 2}), attribute("ceil_mode", int64_t{1})}},
            {wave({1, 1, 6, 6}, 2)}, {1, 1, 2, 3}, {-0.0625, 0.140625, 0.2421875, 0.203125, 0.16796875, 0.03125});
  expect_op(
      {"AveragePool",
       "",
       19,
       {attribute("kernel_shape", Ints{2, 2}), attribute("pads", Ints{1, 1, 0, 0}), attribute("strides", Ints{2, 2}),
        attribute("ceil_mode", int64_t{1}), attribute("count_include_pad", int64_t{1})}},
      {wave({1, 1, 5, 5}, 2)}, {1, 1, 3, 3},
      {-0.03125, 0.1328125, -0.00390625, -0.0390625, -0.1640625, 0.0390625, -0.0078125, -0.1015625, 0.1015625});
  // ceil_mode reaches past the input, where nothing counts: the last window averages over one element.
  expect_op({"AveragePool",
             "",
             19,
             {attribute("kernel_shape", Ints{2}), attribute("strides", Ints{2}), attribute("ceil_mode", int64_t{1}),
              attribute("count_include_pad", int64_t{1})}},
            {floats({1, 1, 3}, {2, 4, 8})}, {1, 1, 2}, {3, 8});
}

TEST(PoolTest, AutoPad) {
  expect_op({"AveragePool",
             "",
             11,
             {attribute("kernel_shape", Ints{3, 2}), attribute("strides", Ints{2, 2}),
              attribute("auto_pad", std::string("SAME_LOWER"))}},
            {wave({1, 1, 4, 5}, 2)}, {1, 1, 2, 3}, {-0.109375, 0.04296875, 0.0078125, -0.0625, -0.1484375, 0.0546875});
}

TEST(PoolTest, LpPool) {
  const std::vector<double> expected[] = {
      {0.90625, 0.953125, 1.46875, 1.53125, 0.953125, 0.8125, 1.328125, 1.328125},
      {0.566823661, 0.495339602, 0.735869467, 0.678923786, 0.493858784, 0.553751409, 0.609775484, 0.640243769},
      {0.505204797, 0.404104501, 0.6109972, 0.537149489, 0.406057268, 0.492984712, 0.486608446, 0.519884527}};
  const std::vector shared = {attribute("kernel_shape", Ints{3, 2}), attribute("strides", Ints{2, 2}),
                              attribute("pads", Ints{1, 0, 1, 0})};
  for (int64_t power = 1; power <= 3; ++power) {
    auto attributes = shared;
    attributes.push_back(attribute("p", power));
    expect_op({"LpPool", "", 18, attributes}, {wave({1, 2, 4, 4}, 3)}, {1, 2, 2, 2}, expected[power - 1]);
  }
  auto first = shared;
  first.push_back(attribute("p", 3.0f));  // opset 1 has a real power
  expect_op({"LpPool", "", 1, first}, {wave({1, 2, 4, 4}, 3)}, {1, 2, 2, 2}, expected[2]);
  expect_op({"GlobalLpPool", "", 2, {attribute("p", int64_t{3})}}, {wave({1, 2, 3, 3}, 3)}, {1, 2, 1, 1},
            {0.580640197, 0.664806664});
  expect_error({"LpPool", "", 18, {attribute("kernel_shape", Ints{1, 1}), attribute("p", int64_t{0})}},
               {wave({1, 2, 4, 4}, 3)}, "p is 0");
}

TEST(PoolTest, OtherTypesEqualFloat) {
  const ir::Tensor x = wave({2, 5, 6, 7}, 4);
  const std::vector window = {attribute("kernel_shape", Ints{3, 3}), attribute("strides", Ints{2, 1})};
  for (const std::string op :
       {"MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"}) {
    const OpCall call = {op, "", 18, op.starts_with("Global") ? std::vector<ir::Attribute>() : window};
    const auto expected = run_op(call, {x});
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    for (const auto& [type, tolerance] :
         {std::pair{ElementType::kFloat16, 1e-3}, std::pair{ElementType::kBFloat16, 1e-2},
          std::pair{ElementType::kDouble, 1e-6}}) {
      const ir::Tensor other = as_type(x, type);
      const auto result = run_op(call, {other});
      ASSERT_TRUE(result.ok()) << result.status().message();
      EXPECT_EQ(result.value()[0].type(), type);
      expect_near(result.value()[0], values(expected.value()[0]), tolerance);
    }
  }
}

TEST(PoolTest, MaxPoolOfBytes) {
  std::vector<uint8_t> codes(16);
  for (size_t i = 0; i < 16; ++i) codes[i] = static_cast<uint8_t>(i * 29 % 251);
  std::vector<int8_t> shifted(16);
  for (size_t i = 0; i < 16; ++i) shifted[i] = static_cast<int8_t>(static_cast<int>(i * 29 % 251) - 128);
  const OpCall call = {"MaxPool", "", 12, {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 1})}};
  expect_op(call, {ir::Tensor::from<uint8_t>({1, 1, 4, 4}, codes)}, {1, 1, 2, 3}, {145, 174, 203, 232, 155, 184});
  expect_op(call, {ir::Tensor::from<int8_t>({1, 1, 4, 4}, shifted)}, {1, 1, 2, 3}, {17, 46, 75, 104, 27, 56});
  expect_error({"AveragePool", "", 12, call.attributes}, {ir::Tensor::from<uint8_t>({1, 1, 4, 4}, codes)},
               "input 0 is UINT8");
}

TEST(PoolTest, MaxUnpool) {
  const std::vector attributes = {attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{2, 2})};
  const ir::Tensor x = floats({1, 1, 2, 2}, {5, 6, 7, 8}), indices = ints({1, 1, 2, 2}, {5, 7, 13, 15});
  expect_op({"MaxUnpool", "", 11, attributes}, {x, indices}, {1, 1, 4, 4},
            {0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8});
  // Indices count in the tensor that is made, so they mean other places in a larger one.
  expect_op({"MaxUnpool", "", 11, attributes}, {x, indices, ints({1, 1, 4, 5})}, {1, 1, 4, 5},
            {0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0});
  expect_error({"MaxUnpool", "", 11, attributes}, {x, ints({1, 1, 2, 2}, {5, 7, 13, 16})}, "index 16");
  expect_error({"MaxUnpool", "", 11, attributes}, {x, ints({1, 1, 2, 2}, {-1, 7, 13, 15})}, "index -1");
  expect_error({"MaxUnpool", "", 11, attributes}, {x, ints({1, 1, 4}, {5, 7, 13, 15})}, "indices are [1,1,4]");
  expect_error({"MaxUnpool", "", 11, {attribute("kernel_shape", Ints{2})}}, {x, indices}, "do not fit");
  expect_error({"MaxUnpool", "", 11, attributes}, {x, indices, ints({1, 4, 4})}, "output_shape");
}

/// Constants are folded in ONNX order, where images otherwise lie channels-last.
TEST(PoolTest, ImagesThatAreConstantsAreFolded) {
  const Result<ir::Model> model = onnx_io::parse_model_text(
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[1] x) => (p, i, z) <float[1,2,2,2] c = {1, 2, 3, 4, 8, 7, 6, 5}, float[1,2,1,1] w = {1, 10}> "
      "{ p, i = MaxPool<kernel_shape=[2,1]>(c) a = Conv(c, w) z = Add(a, x) }");
  ASSERT_TRUE(model.ok()) << model.status().message();
  exec::Session session(model.value(), {}, {});
  const auto results = session.run(std::vector<ir::Tensor>{floats({1}, {0})});
  ASSERT_TRUE(results.ok()) << results.status().message();
  const std::vector<ir::Tensor>& found = *results.value();
  EXPECT_EQ(found[0].dims(), (ir::Shape{1, 2, 1, 2}));
  expect_near(found[0], {3, 4, 8, 7}, 0);
  expect_near(found[1], {2, 3, 4, 5}, 0);
  EXPECT_EQ(found[2].dims(), (ir::Shape{1, 1, 2, 2}));
  expect_near(found[2], {81, 72, 63, 54}, 0);
}

TEST(PoolTest, RejectsWhatDoesNotFit) {
  const ir::Tensor x = wave({1, 2, 4, 4}, 1);
  const auto pool = [](const std::vector<ir::Attribute>& attributes) { return OpCall{"MaxPool", "", 12, attributes}; };
  expect_error(pool({}), {x}, "kernel");
  expect_error(pool({attribute("kernel_shape", Ints{2})}), {x}, "does not fit");
  expect_error(pool({attribute("kernel_shape", Ints{0, 2})}), {x}, "kernel is");
  expect_error(pool({attribute("kernel_shape", Ints{5, 5})}), {x}, "larger than the padded input");
  expect_error(pool({attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{0, 1})}), {x}, "strides");
  expect_error(pool({attribute("kernel_shape", Ints{2, 2}), attribute("auto_pad", std::string("SAME"))}), {x},
               "auto_pad is 'SAME'");
  expect_error(pool({attribute("kernel_shape", Ints{2})}), {wave({2, 4}, 1)}, "ranks are 3 to 5");
}

}  // namespace
}  // namespace quarkq::test
