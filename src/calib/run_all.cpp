// SPDX-License-Identifier: MIT
#include "calib/run_all.h"

namespace quarkq::calib {

Status run_all(const ir::Model& model, exec::SessionOptions options, const DataReader& samples,
               const std::string& purpose,
               const std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)>& results) {
  exec::Session session(model, std::move(options));
  std::vector<std::string> names(samples.size());
  exec::SampleSet set;
  set.count = samples.size();
  set.inputs = [&](size_t i) -> Result<std::vector<ir::Tensor>> {
    QQ_TRY(Sample sample, samples.read(i));
    names[i] = std::move(sample.name);
    return std::move(sample.inputs);
  };
  set.results = results;
  set.label = [&](size_t i) { return cat(purpose, ", sample ", names[i]); };
  return session.run_samples(set);
}

}  // namespace quarkq::calib
