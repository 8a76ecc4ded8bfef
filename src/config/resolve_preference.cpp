// SPDX-License-Identifier: MIT
// QuantizationPreference (ref:settings#preference): one word that changes several settings.
#include <algorithm>
#include <string_view>
#include <thread>

#include "config/resolve_steps.h"

namespace quarkq::config {
namespace {

bool is_pow2_mse(const Settings& s) { return s.ranges.calibrate_method == CalibrateMethod::kMinMSE; }
bool always(const Settings&) { return true; }
bool wants_bins(const Settings& s) {
  return is_pow2_mse(s) && s.ranges.min_mse_mode_pof2_scale == "All" && s.ranges.num_bins.value_or(0) == 0;
}
bool by_layers(const Settings& s) { return s.ranges.calibrate_method == CalibrateMethod::kLayerWisePercentile; }
bool keeps_samples(const Settings& s) { return !s.ranges.calib_optimize_mem; }
bool has_workers(const Settings& s) { return s.ranges.calib_worker_num > 1 || !s.origins.contains("CalibWorkerNum"); }

constexpr const char kWorkers[] = "";  // as many as the machine has, at most 8

/// What a preference makes of a setting.
constexpr struct {
  const char* preference;
  const char* setting;
  const char* value;
  bool (*applies)(const Settings&);
} kSettings[] = {
    {"accuracy", "MinMSEModePof2Scale", "All", is_pow2_mse},
    {"speed", "NumBins", "2048", wants_bins},
    {"speed", "LWPUseHistogram", "true", by_layers},
    {"speed", "CalibOptimizeMem", "false", always},
    {"speed", "CalibWorkerNum", kWorkers, has_workers},
    {"resource_efficiency", "NumBins", "2048", wants_bins},
    {"resource_efficiency", "LWPUseHistogram", "true", by_layers},
    {"resource_efficiency", "CalibOptimizeMem", "true", keeps_samples},
    {"resource_efficiency", "CalibWorkerNum", "1", has_workers},
};

/// The same for keys of FastFinetune.
constexpr struct {
  const char* preference;
  const char* key;
  const char* value;
} kFinetune[] = {
    {"accuracy", "EarlyStop", "false"},
    {"accuracy", "UpdateBias", "true"},
    {"accuracy", "OutputQDQ", "true"},
    {"speed", "EarlyStop", "true"},
    {"speed", "MemOptLevel", "0"},
    {"speed", "NumWorkers", kWorkers},
    {"resource_efficiency", "MemOptLevel", "2"},
    {"resource_efficiency", "NumWorkers", "1"},
};

Node value_for(const char* text) {
  if (*text != '\0') return literal(text);
  return Node(static_cast<int64_t>(std::min(std::thread::hardware_concurrency(), 8u)));
}

void report(Resolving& r, const std::string& name, const Node& before, const Node& after) {
  if (to_flow(before) == to_flow(after)) return;
  r.diagnostics.add(
      "setting-forced", name,
      cat("is ", to_flow(after), ": QuantizationPreference is ", *r.settings.runtime.quantization_preference));
}

}  // namespace

Status apply_preference(Resolving& r) {
  Settings& s = r.settings;
  if (!s.runtime.quantization_preference) return {};
  const std::string& asked = *s.runtime.quantization_preference;
  if (asked != "accuracy" && asked != "speed" && asked != "resource_efficiency") {
    return invalid_argument("QuantizationPreference: found ", asked, ", allowed is accuracy, speed or ",
                            "resource_efficiency");
  }
  for (const auto& row : kSettings) {
    if (asked != row.preference || !row.applies(s)) continue;
    const Node value = value_for(row.value);
    report(r, row.setting, value_of(s, row.setting), value);
    force(r, row.setting, value);
  }
  if (!s.algorithms.include_fast_ft) return {};
  Node params = value_of(s, "FastFinetune");
  for (const auto& row : kFinetune) {
    if (asked != row.preference) continue;
    const Node* before = params.find(row.key);
    const bool keeps =
        row.key == std::string_view("NumWorkers") && *row.value == '\0' && before != nullptr && to_flow(*before) != "1";
    if (keeps) continue;
    const Node value = value_for(row.value);
    report(r, cat("FastFinetune.", row.key), before != nullptr ? *before : Node(), value);
    params = params.with(row.key, value);
  }
  force(r, "FastFinetune", params);
  return {};
}

}  // namespace quarkq::config
