// SPDX-License-Identifier: MIT
// Random samples of a model's inputs, and pairs of Q and DQ around its values: what tests of passes over quantized
// graphs start from.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "support/pass_support.h"

namespace quarkq::test {

/// `count` random samples of all inputs, whose shapes are static.
class RandomSamples : public calib::DataReader {
 public:
  RandomSamples(const ir::Graph& graph, size_t count, float low = -2, float high = 2) {
    std::mt19937 generator(11);
    std::uniform_real_distribution<float> distribution(low, high);
    for (size_t i = 0; i < count; ++i) {
      calib::Sample sample{cat("s", i), {}, {}};
      for (const ir::ValueId id : graph.required_inputs()) {
        ir::Tensor tensor = ir::Tensor::zeros(ElementType::kFloat, graph.value(id).type.shape());
        for (float& value : tensor.mutable_data<float>()) value = distribution(generator);
        sample.inputs.push_back(std::move(tensor));
      }
      samples_.push_back(std::move(sample));
    }
  }
  size_t size() const override { return samples_.size(); }
  Result<calib::Sample> read(size_t index) const override { return samples_[index]; }

 private:
  std::vector<calib::Sample> samples_;
};

/// Mean and mean square of the difference between the outputs number 0 of two models over the samples.
struct OutputDifference {
  double mean = 0, square = 0;
};
inline OutputDifference output_difference(const ir::Model& a, const ir::Model& b, const calib::DataReader& samples) {
  exec::Session first(a, {}, {}), second(b, {}, {});
  OutputDifference difference;
  double count = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const calib::Sample sample = samples.read(i).value();
    const auto x = first.run(sample.inputs), y = second.run(sample.inputs);
    EXPECT_TRUE(x.ok() && y.ok()) << x.status().message() << y.status().message();
    if (!x.ok() || !y.ok()) return {};
    const std::vector<double> u = ir::to_double((*x.value())[0]).value(), v = ir::to_double((*y.value())[0]).value();
    for (size_t k = 0; k < u.size(); ++k) {
      difference.mean += u[k] - v[k];
      difference.square += (u[k] - v[k]) * (u[k] - v[k]);
    }
    count += static_cast<double>(u.size());
  }
  difference.mean /= count;
  difference.square /= count;
  return difference;
}

inline std::vector<std::string> diagnostic_ids(const Diagnostics& diagnostics) {
  std::vector<std::string> ids;
  for (const Diagnostic& found : diagnostics.all()) ids.push_back(found.id);
  return ids;
}

}  // namespace quarkq::test
