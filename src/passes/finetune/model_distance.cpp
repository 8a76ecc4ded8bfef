// SPDX-License-Identifier: MIT
#include "passes/finetune/model_distance.h"

#include <cmath>

#include "exec/session.h"
#include "passes/calibrate/constants.h"

namespace quarkq::passes::finetune {

Result<double> model_distance(const ir::Model& original, const ir::Model& quantized, const calib::DataReader& data,
                              size_t samples, const Options& options) {
  exec::Session exact_session(original, {}), session(quantized, {});
  double sum = 0;
  size_t count = 0;
  for (size_t s = 0; s < samples; ++s) {
    QQ_TRY(const calib::Sample sample, data.read(s));
    QQ_TRY(const std::vector<ir::Tensor>* const exact, exact_session.run(sample.inputs));
    QQ_TRY(const std::vector<ir::Tensor>* const found, session.run(sample.inputs));
    for (size_t i = 0; i < exact->size(); ++i) {
      if (options.output_index && static_cast<int64_t>(i) != *options.output_index) continue;
      const Result<std::vector<float>> a = float_values((*exact)[i]), b = float_values((*found)[i]);
      if (!a.ok() || !b.ok() || a.value().size() != b.value().size()) continue;
      double square = 0;
      for (size_t k = 0; k < a.value().size(); ++k) {
        const auto off = static_cast<double>(a.value()[k] - b.value()[k]);
        square += off * off;
      }
      sum += std::sqrt(square);
      ++count;
    }
  }
  if (count == 0) return invalid_argument("FastFinetune.SelectiveUpdate: there is no output to measure");
  return sum / static_cast<double>(count);
}

}  // namespace quarkq::passes::finetune
