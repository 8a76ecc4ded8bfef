// SPDX-License-Identifier: MIT
// The report of evaluate() as JSON. Keys and their order are part of the contract (docs/evaluate.md).
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/strings.h"
#include "pipeline/report/json.h"
#include "quarkq/evaluate.h"
#include "quarkq/status.h"

namespace quarkq {

using pipeline::Json;
using pipeline::number;

namespace {

Json accuracy_json(const Accuracy& accuracy) {
  const auto share = [&](size_t hits) { return static_cast<double>(hits) / static_cast<double>(accuracy.decisions); };
  Json top = Json::array();
  for (const TopHits& hits : accuracy.top) {
    top.push_back({{"k", hits.k},
                   {"baseline", share(hits.baseline)},
                   {"quantized", share(hits.quantized)},
                   {"baseline_interval", pipeline::interval_json(hits.baseline_interval)},
                   {"quantized_interval", pipeline::interval_json(hits.quantized_interval)},
                   {"difference", pipeline::difference_json(hits.difference)}});
  }
  return {{"decisions", accuracy.decisions},
          {"classes", accuracy.classes},
          {"confidence", accuracy.confidence},
          {"top", top},
          {"agreement", share(accuracy.agreements)},
          {"agreement_interval", pipeline::interval_json(accuracy.agreement_interval)}};
}

Json output_json(const OutputMetrics& output) {
  return {{"name", output.name},
          {"samples", output.samples},
          {"cosine", number(output.cosine)},
          {"sqnr_db", number(output.sqnr_db)},
          {"l2", number(output.l2)},
          {"max_abs", number(output.max_abs)},
          {"same_not_finite", output.same_not_finite},
          {"different_not_finite", output.different_not_finite}};
}

Json layer_json(const TensorAgreement& layer) {
  return {{"tensor", layer.name},
          {"node", layer.node},
          {"sqnr_db", number(layer.sqnr_db)},
          {"cosine", number(layer.cosine)},
          {"inputs_db", number(layer.inputs_db)},
          {"written_db", number(layer.written_db)}};
}

Json pair_json(const PairMetrics& pair) {
  return {{"file", pair.file},
          {"cosine", number(pair.cosine)},
          {"l2", number(pair.l2)},
          {"psnr", number(pair.psnr)},
          {"ssim", number(pair.ssim)},
          {"sqnr_db", number(pair.sqnr_db)},
          {"max_abs", number(pair.max_abs)},
          {"same_not_finite", pair.same_not_finite},
          {"different_not_finite", pair.different_not_finite}};
}

template <typename Entry>
Json list_json(const std::vector<Entry>& entries, Json (*entry_json)(const Entry&)) {
  Json list = Json::array();
  for (const Entry& entry : entries) list.push_back(entry_json(entry));
  return list;
}

}  // namespace

std::string to_json(const EvaluateReport& report) {
  Json json = Json::object();
  json["quarkq"] = version();
  json["count"] = report.pairs.size();
  json["mean_cosine"] = number(report.mean_cosine);
  json["min_cosine"] = number(report.min_cosine);
  json["mean_l2"] = number(report.mean_l2);
  json["max_l2"] = number(report.max_l2);
  json["mean_psnr"] = number(report.mean_psnr);
  json["min_psnr"] = number(report.min_psnr);
  json["mean_ssim"] = number(report.mean_ssim);
  json["min_ssim"] = number(report.min_ssim);
  json["confidence"] = report.confidence;
  json["intervals"] = {{"mean_cosine", pipeline::interval_json(report.cosine_interval)},
                       {"mean_l2", pipeline::interval_json(report.l2_interval)},
                       {"mean_psnr", pipeline::interval_json(report.psnr_interval)},
                       {"mean_ssim", pipeline::interval_json(report.ssim_interval)}};
  json["accuracy"] = report.accuracy ? accuracy_json(*report.accuracy) : Json(nullptr);
  json["outputs"] = list_json(report.outputs, output_json);
  json["layers"] = list_json(report.layers, layer_json);
  json["pairs"] = list_json(report.pairs, pair_json);
  json["findings"] = pipeline::findings_json(report.findings);
  return pipeline::text(json);
}

// The tables of evaluate() as CSV. Columns and their order are part of the contract (docs/evaluate.md).

namespace {

/// The shortest decimal that reads back as `value`; "nan", "inf".
std::string cell(double value) {
  if (std::isnan(value)) return "nan";
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// Returns `name` on one line, in quotes if it contains a comma or a quote. A name that a spreadsheet would evaluate
/// gets an apostrophe.
std::string cell(const std::string& name) {
  const bool is_formula = !name.empty() && std::string_view("=+-@").find(name[0]) != std::string_view::npos;
  std::string text = (is_formula ? "'" : "") + printable(name);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

template <typename... Values>
std::string row(const Values&... values) {
  return join(std::vector<std::string>{cell(values)...}, ",") + "\n";
}

}  // namespace

std::string pairs_csv(const EvaluateReport& report) {
  std::string csv = "file,cosine,l2,psnr,ssim,sqnr_db,max_abs\n";
  for (const PairMetrics& pair : report.pairs) {
    csv += row(pair.file, pair.cosine, pair.l2, pair.psnr, pair.ssim, pair.sqnr_db, pair.max_abs);
  }
  return csv;
}

std::string layers_csv(const EvaluateReport& report) {
  std::string csv = "tensor,node,sqnr_db,cosine,inputs_db,written_db\n";
  for (const TensorAgreement& layer : report.layers) {
    csv += row(layer.name, layer.node, layer.sqnr_db, layer.cosine, layer.inputs_db, layer.written_db);
  }
  return csv;
}

}  // namespace quarkq
