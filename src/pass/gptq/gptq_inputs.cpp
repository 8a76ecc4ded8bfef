// SPDX-License-Identifier: MIT
#include "pass/gptq/gptq_inputs.h"
#include "ir/stored_floats.h"

#include "exec/session.h"
#include "plan/constant_codes.h"

namespace quarkq::pass {
namespace {

constexpr double kHessianBytes = 1 << 30;  // held at once

int64_t depth_of(const ir::Model& model, const GptqTarget& target) {
  return model.graph.value(target.weight).constant->dims()[0];
}

Status observe(const ir::Tensor& inputs, int64_t depth, const std::string& name, Hessian& hessian) {
  if (inputs.rank() < 1 || inputs.dims().back() != depth)
    return internal_error("GPTQ: '", name, "' does not fit its matrix");
  QQ_TRY(const std::vector<float> values, ir::float_values(inputs));
  // Weighed by the size of the first axis, as the reference does; only a common factor depends on it.
  if (!values.empty()) hessian.add(values.data(), inputs.size() / depth, inputs.dims()[0]);
  return Status();
}

Status run_some(const GptqSamples& samples, const ir::Model& model, std::span<const GptqTarget> targets,
                const UseHessian& use) {
  exec::SessionOptions options;
  std::vector<Hessian> hessians;
  for (const GptqTarget& target : targets) {
    options.fetches.insert(options.fetches.end(), target.inputs.begin(), target.inputs.end());
    hessians.emplace_back(depth_of(model, target));
  }
  {
    exec::Session session(model, std::move(options));
    for (size_t i = 0; i < samples.count; ++i) {
      QQ_TRY(const calib::Sample sample, samples.data.read(i));
      QQ_TRY(const std::vector<ir::Tensor>* const values,
             session.run(sample.inputs).context(cat("GPTQ, sample ", sample.name)));
      size_t next = 0;
      for (size_t t = 0; t < targets.size(); ++t) {
        for (const ir::ValueId input : targets[t].inputs)
          QQ_RETURN_IF_ERROR(
              observe((*values)[next++], depth_of(model, targets[t]), model.graph.value(input).name, hessians[t]));
      }
      if (samples.progress && !samples.progress(i + 1, samples.count)) return Status(Code::kInterrupted, "interrupted");
    }
  }
  for (size_t t = 0; t < targets.size(); ++t) QQ_RETURN_IF_ERROR(use(targets[t], hessians[t].matrix()));
  return Status();
}

}  // namespace

Result<GptqOptions> gptq_options(const config::Settings& settings, int bits) {
  QQ_TRY(config::GptqSettings given, config::read_gptq_settings(settings));
  GptqOptions options{given, bits};
  // The reference reads a factor's zeros where it means to pass errors on, so its codes are those of plain rounding.
  options.propagate = settings.quirk(config::Quirk::kPropagateGptqErrors);
  return options;
}

Dense<float> dense_of(const ir::Tensor& matrix) {
  Dense<float> dense(matrix.dims()[0], matrix.dims()[1]);
  dense.data = ir::float_values(matrix).value();
  return dense;
}

GptqSamples gptq_samples(const config::Settings& settings, const calib::DataReader& data, Progress progress) {
  const size_t count = settings.quirk(config::Quirk::kUseAllGptqSamples) ? data.size() : 1;
  return {data, count, std::move(progress)};
}

Status for_each_hessian(const GptqSamples& samples, const ir::Model& model, const std::vector<GptqTarget>& targets,
                        const UseHessian& use) {
  for (size_t begin = 0; begin < targets.size();) {
    double bytes = 0;
    size_t end = begin;
    for (; end < targets.size(); ++end) {
      const auto depth = static_cast<double>(depth_of(model, targets[end]));
      bytes += depth * depth * sizeof(double);
      if (end > begin && bytes > kHessianBytes) break;
    }
    QQ_RETURN_IF_ERROR(run_some(samples, model, std::span(targets).subspan(begin, end - begin), use));
    begin = end;
  }
  return Status();
}

}  // namespace quarkq::pass
