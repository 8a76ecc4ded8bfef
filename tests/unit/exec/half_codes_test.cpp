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

}  // namespace
}  // namespace quarkq::exec
