// SPDX-License-Identifier: MIT
// A model with its plan as it is before the finetuning, and samples.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "pipeline/pass_runner.h"
#include "support/legalize_samples.h"

namespace quarkq::test {

inline const std::string kConvs = cat(
    "g (float[1, 3, 12, 12] x) => (float[1, 5] y) <float[8, 3, 3, 3] w0 = ", numbers(216, 1),
    ", float[8] b0 = ", numbers(8, 2), ", float[8, 1, 3, 3] w1 = ", numbers(72, 3), ", float[8] b1 = ", numbers(8, 4),
    ", float[5, 8] w2 = ", numbers(40, 5), ", float[5] b2 = ", numbers(5, 6), R"(> {
  c0 = Conv<pads=[1, 1, 1, 1]> (x, w0, b0)
  r0 = Relu (c0)
  c1 = Conv<group=8, strides=[2, 2]> (r0, w1, b1)
  r1 = Clip (c1)
  p = GlobalAveragePool (r1)
  f = Flatten (p)
  y = Gemm<transB=1> (f, w2, b2)
})");

/// Smooth images, as photos are: neighbouring values say nearly the same.
class SmoothSamples : public calib::DataReader {
 public:
  explicit SmoothSamples(size_t count) {
    std::mt19937 generator(5);
    std::uniform_real_distribution<float> amplitude(-1, 1);
    for (size_t s = 0; s < count; ++s) {
      ir::Tensor image = ir::Tensor::zeros(ElementType::kFloat, {1, 3, 12, 12});
      auto data = image.mutable_data<float>();
      const float across = amplitude(generator), down = amplitude(generator), level = amplitude(generator);
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = level + across * static_cast<float>(i % 12) / 12 + down * static_cast<float>(i / 12 % 12) / 12 +
                  0.05f * amplitude(generator);
      samples_.push_back({cat("s", s), {image}, {}});
    }
  }
  size_t size() const override { return samples_.size(); }
  Result<calib::Sample> read(size_t index) const override { return samples_[index]; }

 private:
  std::vector<calib::Sample> samples_;
};

/// The model with its plan as it is before the finetuning.
struct Finetuning {
  explicit Finetuning(const std::string& preset, std::vector<std::string> sets = {}, size_t count = 16,
                      const std::string& body = kConvs)
      : bench(model_of(body), settings_for(preset, with_defaults(std::move(sets)))), samples(count) {
    bench.context.source.data = &samples;
    for (const pass::PassInfo& info : pipeline::all_passes()) {
      if (info.phase == pass::Phase::kCalibrate && original.graph.node_count() == 0) original = bench.model;
      if (info.phase == pass::Phase::kTune) break;
      if (!info.enabled(bench.settings)) continue;
      EXPECT_TRUE(pipeline::run_pass(bench.context, info.run).ok()) << info.name;
    }
    bench.context.calibrated = std::make_shared<const ir::Model>(original);
  }
  static std::vector<std::string> with_defaults(std::vector<std::string> sets) {
    sets.insert(sets.begin(), "FastFinetune.NumIterations=200");
    return sets;
  }
  bool run() { return bench.run(planning::finetune_weights); }
  std::string codes() const {
    std::string text;
    for (const plan::QuantSlot& slot : bench.context.plan.slots())
      if (slot.codes) text += bench.graph().value(slot.value).name + " " + ir::tensor_text(*slot.codes) + "\n";
    return text;
  }
  ir::Model quantized() {
    pipeline::RunState inner = bench.context;
    EXPECT_TRUE(pipeline::run_pass(inner, qdq::write_qdq).ok());
    return inner.model;
  }
  double error() { return output_difference(original, quantized(), samples).square; }

  PassBench bench;
  SmoothSamples samples;
  ir::Model original;
};

}  // namespace quarkq::test
