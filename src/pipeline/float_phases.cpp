// SPDX-License-Identifier: MIT
#include "pipeline/float_phases.h"

#include <algorithm>

#include "calib/reader/fit_samples.h"
#include "onnx_io/infer.h"

namespace quarkq::pipeline {
namespace {

constexpr const char* kFirstGuarded = "prepare";  // the phase behind select and convert

/// A guard on the outputs of the converted model, on the first sample. Nothing without samples, in compat mode (whose
/// defects stay), and when the executor cannot run the model, which is said.
std::optional<OutputGuard> make_guard(const passes::PassContext& context, const calib::DataReader* samples) {
  if (samples == nullptr || context.settings.compat) return std::nullopt;
  Result<calib::Sample> sample = samples->read(0);
  if (!sample.ok()) return std::nullopt;  // calibration will say why
  Result<OutputGuard> guard = OutputGuard::make(context.model, std::move(sample).value());
  if (guard.ok()) return std::move(guard).value();
  context.diagnostics.notice("not-verified", "",
                             "rewrites of the float model are not checked: " + guard.status().message());
  return std::nullopt;
}

std::unique_ptr<calib::DataReader> fitted(const calib::DataReader* reader, const ir::Model& converted,
                                          const passes::PassContext& context) {
  if (reader == nullptr) return nullptr;
  const auto& names = context.channels_last_inputs;
  return calib::fit_samples(*reader, calib::input_specs(converted.graph), {names.begin(), names.end()});
}

}  // namespace

void fit(Samples& samples, const ir::Model& converted, const passes::PassContext& context) {
  samples.fitted = fitted(samples.opened.get(), converted, context);
}

Result<ir::Model> run_float_phases(passes::PassContext& context, Samples& samples, const calib::DataReader* probe,
                                   const char* until, std::vector<PhaseTime>& times, RunnerOptions options) {
  options.guard = nullptr;
  QQ_RETURN_IF_ERROR(run_passes(context, {.from = nullptr, .until = kFirstGuarded}, times, options));
  const bool converted = std::any_of(times.begin(), times.end(), [](const PhaseTime& time) { return time.changed; });
  std::unique_ptr<calib::DataReader> fitted_probe;
  if (converted) {
    QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
    fit(samples, context.model, context);
    fitted_probe = fitted(probe, context.model, context);
    if (fitted_probe != nullptr) probe = fitted_probe.get();
  }
  context.data = samples.get();
  const ir::Model converted_model = context.model;  // shares the weights
  std::optional<OutputGuard> guard = make_guard(context, probe != nullptr ? probe : samples.get());
  options.guard = guard ? &*guard : nullptr;
  QQ_RETURN_IF_ERROR(run_passes(context, {.from = kFirstGuarded, .until = until}, times, options));
  return converted_model;
}

}  // namespace quarkq::pipeline
