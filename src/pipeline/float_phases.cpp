// SPDX-License-Identifier: MIT
#include "pipeline/float_phases.h"

#include <algorithm>

#include "calib/reader/fit_samples.h"
#include "onnx_io/infer.h"

namespace quarkq::pipeline {
namespace {

constexpr pass::Phase kFirstGuarded = pass::Phase::kPrepare;  // after select and convert

/// A guard on the outputs of the converted model, on the first sample. Nothing without samples, in compat mode (whose
/// defects stay), and when the executor cannot run the model, which is reported.
std::optional<pass::OutputGuard> make_guard(const RunState& state, const calib::DataReader* samples) {
  if (samples == nullptr || !state.settings.quirk(config::Quirk::kCompareRewrites)) return std::nullopt;
  Result<calib::Sample> sample = samples->read(0);
  if (!sample.ok()) return std::nullopt;  // calibration reports the reason
  Result<pass::OutputGuard> guard = pass::OutputGuard::make(state.model, std::move(sample).value());
  if (guard.ok()) return std::move(guard).value();
  state.diagnostics.add("rewrites-not-checked", "",
                        "rewrites of the float model are not checked: " + guard.status().message());
  return std::nullopt;
}

std::unique_ptr<calib::DataReader> fitted(const calib::DataReader* reader, const ir::Model& converted,
                                          const RunState& state) {
  if (reader == nullptr) return nullptr;
  const auto& names = state.channels_last_inputs;
  return calib::fit_samples(*reader, calib::input_specs(converted.graph), {names.begin(), names.end()});
}

}  // namespace

void fit(Samples& samples, const ir::Model& converted, const RunState& state) {
  if (samples.fitted != nullptr) samples.retired.push_back(std::move(samples.fitted));
  samples.fitted = fitted(samples.opened.get(), converted, state);
}

Result<ir::Model> run_float_phases(RunState& state, Samples& samples, pass::Phase until, std::vector<PassTime>& times,
                                   RunnerOptions options) {
  options.guard = nullptr;
  QQ_RETURN_IF_ERROR(run_passes(state, {.until = kFirstGuarded}, times, options));
  const bool converted = std::any_of(times.begin(), times.end(), [](const PassTime& time) { return time.changed; });
  const calib::DataReader* probe = samples.probe;
  std::unique_ptr<calib::DataReader> fitted_probe;
  if (converted) {
    QQ_RETURN_IF_ERROR(onnx_io::infer_types(state.model, state.diagnostics));
    fit(samples, state.model, state);
    fitted_probe = fitted(probe, state.model, state);
    if (fitted_probe != nullptr) probe = fitted_probe.get();
  }
  state.source.data = samples.get();
  const ir::Model converted_model = state.model;  // shares the weights
  std::optional<pass::OutputGuard> guard = make_guard(state, probe != nullptr ? probe : samples.get());
  options.guard = guard ? &*guard : nullptr;
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = kFirstGuarded, .until = until}, times, options));
  return converted_model;
}

}  // namespace quarkq::pipeline
