// SPDX-License-Identifier: MIT
#include "pipeline/compare.h"

#include <algorithm>
#include <functional>

#include "exec/session.h"
#include "numeric/metrics.h"
#include "pipeline/pass_runner.h"

namespace quarkq::pipeline {
namespace {

using Sink = std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)>;

Status run_all(ir::Model model, const std::vector<calib::Sample>& samples, const Sink& sink) {
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(prepare_for_run(model, ignored));
  exec::Session session(model, {});
  for (size_t i = 0; i < samples.size(); ++i) {
    QQ_TRY(const std::vector<ir::Tensor>* const results, session.run(samples[i].inputs));
    QQ_RETURN_IF_ERROR(sink(i, *results));
  }
  return Status();
}

}  // namespace

Result<ExpectedOutputs> ExpectedOutputs::make(const ir::Model& reference, const calib::DataReader& data,
                                              size_t samples) {
  ExpectedOutputs expected;
  for (size_t i = 0; i < std::min(samples, data.size()); ++i) {
    QQ_TRY(calib::Sample sample, data.read(i));
    expected.samples_.push_back(std::move(sample));
  }
  const auto keep = [&](size_t sample, const std::vector<ir::Tensor>& results) -> Status {
    for (size_t i = 0; sample == 0 && i < results.size(); ++i) {
      const std::string& name = reference.graph.value(reference.graph.outputs()[i]).name;
      if (is_floating(results[i].type())) expected.outputs_.push_back({name, i, {}, {}});
    }
    for (Output& output : expected.outputs_) {
      output.dims.push_back(results[output.index].dims());
      QQ_TRY(std::vector<double> values, ir::to_double(results[output.index]));
      output.values.push_back(std::move(values));
    }
    return Status();
  };
  QQ_RETURN_IF_ERROR(run_all(reference, expected.samples_, keep));
  return expected;
}

Result<std::vector<OutputAgreement>> ExpectedOutputs::compare(const ir::Model& quantized,
                                                              Diagnostics& diagnostics) const {
  std::vector<numeric::PairSums> sums(outputs_.size());
  std::vector<bool> fits(outputs_.size(), true);
  const auto hear = [&](size_t sample, const std::vector<ir::Tensor>& results) -> Status {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Output& output = outputs_[i];
      const ir::Tensor& found = results[output.index];
      if (fits[i] && found.dims() != output.dims[sample]) {
        fits[i] = false;
        diagnostics.warn("shape-changed", output.name,
                         cat("float ", shape_text(output.dims[sample]), ", quantized ", shape_text(found.dims())));
      }
      if (!fits[i]) continue;
      QQ_TRY(const std::vector<double> values, ir::to_double(found));
      add(numeric::pair_sums(output.values[sample], values), sums[i]);
    }
    return Status();
  };
  QQ_RETURN_IF_ERROR(run_all(quantized, samples_, hear));
  std::vector<OutputAgreement> agreements;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (fits[i]) agreements.push_back({outputs_[i].name, numeric::cosine(sums[i]), numeric::sqnr_db(sums[i])});
  }
  return agreements;
}

}  // namespace quarkq::pipeline
