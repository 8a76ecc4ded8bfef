// SPDX-License-Identifier: MIT
#include "config/crypto_mode.h"

#include <algorithm>
#include <string_view>

namespace quarkq::config {
namespace {

bool has_text(const Node& map, const char* key) {
  const Node* value = map.find(key);
  return value != nullptr && value->is_text() && !value->as_text().empty();
}

/// Settings that name files of their own, or ask for some.
constexpr struct {
  const char* setting;
  bool (*writes)(const Settings&);
} kWriters[] = {
    {"SaveTensorHistFig", [](const Settings& s) { return s.ranges.save_tensor_hist_fig; }},
    {"SaveAndRestore", [](const Settings& s) { return s.ranges.save_and_restore.has_value(); }},
    {"FastFinetune.CacheDir", [](const Settings& s) { return has_text(s.algorithms.fast_finetune.node, "CacheDir"); }},
    {"AutoMixprecision.SensitivityCacheFile",
     [](const Settings& s) { return has_text(s.algorithms.auto_mixprecision.node, "SensitivityCacheFile"); }},
    {"preprocessed_model_path", [](const Settings& s) { return s.passes.preprocessed_path.has_value(); }},
};

bool keeps_on_disk(const Settings& s) {
  const Node* level = s.algorithms.fast_finetune.node.find("MemOptLevel");
  return level != nullptr && *level == Node(int64_t{2});
}

}  // namespace

bool asks_crypto(const QuantConfig& config) {
  const auto is_key = [](const auto& key) { return key.first == "CryptoMode" && key.second == Node(true); };
  return config.fields.crypto_mode.value_or(false) || std::ranges::any_of(config.field_keys, is_key);
}

Status check_crypto(const Settings& settings, Diagnostics& diagnostics) {
  if (!settings.runtime.crypto_mode) return {};
  for (const auto& row : kWriters) {
    if (!row.writes(settings)) continue;
    return invalid_argument(row.setting,
                            ": found beside crypto_mode true, which writes nothing but the result; leave "
                            "out one of the two");
  }
  if (settings.algorithms.include_fast_ft) {
    diagnostics.add("crypto-mode", "FastFinetune",
                    cat("finished layers are not kept on disk, so an interrupted run starts anew",
                        keeps_on_disk(settings) ? "; MemOptLevel is 1, not 2" : ""));
  }
  return {};
}

}  // namespace quarkq::config
