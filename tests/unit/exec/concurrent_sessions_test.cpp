// SPDX-License-Identifier: MIT
// Sessions of one model in several threads at once: what they share (the library's engine, packed weights) holds, and
// each gives what it gives alone. Also runs under ThreadSanitizer (preset tsan).
#include <gtest/gtest.h>

#include <omp.h>

#include <thread>

#include "exec/session.h"
#include "onnx_io/text.h"

namespace quarkq::exec {
namespace {

constexpr int kRuns = 8;

/// Two Convs and a product, wide enough that their weights are packed.
ir::Model network() {
  Result<ir::Model> made = onnx_io::parse_model_text(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[1, 16, 12, 12] x) => (float[1, 16] y) <int64[4] kernel = {16, 16, 3, 3}, int64[2] square = {16, 16}> {
        w = ConstantOfShape <value = float[1] {0.01}> (kernel)
        m = ConstantOfShape <value = float[1] {0.5}> (square)
        c = Conv <pads = [1, 1, 1, 1]> (x, w)
        r = Relu (c)
        d = Conv <pads = [1, 1, 1, 1]> (r, w)
        p = GlobalAveragePool (d)
        f = Flatten (p)
        y = MatMul (f, m)
      })");
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(made).value() : ir::Model{};
}

ir::Tensor sample(float first) {
  ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, {1, 16, 12, 12});
  float next = first;
  for (float& value : tensor.mutable_data<float>()) value = next = next > 1 ? -1 : next + 0.013F;
  return tensor;
}

std::vector<float> outputs(const ir::Model& model, float first) {
  Session session(model, {}, {});
  std::vector<float> all;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<ir::Tensor> inputs = {sample(first + 0.1F * static_cast<float>(run))};
    const auto results = session.run(inputs);
    EXPECT_TRUE(results.ok()) << results.status().message();
    if (!results.ok()) return {};
    const auto values = (*results.value())[0].data<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(ConcurrentSessionsTest, EachThreadGetsWhatItGetsAlone) {
  const ir::Model model = network();
  constexpr size_t kThreads = 4;
  std::vector<std::vector<float>> alone, together(kThreads);
  for (size_t i = 0; i < kThreads; ++i) alone.push_back(outputs(model, static_cast<float>(i)));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      omp_set_num_threads(1);
      together[i] = outputs(model, static_cast<float>(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i) {
    ASSERT_FALSE(alone[i].empty());
    EXPECT_EQ(alone[i], together[i]) << "thread " << i;
  }
  EXPECT_NE(alone[0], alone[1]);
}

}  // namespace
}  // namespace quarkq::exec
