// SPDX-License-Identifier: MIT
#include "passes/finetune/model_distance.h"

#include <cmath>
#include <numeric>

#include "exec/session.h"
#include "passes/calibrate/constants.h"

namespace quarkq::passes::finetune {
namespace {

/// Averages measure(float values, quantized values) over samples and outputs of the same size.
class OutputMean {
 public:
  OutputMean(const ir::Model& original, const ir::Model& quantized) : exact_(original, {}), session_(quantized, {}) {}

  template <typename Measure>
  Status add(const calib::DataReader& data, size_t index, const std::optional<int64_t>& output, Measure measure) {
    QQ_TRY(const calib::Sample sample, data.read(index));
    QQ_TRY(const std::vector<ir::Tensor>* const exact, exact_.run(sample.inputs));
    QQ_TRY(const std::vector<ir::Tensor>* const found, session_.run(sample.inputs));
    for (size_t i = 0; i < std::min(exact->size(), found->size()); ++i) {
      if (output && static_cast<int64_t>(i) != *output) continue;
      const Result<std::vector<float>> a = float_values((*exact)[i]), b = float_values((*found)[i]);
      if (!a.ok() || !b.ok() || a.value().size() != b.value().size()) continue;
      sum_ += measure(a.value(), b.value());
      ++count_;
    }
    return Status();
  }
  std::optional<double> mean() const {
    if (count_ == 0) return {};
    return sum_ / static_cast<double>(count_);
  }

 private:
  exec::Session exact_, session_;
  double sum_ = 0;
  size_t count_ = 0;
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const auto off = static_cast<double>(a[k] - b[k]);
    square += off * off;
  }
  return std::sqrt(square);
}

/// 1 when both are zero, 0 when one is.
double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  const auto dot = [](const std::vector<float>& x, const std::vector<float>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0, std::plus<>(),
                              [](float p, float q) { return static_cast<double>(p) * static_cast<double>(q); });
  };
  const double norms = std::sqrt(dot(a, a)) * std::sqrt(dot(b, b));
  return norms == 0 ? (a == b ? 1.0 : 0.0) : dot(a, b) / norms;
}

}  // namespace

Result<double> model_distance(const ir::Model& original, const ir::Model& quantized, const calib::DataReader& data,
                              size_t samples, const Options& options) {
  OutputMean outputs(original, quantized);
  for (size_t i = 0; i < samples; ++i) QQ_RETURN_IF_ERROR(outputs.add(data, i, options.output_index, distance));
  if (const std::optional<double> mean = outputs.mean()) return *mean;
  return invalid_argument("FastFinetune.SelectiveUpdate: there is no output to measure");
}

Result<std::optional<double>> model_cosine(const ir::Model& original, const ir::Model& quantized,
                                           const calib::DataReader& data, std::span<const size_t> samples) {
  OutputMean outputs(original, quantized);
  for (const size_t i : samples) QQ_RETURN_IF_ERROR(outputs.add(data, i, {}, cosine));
  return outputs.mean();
}

}  // namespace quarkq::passes::finetune
