// SPDX-License-Identifier: MIT
// A trial as JSON: in the report, and in the folder of trials.
#include "tuning/trial_json.h"

#include "base/parse_json.h"
#include "pipeline/json.h"
#include "tuning/trial_store.h"

namespace quarkq::tuning {
namespace {

using pipeline::Json;

Json count(const std::optional<size_t>& value) { return value ? Json(*value) : Json(nullptr); }

std::optional<size_t> count_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? std::optional(found->get<size_t>()) : std::nullopt;
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

double number_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : std::nan("");
}

}  // namespace

Json trial_json(const Trial& trial) {
  return {{"step", trial.step},
          {"name", trial.name},
          {"settings", trial.settings},
          {"why_not", trial.why_not},
          {"value", pipeline::number(trial.value)},
          {"cosine", pipeline::number(trial.cosine)},
          {"excluded_macs", pipeline::number(trial.excluded_macs)},
          {"wide_macs", pipeline::number(trial.wide_macs)},
          {"bytes", trial.bytes},
          {"nodes", count(trial.nodes)},
          {"npu", count(trial.npu_nodes)},
          {"subgraphs", count(trial.subgraphs)},
          {"seconds", pipeline::number(trial.seconds)}};
}

std::string encode_trial(const Trial& trial) {
  Json json = trial_json(trial);
  json["model_hash"] = trial.model_hash;
  return pipeline::text(json);
}

std::optional<Trial> parse_trial(const std::string& text) {
  const Json json = parse_json<Json>(text);
  if (!json.is_object() || !json.contains("settings") || !json["settings"].is_array()) return std::nullopt;
  Trial trial;
  for (const Json& setting : json["settings"]) {
    if (!setting.is_string()) return std::nullopt;
    trial.settings.push_back(setting.get<std::string>());
  }
  trial.step = text_of(json, "step"), trial.name = text_of(json, "name"), trial.why_not = text_of(json, "why_not");
  trial.model_hash = text_of(json, "model_hash");
  trial.value = number_of(json, "value"), trial.cosine = number_of(json, "cosine");
  trial.excluded_macs = number_of(json, "excluded_macs"), trial.wide_macs = number_of(json, "wide_macs"),
  trial.seconds = number_of(json, "seconds");
  trial.bytes = count_of(json, "bytes").value_or(0);
  trial.nodes = count_of(json, "nodes"), trial.npu_nodes = count_of(json, "npu");
  trial.subgraphs = count_of(json, "subgraphs");
  return trial.name.empty() ? std::nullopt : std::optional(trial);
}

}  // namespace quarkq::tuning
