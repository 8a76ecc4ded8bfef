// SPDX-License-Identifier: MIT
#include "planning/tune/model_distance.h"

#include <algorithm>

#include "exec/session.h"
#include "numeric/metrics.h"

namespace quarkq::planning::finetune {
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
      if (!is_floating((*exact)[i].type())) continue;
      const Result<std::vector<double>> a = ir::to_double((*exact)[i]), b = ir::to_double((*found)[i]);
      if (!a.ok() || !b.ok() || a.value().size() != b.value().size()) continue;
      sum_ += measure(numeric::pair_sums(a.value(), b.value()));
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

}  // namespace

Result<double> model_distance(const ir::Model& original, const ir::Model& quantized, const calib::DataReader& data,
                              size_t samples, const config::FinetuneSettings& options) {
  OutputMean outputs(original, quantized);
  for (size_t i = 0; i < samples; ++i)
    QQ_RETURN_IF_ERROR(outputs.add(data, i, options.output_index, numeric::l2_distance));
  if (const std::optional<double> mean = outputs.mean()) return *mean;
  return invalid_argument("FastFinetune.SelectiveUpdate: there is no output to measure");
}

Result<std::optional<double>> model_cosine(const ir::Model& original, const ir::Model& quantized,
                                           const calib::DataReader& data, std::span<const size_t> samples) {
  OutputMean outputs(original, quantized);
  for (const size_t i : samples) QQ_RETURN_IF_ERROR(outputs.add(data, i, {}, numeric::cosine));
  return outputs.mean();
}

}  // namespace quarkq::planning::finetune
