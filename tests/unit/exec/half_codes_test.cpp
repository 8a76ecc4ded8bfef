// SPDX-License-Identifier: MIT
// float16 as a format of com.amd.quark: models in it run, although float16 is otherwise computed as float32 (ADR 0005).
#include <gtest/gtest.h>

#include "exec/session.h"
#include "onnx_io/text.h"

namespace quarkq::exec {
namespace {

std::vector<float> run_codes(const std::string& body, const std::vector<float>& x) {
  const Result<ir::Model> model =
      onnx_io::parse_model_text("<ir_version: 8, opset_import: [\"\" : 17, \"com.amd.quark\" : 1]>\n" + body);
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return {};
  Session session(model.value(), {}, {});
  const std::vector<ir::Tensor> inputs = {ir::Tensor::from<float>({static_cast<int64_t>(x.size())}, x)};
  const auto results = session.run(inputs);
  EXPECT_TRUE(results.ok()) << results.status().message();
  if (!results.ok()) return {};
  const auto y = results.value()->front().data<float>();
  return {y.begin(), y.end()};
}

TEST(HalfCodesTest, ValuesAreRoundedAndClipped) {
  const std::vector<float> y = run_codes(
      "g (float[4] x) => (float[4] y) <float s = {1.0}, float16 z = {0}> "
      "{ q = com.amd.quark.ExtendedQuantizeLinear (x, s, z) y = com.amd.quark.ExtendedDequantizeLinear (q, s, z) }",
      {0.1f, 70000.0f, -70000.0f, 1.0f});
  EXPECT_EQ(y, (std::vector<float>{0.0999755859375f, 65504.0f, -65504.0f, 1.0f}));
}

TEST(HalfCodesTest, StoredCodesMayServeElsewhereToo) {
  // 15360 and 16384 are 1 and 2 in float16; the sum reads them as numbers, which are computed as float32.
  const std::vector<float> y = run_codes(
      "g (float[2] x) => (float[2] y) <float s = {1.0}, float16 z = {0}, float16[2] w = {15360, 16384}> "
      "{ d = com.amd.quark.ExtendedDequantizeLinear (w, s, z) f = Cast <to = 1> (w) "
      "a = Add (x, d) y = Add (a, f) }",
      {0.5f, 0.25f});
  EXPECT_EQ(y, (std::vector<float>{2.5f, 4.25f}));
}

TEST(HalfCodesTest, BitCastReadsAndMakesBits) {
  const Result<ir::Model> model = onnx_io::parse_model_text(
      "<ir_version: 10, opset_import: [\"\" : 26]>\n"
      "g (float16[2] x) => (uint16[2] read, uint16[2] stored, float16[2] made) <float16[2] w = {15360, 49152}, "
      "float16[2] d> "
      "{ d = Add (x, x) read = BitCast <to = 4> (d) stored = BitCast <to = 4> (w) "
      "i = BitCast <to = 5> (x) h = BitCast <to = 10> (i) made = Add (h, h) }");
  ASSERT_TRUE(model.ok()) << model.status().message();
  Session session(model.value(), {}, {});
  ir::Tensor x = ir::Tensor::allocate(ElementType::kFloat16, {2});
  x.mutable_data<uint16_t>()[0] = float16_from_float(0.5f);
  x.mutable_data<uint16_t>()[1] = float16_from_float(-3.0f);
  const std::vector<ir::Tensor> inputs = {x};
  const auto results = session.run(inputs);
  ASSERT_TRUE(results.ok()) << results.status().message();
  const auto bits_of = [&](size_t i) {
    const auto y = (*results.value())[i].data<uint16_t>();
    return std::vector<uint16_t>(y.begin(), y.end());
  };
  EXPECT_EQ(bits_of(0), (std::vector<uint16_t>{0x3C00, 0xC600}));  // 1 and -6
  EXPECT_EQ(bits_of(1), (std::vector<uint16_t>{15360, 49152}));
  EXPECT_EQ(bits_of(2), (std::vector<uint16_t>{0x3C00, 0xC600}));
}

}  // namespace
}  // namespace quarkq::exec
