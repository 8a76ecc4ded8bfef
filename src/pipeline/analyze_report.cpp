// SPDX-License-Identifier: MIT
// The result of analyze(), as JSON and as a settings file.
#include <string_view>

#include "config/print.h"
#include "config/quant_config.h"
#include "pipeline/json.h"
#include "quarkq/analyze.h"
#include "quarkq/version.h"

namespace quarkq {

using pipeline::agreement_json;
using pipeline::Json;
using pipeline::number;

namespace {

/// In a file a name that begins with ^ reads as a pattern, so it becomes a pattern that matches only it.
config::Selector selector_of(const std::string& name) {
  if (!name.starts_with('^')) return {config::Selector::Kind::kName, name, {}, {}};
  std::string pattern = "^";
  for (const char c : name) {
    if (std::string_view("^$\\.*+?()[]{}|/").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return {config::Selector::Kind::kPattern, pattern + "(.*){0}$", {}, {}};  // a pattern must contain .*
}

Result<config::TensorSpec> spec_of(const std::string& data_type) {
  std::vector<std::string> known;
  for (const config::SpecClass& row : config::spec_classes()) {
    if (row.data_type == data_type)
      return config::TensorSpec{row.data_type, row.type, row.symmetric, row.scale_type, row.calibration_method};
    known.emplace_back(row.data_type);
  }
  return invalid_argument(data_type, ": unknown data type, known are ", join(known, ", "));
}

}  // namespace

std::string to_json(const AnalyzeReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["model"] = report.model_path;
  json["preset"] = report.preset;
  json["mode"] = report.mode == AnalyzeMode::kOneQuantized ? "one-quantized" : "one-float";
  json["samples"] = report.samples;
  json["nothing_quantized"] = agreement_json(report.nothing_quantized);
  json["all_quantized"] = agreement_json(report.all_quantized);
  json["layers"] = Json::array();
  for (const LayerEffect& layer : report.layers) {
    Json entry = {{"node", layer.node}, {"names", layer.names}};
    entry.update(agreement_json(layer.outputs));
    json["layers"].push_back(std::move(entry));
  }
  json["leave_out"] = report.leave_out;
  json["left_out"] = agreement_json(report.left_out);
  json["findings"] = pipeline::findings_json(report.findings);
  json["seconds"] = report.seconds;
  return pipeline::text(json);
}

Result<std::string> settings_file(const AnalyzeRequest& request, const AnalyzeReport& report,
                                  const std::string& data_type) {
  QQ_TRY(config::QuantConfig asked, config::load_config(request.config, request.settings));
  std::vector<config::Selector> layers;
  for (const std::string& name : report.leave_out) layers.push_back(selector_of(name));
  std::string does = "are left float";
  if (data_type.empty()) {
    asked.exclude.insert(asked.exclude.end(), layers.begin(), layers.end());
  } else {
    QQ_TRY(const config::TensorSpec spec, spec_of(data_type));
    config::LayerSpec wider;
    wider.input_tensors = wider.weight = spec;
    if (!layers.empty()) asked.specific_layer_config.push_back({wider, layers, {}});
    does = "compute in " + data_type;
  }
  const size_t count = report.leave_out.size();
  const std::string what =
      count == 0 ? cat("the outputs of ", report.model_path, " are close enough with every layer quantized")
                 : cat(count, count == 1 ? " node " : " nodes ", does, ": those that degrade the outputs of ",
                       report.model_path, " most");
  return cat("# ", what, " (quarkq analyze).\n", config::to_yaml(asked));
}

}  // namespace quarkq
