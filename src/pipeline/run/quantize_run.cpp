// SPDX-License-Identifier: MIT
#include "pipeline/run/quantize_run.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"
#include "compare/output_kinds.h"
#include "config/preset.h"
#include "config/print.h"
#include "onnx_io/check_model.h"
#include "onnx_io/save.h"
#include "quarkq/status.h"

namespace quarkq::pipeline {

Status check_written(const Run& run) {
  constexpr size_t kShown = 300;  // the checker repeats itself node by node
  Status status = onnx_io::check_result(run.state.model, run.state.diagnostics);
  if (status.ok()) return status;
  const std::string found = status.message().substr(0, kShown);
  return Status(status.code(),
                cat(run.report.model_path, ": these settings produce a model that ONNX does not allow at opset ",
                    run.state.model.opset(), " (", found, status.message().size() > kShown ? " ..." : "",
                    "); choose other types, raise the opset with --set ConvertOpsetVersion=21, or report this"));
}

namespace {

/// Settings of places, speed and messages, and of samples, whose ranges have a hash of their own: the same result has
/// the same hash on another machine.
constexpr std::array<std::string_view, 18> kNoResult = {
    "preprocess",          "CalibDataSize",       "calibration",    "TmpDir",
    "SaveAndRestore",      "TensorsRangeFile",    "CalibWorkerNum", "CalibOptimizeMem",
    "CalibOptimizeDisk",   "execution_providers", "print_summary",  "debug_mode",
    "ignore_warnings",     "EvalMetrics",         "EvalDataReader", "crypto_mode",
    "EncryptionAlgorithm", "evaluation"};
/// The same inside of options that are maps.
constexpr std::array<std::pair<std::string_view, const char*>, 5> kNoResultInside = {{
    {"FastFinetune", "MemoryBudgetMB"},
    {"FastFinetune", "MemOptLevel"},
    {"FastFinetune", "CacheDir"},
    {"FastFinetune", "NumWorkers"},
    {"AutoMixprecision", "SensitivityCacheFile"},
}};

std::string settings_hash(config::Settings settings) {
  settings.tool.threads.reset();
  settings.tool.info_csv.reset();
  settings.tool.nbits_plan_out.reset();
  settings.tool.on_collapse.reset();  // what it leads to shows in the result
  settings.tool.verify_samples.reset();
  ContentHash hash;
  for (const config::SettingLine& line : config::whole_settings(settings)) {
    if (std::ranges::find(kNoResult, line.name) != kNoResult.end()) continue;
    auto value = line.value;
    for (const auto& [option, key] : kNoResultInside)
      if (line.name == option && value.is_map()) value = value.without(key);
    hash.add(line.name);
    hash.add(config::to_flow(value));
  }
  return hash.text();
}

/// Of ranges, not of samples: the statistics of shards lead to the same ranges as the samples themselves.
std::string calibration_hash(const RunState& state) {
  ContentHash hash;
  const ir::Graph& graph = state.calibrated->graph;
  for (const auto& [value, range] : state.measured.ranges) {
    hash.add(graph.value(value).name);
    hash.add(&range.min, sizeof range.min);
    hash.add(&range.max, sizeof range.max);
  }
  return hash.text();
}

}  // namespace

void write_metadata(const RunState& state, ir::Model& model) {
  if (!state.settings.writes_metadata()) return;
  std::vector<std::pair<std::string, std::string>> pairs = {{"quarkq.version", version()},
                                                            {"quarkq.settings", settings_hash(state.settings)}};
  if (!state.measured.ranges.empty() && state.calibrated)
    pairs.emplace_back("quarkq.calibration", calibration_hash(state));
  onnx_io::set_metadata(model, pairs);
}

}  // namespace quarkq::pipeline
