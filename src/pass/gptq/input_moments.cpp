// SPDX-License-Identifier: MIT
#include <algorithm>

#include "exec/session.h"
#include "ir/constants.h"
#include "pass/gptq/gptq.h"

namespace quarkq::pass {
namespace {

/// Sums of squares per column. Rows are added in order, so that no sum depends on the number of threads.
struct Squares {
  std::vector<double> sums;
  double rows = 0;

  void add(std::span<const float> values) {
    const size_t depth = sums.size();
    for (size_t begin = 0; begin + depth <= values.size(); begin += depth, ++rows) {
      for (size_t k = 0; k < depth; ++k) {
        const auto value = static_cast<double>(values[begin + k]);
        sums[k] += value * value;
      }
    }
  }
  std::vector<float> means() const {
    std::vector<float> made(sums.size());
    for (size_t k = 0; k < sums.size(); ++k) made[k] = static_cast<float>(sums[k] / std::max(rows, 1.0));
    return made;
  }
};

}  // namespace

Result<std::vector<std::vector<float>>> input_moments(const GptqSamples& samples, const ir::Model& model,
                                                      const std::vector<GptqTarget>& targets) {
  exec::SessionOptions options;
  std::vector<Squares> squares;
  for (const GptqTarget& target : targets) {
    options.fetches.insert(options.fetches.end(), target.inputs.begin(), target.inputs.end());
    const auto depth = static_cast<size_t>(model.graph.value(target.weight).constant->dims()[0]);
    squares.push_back({std::vector<double>(depth), 0});
  }
  exec::Session session(model, samples.environment, std::move(options));
  for (size_t i = 0; i < samples.count; ++i) {
    QQ_TRY(const calib::Sample sample, samples.data.read(i));
    QQ_TRY(const std::vector<ir::Tensor>* const values,
           session.run(sample.inputs).context(cat("moments of inputs, sample ", sample.name)));
    size_t next = 0;
    for (size_t t = 0; t < targets.size(); ++t) {
      for (const ir::ValueId input : targets[t].inputs) {
        const ir::Tensor& found = (*values)[next++];
        if (found.rank() < 1 || found.dims().back() != static_cast<int64_t>(squares[t].sums.size()))
          return internal_error("moments: '", model.graph.value(input).name, "' does not fit its matrix");
        QQ_TRY(const std::vector<float> floats, ir::float_values(found));
        squares[t].add(floats);
      }
    }
    if (samples.progress && !samples.progress(i + 1, samples.count)) return Status(Code::kInterrupted, "interrupted");
  }
  std::vector<std::vector<float>> moments;
  for (const Squares& one : squares) moments.push_back(one.means());
  return moments;
}

}  // namespace quarkq::pass
