// SPDX-License-Identifier: MIT
#include "pipeline/report/html/tune_page.h"

#include <algorithm>
#include <cmath>

#include "base/paths.h"
#include "base/strings.h"
#include "pipeline/report/html/charts.h"
#include "pipeline/report/html/markup.h"

namespace quarkq::pipeline::html {
namespace {

/// "-" for null.
std::string figure(const Json& value) { return value.is_number() ? short_number(value.get<double>()) : "-"; }

/// Returns "0.8125, 0.74 to 0.87"; the value alone in reports without intervals.
std::string with_interval(const Json& value, const Json& interval) {
  if (!interval.is_object()) return figure(value);
  return cat(figure(value), ", ", figure(interval.at("low")), " to ", figure(interval.at("high")));
}

/// Returns the value of a key, or null if it is absent, as in reports of earlier versions.
const Json& row_of(const Json& json, const char* key) {
  static const Json kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

std::string share_figure(const Json& share) {
  return share.is_number() && share.get<double>() > 0 ? short_number(100 * share.get<double>()) + " %" : "-";
}

bool has_result(const Json& trial) { return text_of(trial, "why_not").empty() && trial.at("value").is_number(); }

bool is_higher_better(const Json& run) { return text_of(run.at("metric"), "better") == "higher"; }

const Json& best_of(const Json& run) { return run.at("trials").at(run.at("best").get<size_t>()); }

std::string verdict(const Json& run) {
  const std::string goal = text_of(run, "goal"), next = text_of(run, "next");
  const bool is_met = run.at("met").get<bool>();
  std::string said = goal.empty() ? "There was no goal: this is the best within the time."
                                  : cat("The goal ", goal, is_met ? " is met." : " was missed.");
  if (row_of(run, "not_enough_samples") == true)
    said += " The value meets it, but there are not enough samples to tell.";
  if (run.at("timed_out").get<bool>()) said += " The time was up.";
  if (!next.empty()) said += " With more time: " + next + ".";
  return element("p", {{"class", "verdict"}},
                 element("b", {}, escaped(text_of(best_of(run), "name"))) + escaped(". " + said));
}

std::string header(const Json& run) {
  const Json &trials = run.at("trials"), &best = best_of(run);
  const std::string metric = text_of(run.at("metric"), "name");
  const char* kind = text_of(run, "goal").empty() ? "" : run.at("met").get<bool>() ? "good" : "bad";
  std::string tiles =
      tile(metric + " of the float model", with_interval(run.at("float_value"), row_of(run, "float_interval")));
  const auto score = [](const Json& trial) { return with_interval(trial.at("value"), row_of(trial, "interval")); };
  tiles += tile(metric + " of the plain settings", score(trials.at(0)));
  tiles += tile(metric + " of the result", score(best), kind);
  tiles += tile("multiply-accumulates in wider formats", share_figure(best.at("wide_macs")));
  tiles += tile("size", bytes_text(best.at("bytes").get<double>()));
  tiles += tile("trials", std::to_string(trials.size()));
  tiles += tile("seconds", figure(run.at("seconds")));
  const std::string file = paths::name_of(text_of(run, "model"));
  return text_element("h1", "Tuning of " + file) + "\n" + verdict(run) +
         element("p", {{"class", "note"}},
                 escaped(cat(text_of(run, "model"), ", written to ", text_of(run, "output"), " by quarkq ",
                             text_of(run, "quarkq"), "; settings: ", text_of(run, "settings")))) +
         element("div", {{"class", "tiles"}}, tiles) + "\n";
}

/// How far the value of a trial is from the worst to the best one.
double share_of(const Json& run, const Json& trial) {
  double low = trial.at("value").get<double>(), high = low;
  for (const Json& other : run.at("trials")) {
    if (!has_result(other)) continue;
    low = std::min(low, other.at("value").get<double>()), high = std::max(high, other.at("value").get<double>());
  }
  const double share = high > low ? (trial.at("value").get<double>() - low) / (high - low) : 1;
  return is_higher_better(run) ? share : 1 - share;
}

std::string path(const Json& run) {
  std::vector<BarRow> rows;
  for (const Json& trial : run.at("trials")) {
    if (!has_result(trial)) {
      rows.push_back({text_of(trial, "name"), text_of(trial, "why_not"), "failed", 0});
      continue;
    }
    const bool is_best = &trial == &best_of(run);
    rows.push_back({text_of(trial, "name"), join(trial.at("settings").get<std::vector<std::string>>(), ", "),
                    with_interval(trial.at("value"), row_of(trial, "interval")), share_of(run, trial),
                    is_best ? "good" : "fill"});
  }
  return section(
      "Trials",
      "In the order they were tried; the bar runs from the worst to the best value. Point at a name for its settings.",
      bar_chart(rows));
}

/// What each step gave and cost.
std::string steps(const Json& run) {
  std::vector<std::vector<std::string>> rows = {
      {"step", "trials", "best", text_of(run.at("metric"), "name"), "gain", "wider formats", "size", "seconds"}};
  const Json* reached = nullptr;
  const auto is_better = [&](const Json& a, const Json& b) {
    const double x = a.at("value").get<double>(), y = b.at("value").get<double>();
    return is_higher_better(run) ? x > y : x < y;
  };
  const Json& trials = run.at("trials");
  for (size_t first = 0, end = 0; first < trials.size(); first = end) {
    const Json* best = nullptr;
    double seconds = 0;
    bool is_taken = false;  ///< The trial that the step kept was seen.
    for (; end < trials.size() && trials[end].at("step") == trials[first].at("step"); ++end) {
      const Json& trial = trials[end];
      if (trial.at("seconds").is_number()) seconds += trial.at("seconds").get<double>();
      const bool is_accepted = row_of(trial, "accepted") == true;
      if (is_accepted || (has_result(trial) && !is_taken && (best == nullptr || is_better(trial, *best))))
        best = &trial;
      is_taken = is_taken || is_accepted;
    }
    std::vector<std::string> row = {text_of(trials[first], "step"), std::to_string(end - first)};
    if (best == nullptr) {
      row.insert(row.end(), {"all failed", "-", "-", "-", "-", short_number(seconds)});
    } else {
      const double gain = reached == nullptr ? 0 : best->at("value").get<double>() - reached->at("value").get<double>();
      const bool is_accepted = row_of(*best, "accepted").is_null() ? reached == nullptr || is_better(*best, *reached)
                                                                   : row_of(*best, "accepted").get<bool>();
      const std::string gained = reached == nullptr ? "-"
                                 : is_accepted      ? with_interval(gain, row_of(*best, "gain"))
                                 : is_better(*best, *reached)
                                     ? with_interval(gain, row_of(*best, "gain")) + ": within noise"
                                     : "-";
      row.insert(row.end(),
                 {text_of(*best, "name"), figure(best->at("value")), gained, share_figure(best->at("wide_macs")),
                  bytes_text(best->at("bytes").get<double>()), short_number(seconds)});
      if (is_accepted) reached = best;
    }
    rows.push_back(std::move(row));
  }
  return section(
      "What each step gave and cost",
      "The gain is over the best of the steps before, with its 95 % interval. A step within noise is not kept.",
      table(rows));
}

/// Returns "20 of 22", "refused", or "-" without a target.
std::string placed(const Json& trial) {
  const Json& deployable = trial.at("deployable");
  if (!deployable.is_object()) return "-";
  if (text_of(deployable, "holds") == "no") return "refused";
  return cat(figure(deployable.at("nodes")), " of ", figure(deployable.at("of")));
}

std::string pareto(const Json& run) {
  std::vector<Point> points;
  std::vector<std::vector<std::string>> rows = {
      {"trial", text_of(run.at("metric"), "name"), "wider formats", "size", "NPU nodes"}};
  for (const Json& trial : run.at("trials")) {
    if (!has_result(trial)) continue;
    const bool is_pareto = trial.at("pareto").get<bool>();
    const double value = trial.at("value").get<double>();
    points.push_back({100 * trial.at("wide_macs").get<double>(), is_higher_better(run) ? value : -value,
                      text_of(trial, "name"), is_pareto});
    if (!is_pareto) continue;
    rows.push_back({text_of(trial, "name"), figure(trial.at("value")), share_figure(trial.at("wide_macs")),
                    bytes_text(trial.at("bytes").get<double>()), placed(trial)});
  }
  const std::string up =
      text_of(run.at("metric"), "name") + (is_higher_better(run) ? "" : " (negative: lower is better)");
  return section("Value against wider formats",
                 "Coloured points are not beaten by another trial in value, wider formats and size at once.",
                 scatter_chart(points, "multiply-accumulates in wider formats (%)", up) + table(rows));
}

/// A column for each layer, by its noise when it alone is quantized.
std::string sensitivity(const Json& run) {
  const auto layers = run.find("sensitivity");
  if (layers == run.end() || layers->empty()) return "";
  const auto noise_of = [](const Json& layer) {
    const Json& sqnr = layer.at("sqnr_db");
    return sqnr.is_number() ? std::pow(10, -sqnr.get<double>() / 10) : 0;
  };
  double most = 0;
  for (const Json& layer : *layers) most = std::max(most, noise_of(layer));
  std::vector<BarRow> rows;
  for (const Json& layer : *layers) {
    const double share = most > 0 ? noise_of(layer) / most : 0;
    rows.push_back(
        {text_of(layer, "node"),
         cat("cosine ", figure(layer.at("cosine")), ", ", share_figure(layer.at("mac_share")), " of the work"),
         figure(layer.at("sqnr_db")) + " dB", share, share > 0.5 ? "bad" : "fill"});
  }
  return section(
      "Sensitivity by depth",
      "Noise of the outputs when one layer alone is quantized, from the input on the left to the output on the "
      "right, on calibration samples. Point at a column for its layer.",
      column_chart(rows));
}

std::string result_settings(const Json& run) {
  std::string items;
  for (const Json& setting : best_of(run).at("settings")) items += text_element("li", setting.get<std::string>());
  return section("Settings of the result", "In addition to the requested settings.",
                 items.empty() ? "" : element("ul", {}, items));
}

}  // namespace

std::string tune_page(const Json& run) {
  std::string said;
  for (const Json& finding : run.at("findings"))
    said += element("div", {{"class", "finding " + text_of(finding, "severity")}},
                    escaped(text_of(finding, "subject") + " " + text_of(finding, "text")));
  return document("quarkq: tuning of " + text_of(run, "model"), header(run) + section("Findings", "", said) +
                                                                    steps(run) + sensitivity(run) + path(run) +
                                                                    pareto(run) + result_settings(run));
}

}  // namespace quarkq::pipeline::html
