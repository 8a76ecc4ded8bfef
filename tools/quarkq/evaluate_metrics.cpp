// SPDX-License-Identifier: MIT
#include "evaluate_metrics.h"

#include <algorithm>
#include <cstdio>

#include "base/parse_text.h"
#include "base/paths.h"
#include "compare/intervals.h"
#include "output.h"
#include "run_control.h"
#include "terminal.h"

namespace quarkq::tool {

namespace {

/// One file under two spellings, whether it exists or not.
bool is_same_place(const std::string& a, const std::string& b) {
  return paths::real_so_far(a) == paths::real_so_far(b);
}

}  // namespace

Status EvaluateFiles::open(const std::string& path, Text text) {
  if (path.empty()) return Status();
  if (path == kStdout) {
    if (printed_ != nullptr) return invalid_argument("evaluate: found - for two outputs, allowed is one");
    printed_ = text;
    return Status();
  }
  const auto is_open = [&](const File& other) { return is_same_place(path, other.file.target()); };
  if (std::any_of(files_.begin(), files_.end(), is_open)) {
    return invalid_argument("evaluate: found ", path, " for two outputs, each needs a file of its own");
  }
  QQ_TRY(AtomicFile file, AtomicFile::create(path));
  files_.push_back({std::move(file), text});
  return Status();
}

Status EvaluateFiles::write(const EvaluateReport& report) {
  for (File& one : files_) {
    const std::string text = one.text(report);
    QQ_RETURN_IF_ERROR(one.file.write(text.data(), text.size()));
  }
  for (File& one : files_) QQ_RETURN_IF_ERROR(one.file.commit());
  if (printed_ != nullptr) std::fputs(printed_(report).c_str(), stdout);
  return Status();
}

namespace {

void print_metrics(const ScoreReport& report, bool has_baseline) {
  const std::string interval = cat(six_digits(100 * report.confidence), " % interval");
  std::vector<Table::Column> columns = {{"Metric"}};
  if (has_baseline) columns.insert(columns.end(), {{"baseline", kRight}, {interval, kRight}});
  columns.insert(columns.end(), {{"value", kRight}, {interval, kRight}});
  if (has_baseline) columns.push_back({"difference", kRight});
  columns.insert(columns.end(), {{"unit"}, {"better"}});
  Table table(std::move(columns));
  for (const MetricValue& metric : report.metrics) {
    std::vector<std::string> cells = {metric.name};
    if (has_baseline)
      cells.insert(cells.end(),
                   {metric.baseline ? six_digits(*metric.baseline) : "-", interval_text(metric.baseline_interval)});
    cells.insert(cells.end(), {six_digits(metric.value), interval_text(metric.interval)});
    if (has_baseline) cells.push_back(change_text(metric.difference));
    const char* better = metric.higher_is_better ? "higher" : "lower";
    cells.insert(cells.end(), {metric.unit.empty() ? "-" : metric.unit, metric.name == kCommandMetric ? "-" : better});
    table.add(std::move(cells));
  }
  table.print();
}

Status check_metrics(const std::vector<Requirement>& requirements, const std::optional<double>& confidence,
                     const ScoreReport& report) {
  std::vector<std::string> missed;
  for (const Requirement& required : requirements) {
    const auto metric = std::ranges::find(report.metrics, required.metric, &MetricValue::name);
    const std::string why = compare::why_missed({required.bound, required.is_at_least, confidence},
                                                {metric->value, metric->resamples}, metric->interval);
    if (!why.empty()) missed.push_back(cat(required.metric, " is ", why));
  }
  return missed.empty() ? Status() : quality_gate("evaluate: ", join(missed, "; "));
}

}  // namespace

std::string six_digits(double value) { return cat(value); }

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.4g to %.4g", interval->low, interval->high);
  return text;
}

std::string change_text(const std::optional<ScoreDifference>& difference) {
  if (!difference) return "-";
  char text[32], probability[32] = "";
  std::snprintf(text, sizeof text, "%+.4g", difference->value);
  if (difference->mcnemar) std::snprintf(probability, sizeof probability, ", p %.2g", *difference->mcnemar);
  return cat(text, " (", interval_text(difference->interval), probability, ")");
}

void add_confidence_option(CLI::App& app, std::optional<double>& confidence, const char* summary) {
  app.add_option("--confidence", confidence, summary)->check(CLI::Range(0.5, 0.99));
}

Result<Requirement> read_requirement(const std::string& text, const std::vector<std::string>& metrics) {
  const size_t sign = text.find('=');
  const bool has_sign = sign != std::string::npos && sign > 0 && (text[sign - 1] == '>' || text[sign - 1] == '<');
  Requirement required;
  if (has_sign) {
    required = {text.substr(0, sign - 1), text[sign - 1] == '>'};
    const std::optional<double> bound = parse_finite(std::string_view(text).substr(sign + 1));
    required.bound = bound.value_or(0);
    if (bound && std::ranges::find(metrics, required.metric) != metrics.end()) return required;
  }
  return invalid_argument("--require: found ", text, ", allowed is METRIC>=X or METRIC<=X of ", join(metrics, ", "));
}

void add_scoring_options(CLI::App& app, MetricRequest& request) {
  app.add_option(
         "--metric", request.names,
         "Print this metric of --labels instead (repeatable; quarkq list metrics), of one model or folder or two")
      ->allow_extra_args(false);
  app.add_option("--head", request.detector.head, "Layout of the boxes in a detector's outputs (quarkq list heads)");
  app.add_option("--min-score", request.detector.min_score, "Boxes that score less are left out (0.001)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--nms-iou", request.detector.nms_iou,
                 "Of boxes of a class that overlap more, the best one counts (0.65)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--classes", request.classes_path,
                 "Boxes in a folder: a file with the name of each class, line by line (classes.txt in the folder)");
  app.add_option("--alphabet", request.alphabet_path,
                 "Text recognizers: a file with the symbol of each class, line by line, without the blank before them");
  app.add_option("--metric-cmd", request.command,
                 "Print the number that this command prints; {results} in it becomes the folder of results");
  app.add_option("--metric-timeout", request.command_seconds, "Timeout of the command in seconds (600)")
      ->check(CLI::Range(0.001, 1e7));
}

void add_metric_options(CLI::App& app, MetricArgs& args) {
  add_scoring_options(app, args.request);
  app.add_option(
         "--require", args.required,
         "Fail (exit 5) unless METRIC>=X or METRIC<=X; deployable: unless the compiler that fits the type of the "
         "quantized model accepts it (repeatable)")
      ->type_name("GOAL")
      ->allow_extra_args(false);
}

Status run_metrics(ScoreRequest& request, const MetricArgs& args, const std::string& json) {
  std::vector<std::string> names = args.request.names;
  if (!args.request.command.empty()) names.emplace_back(kCommandMetric);
  std::vector<Requirement> requirements;
  requirements.reserve(args.required.size());
  for (const std::string& text : args.required) {
    QQ_TRY(Requirement required, read_requirement(text, names));
    requirements.push_back(std::move(required));
  }
  request.metric.confidence = args.confidence.value_or(kConfidence);
  QQ_TRY(TextOutput file, TextOutput::open(json));
  QQ_TRY(const ScoreReport report, run_with_bar(request, score));
  QQ_RETURN_IF_ERROR(file.write(to_json(report)));
  print_findings(report.findings);
  if (json.empty() || prints_text(json))  // without any other output they are printed with -q, too
    print_metrics(report, !request.baseline.empty());
  std::fflush(stdout);
  return check_metrics(requirements, args.confidence, report);
}

}  // namespace quarkq::tool
