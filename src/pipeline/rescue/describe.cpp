// SPDX-License-Identifier: MIT
#include "pipeline/rescue/describe.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "ir/graph_analysis.h"
#include "ir/parts.h"
#include "pipeline/report/json.h"
#include "pipeline/run/part_plans.h"

namespace quarkq::pipeline {
namespace {

/// On one line; JSON is what a value of --set may be. Names come from model files and may not be UTF-8.
std::string flow_text(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

/// Names that settings take, of the nodes as loaded.
std::vector<std::string> loaded_names_of(const std::set<ir::NodeId>& nodes, const ir::Graph& graph,
                                         const ir::Graph& loaded) {
  std::vector<std::string> names;
  for (const ir::NodeId id : nodes) {
    for (std::string& name : loaded_names(loaded, graph.node(id))) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

/// With those that the settings name already: the list replaces theirs.
std::string excluded_text(const std::vector<std::string>& more, const config::Settings& settings) {
  std::vector<std::string> names = settings.selection.nodes_to_exclude;
  names.insert(names.end(), more.begin(), more.end());
  return flow_text(names);
}

std::string overrides_text(const std::vector<std::string>& tensors, const config::Settings& settings) {
  Json overrides = Json::object();
  const char* type = wide_type(settings) == config::DataType::kUInt16 ? "QuantType.QUInt16" : "QuantType.QInt16";
  for (const std::string& name : tensors) overrides[name] = Json::array({{{"quant_type", type}}});
  return flow_text(overrides);
}

std::vector<std::string> settings_for(const RescueReport& report, const config::Settings& settings) {
  std::vector<std::string> texts = report.float_changes;
  if (!report.rounding.empty()) texts.push_back("quarkq.rounding=" + report.rounding);
  if (report.searched_scales) texts.emplace_back("WeightCalibrateMethod=ExtendedCalibrationMethod.MinMSE");
  if (report.channel_scales) texts.emplace_back("per_channel=true");
  if (!report.float_nodes.empty()) texts.push_back("nodes_to_exclude=" + excluded_text(report.float_nodes, settings));
  if (!report.tensors_in_16_bits.empty())
    texts.push_back("TensorQuantOverrides=" + overrides_text(report.tensors_in_16_bits, settings));
  return texts;
}

}  // namespace

RescueReport described(const AppliedRemedies& applied, const RunState& state, const ir::Graph& loaded) {
  const ir::Graph& graph = state.calibrated->graph;
  const Remedies& remedies = applied.remedies;
  RescueReport report;
  for (const FloatRemedy* remedy : applied.float_remedies) report.float_changes.push_back(remedy->setting);
  report.rounding = remedies.weights.rounding;
  report.searched_scales = remedies.weights.searched_scales;
  report.channel_scales = remedies.channel_scales;
  report.float_nodes = loaded_names_of(remedies.left_float, graph, loaded);
  report.unnamed_float_nodes = static_cast<size_t>(std::ranges::count_if(
      remedies.left_float, [&](ir::NodeId id) { return loaded_names(loaded, graph.node(id)).empty(); }));
  report.float_macs = ir::mac_share(graph, remedies.left_float);
  report.macs_in_16_bits = ir::mac_share(graph, remedies.in_16_bits);
  ir::Islands islands(graph, {});
  islands.add(remedies.left_float);
  islands.add(remedies.in_16_bits);
  report.islands = islands.count();
  for (const ir::ValueId value : widened_tensors(remedies, state.selection, graph))
    report.tensors_in_16_bits.push_back(graph.value(value).name);
  report.settings = settings_for(report, state.settings);
  return report;
}

std::string rescue_text(const RescueReport& report) {
  const auto where_text = [](const std::vector<std::string>& names, double macs, size_t islands) {
    constexpr size_t kShown = 3;
    const std::span<const std::string> first(names.data(), std::min(kShown, names.size()));
    return cat(join(first, ", "), names.size() > kShown ? ", ..." : "", names.empty() ? "" : "; ",
               std::round(1000 * macs) / 10, " % of the multiply-accumulates, ", islands,
               islands == 1 ? " connected part" : " connected parts");
  };
  const auto same_by_settings = [](const RescueReport& found) -> std::string {
    if (found.unnamed_float_nodes > 0)
      return cat("Settings cannot express the same: ", found.unnamed_float_nodes, " of the float nodes have no name");
    if (!found.settings_path.empty()) return cat("The same by settings: --config ", found.settings_path);
    constexpr size_t kReadable = 200;  // characters; a detector's list of nodes has thousands
    const std::string settings = join(found.settings, "' --set '");
    if (settings.size() > kReadable)
      return "The same by settings: rescue.settings in the JSON report (--report FILE.json)";
    return cat("The same by settings: --set '", settings, "'");
  };
  std::vector<std::string> changes;
  for (const FloatRemedy& remedy : float_remedies()) {
    if (std::find(report.float_changes.begin(), report.float_changes.end(), remedy.setting) !=
        report.float_changes.end())
      changes.emplace_back(remedy.text);
  }
  if (!report.rounding.empty()) changes.emplace_back("weights are rounded to minimize the error of their layers");
  if (report.searched_scales) changes.emplace_back("scales of weights minimize their squared error");
  if (report.channel_scales) changes.push_back("weights have a scale per channel");
  if (!report.tensors_in_16_bits.empty())
    changes.push_back(cat(report.tensors_in_16_bits.size(), " activations have 16 bits (",
                          where_text(report.tensors_in_16_bits, report.macs_in_16_bits, report.islands), ")"));
  if (const size_t count = report.float_nodes.size() + report.unnamed_float_nodes; count > 0)
    changes.push_back(
        cat(count, " nodes stay float (", where_text(report.float_nodes, report.float_macs, report.islands), ")"));
  return cat("cosine ", report.before.cosine, " becomes ", report.after.cosine, " on ", report.samples,
             " calibration samples: ", join(changes, "; "), ". ", same_by_settings(report),
             "; --on-collapse warn leaves the plain result");
}

}  // namespace quarkq::pipeline
