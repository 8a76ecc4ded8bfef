// SPDX-License-Identifier: MIT
#include "quarkq/quantize.h"

#include <algorithm>

#include "base/error.h"
#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "pipeline/report/html/charts.h"
#include "pipeline/report/html/markup.h"
#include "pipeline/report/html/tune_page.h"

namespace quarkq {
namespace {

using namespace pipeline::html;
using pipeline::Json;

/// The number as stored; a type error for other values.
std::string count_of(const Json& entry) {
  const auto number = entry.get<double>();
  return entry.is_number_integer() ? std::to_string(entry.get<int64_t>()) : short_number(number);
}

/// The grade, why, and what to try next; nothing in reports that have none.
std::string verdict(const Json& run) {
  if (!run.contains("verdict") || !run.at("verdict").is_object()) return "";
  const Json& found = run.at("verdict");
  return element("p", {{"class", "verdict"}},
                 element("b", {}, escaped("Verdict: " + text_of(found, "grade"))) +
                     escaped(": " + text_of(found, "why") + ". Next: " + text_of(found, "next")));
}

/// The figure of the task of an output; empty in reports without.
std::string task_tile(const Json& output) {
  if (!output.contains("task") || !output.at("task").is_object()) return "";
  const Json& task = output.at("task");
  const std::string grade = text_of(task, "grade"), kind = text_of(task, "task");
  const double value = task.at("value").is_number() ? task.at("value").get<double>() : 0;
  return tile(kind + " of " + text_of(output, "name"),
              kind == "picture" ? short_number(value) + " dB" : short_number(100 * value) + " %",
              grade == "poor"   ? "bad"
              : grade == "good" ? "good"
                                : "");
}

std::string header(const Json& run) {
  const double before = run.at("bytes").at("input").get<double>(), after = run.at("bytes").at("output").get<double>();
  std::string tiles = tile("settings", text_of(run, "preset").empty() ? "a file" : text_of(run, "preset"));
  for (const Json& output : run.at("outputs")) {
    const Json& cosine = output.at("cosine");
    const double found = cosine.is_number() ? cosine.get<double>() : 0;
    tiles += tile("cosine of " + text_of(output, "name"), short_number(found),
                  found < 0.9     ? "bad"
                  : found >= 0.99 ? "good"
                                  : "");
    tiles += task_tile(output);
  }
  tiles += tile("size", bytes_text(before) + " to " + bytes_text(after));
  tiles += tile("quantized nodes",
                count_of(run.at("nodes").at("selected")) + " of " + count_of(run.at("nodes").at("total")));
  tiles += tile("samples", count_of(run.at("samples")));
  tiles += tile("seconds", short_number(run.at("seconds").get<double>()));
  const std::string file = paths::name_of(text_of(run, "model"));
  return text_element("h1", file) + "\n" + verdict(run) +
         element("p", {{"class", "note"}},
                 escaped(text_of(run, "model") + ", written to " + text_of(run, "output") + " by quarkq " +
                         text_of(run, "quarkq") + ", " + text_of(run, "quantizer") + ", " + text_of(run, "isa"))) +
         element("div", {{"class", "tiles"}}, tiles) + "\n";
}

/// What a verdict about a target means, with the class that colours it.
struct TargetVerdict {
  const char *name, *text, *kind;
};
constexpr TargetVerdict kTargetVerdicts[] = {
    {"runs", "runs", "good"},
    {"runs-partly", "runs partly: the other nodes are computed on the CPU", ""},
    {"runs-wrong", "runs, with results that are known to be wrong", "bad"},
    {"unknown", "unknown: nothing is known about some of the operators", ""},
    {"blocked", "blocked: nothing would run", "bad"},
};

/// Returns ". Deployable: no, because ..."; empty in older reports.
std::string deployable(const Json& run) {
  if (!run.contains("deployable") || !run.at("deployable").is_object()) return "";
  const Json& found = run.at("deployable");
  const std::string why = text_of(found, "why");
  return ". Deployable: " + text_of(found, "holds") + (why.empty() ? "" : ", " + why);
}

/// What the compiler of the target would run; absent in older reports, and null without a target.
std::string target(const Json& run) {
  if (!run.contains("target") || !run.at("target").is_object()) return "";
  const Json& found = run.at("target");
  const std::string verdict = text_of(found, "verdict");
  const auto row = std::ranges::find(kTargetVerdicts, verdict, &TargetVerdict::name);
  const bool is_listed = row != std::end(kTargetVerdicts);
  const std::string tiles =
      tile("nodes placed", count_of(found.at("npu")) + " of " + count_of(found.at("nodes")),
           is_listed ? row->kind : "") +
      tile("operators on the CPU", count_of(found.at("cpu"))) + tile("regions", count_of(found.at("subgraphs"))) +
      tile("multiply-accumulates placed", short_number(100 * found.at("mac_share").get<double>()) + " %");
  const bool is_asked = !found.contains("asked") || found.at("asked").get<bool>();
  const std::string why =
      is_asked ? "" : " It is the target of " + text_of(run, "preset") + "; --target names another one.";
  return section("Target " + text_of(found, "name"),
                 "A prediction; nothing was compiled. quarkq check --target names every node and cause." + why,
                 element("p", {{"class", "verdict"}},
                         element("b", {}, escaped(is_listed ? row->text : verdict)) + escaped(deployable(run))) +
                     element("div", {{"class", "tiles"}}, tiles));
}

/// The remedy, as the end of a sentence; empty in older reports.
std::string remedy_of(const Json& finding) {
  const std::string remedy = finding.contains("remedy") ? text_of(finding, "remedy") : "";
  return remedy.empty() ? "" : "; " + remedy;
}

std::string numbers_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& one : list) texts.push_back(short_number(one.get<double>()));
  return join(texts, " ");
}

/// Statistics of the samples; absent in older reports.
std::string inputs(const Json& run) {
  if (!run.contains("inputs") || run.at("inputs").empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"input", "shape", "samples", "min", "max", "mean", "std"}};
  for (const Json& input : run.at("inputs")) {
    rows.push_back({text_of(input, "name"), text_of(input, "type") + input.at("shape").dump(),
                    count_of(input.at("samples")), short_number(input.at("min").get<double>()),
                    short_number(input.at("max").get<double>()), numbers_of(input.at("mean")),
                    numbers_of(input.at("std"))});
  }
  std::string cautions;
  for (const Json& caution : run.at("sample_cautions"))
    cautions += element("div", {{"class", "finding warning"}}, escaped(caution.get<std::string>())) + "\n";
  return section("Samples", "Statistics of the model's inputs over the samples; per channel for images.",
                 cautions + table(rows));
}

std::string finding_text(const Json& finding) {
  const std::string severity = text_of(finding, "severity"), subject = text_of(finding, "subject");
  return element("div", {{"class", "finding " + severity}},
                 element("b", {}, escaped(severity + (subject.empty() ? "" : " " + subject))) + " " +
                     escaped(text_of(finding, "text") + remedy_of(finding))) +
         "\n";
}

/// Warnings before notices; those of one id are folded under the first of them.
std::string findings(const Json& run) {
  std::string content;
  for (const char* severity : {"warning", "notice"}) {
    std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
    for (const Json& finding : run.at("findings")) {
      if (text_of(finding, "severity") != severity) continue;
      const std::string id = text_of(finding, "id");
      auto kind = std::ranges::find(kinds, id, [](const auto& entry) { return entry.first; });
      if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {id, {}});
      kind->second.push_back(finding_text(finding));
    }
    for (const auto& [id, parts] : kinds) content += folded(parts, 1, "findings", ("more of " + id).c_str());
  }
  return section("Findings", "", content);
}

std::string timeline(const Json& run) {
  const double all = run.at("seconds").get<double>();
  std::vector<BarRow> rows;
  double known = 0, rest = 0;
  for (const Json& phase : run.at("phases")) {
    const double seconds = phase.at("seconds").get<double>();
    known += seconds;
    if (seconds < 0.01 * all) {
      rest += seconds;
      continue;
    }
    const std::string nodes =
        phase.at("nodes_before") == phase.at("nodes_after")
            ? ""
            : count_of(phase.at("nodes_before")) + " to " + count_of(phase.at("nodes_after")) + " nodes";
    rows.push_back({text_of(phase, "name"), nodes, short_number(seconds) + " s", seconds / std::max(all, 1e-9)});
  }
  rows.push_back({"other passes", "", short_number(rest) + " s", rest / std::max(all, 1e-9)});
  rows.push_back({"reading, writing, guards", "", short_number(std::max(0.0, all - known)) + " s",
                  (all - known) / std::max(all, 1e-9)});
  return section("Where the time went", "In the order of the run; a full bar is the whole of it.", bar_chart(rows));
}

std::string histograms(const Json& details) {
  std::vector<std::string> parts;
  for (const Json& profile : details.at("profiles")) {
    if (!profile.at("counts").empty()) parts.push_back(histogram(profile));
  }
  return section(
      "Values and ranges",
      "Counts on a logarithmic scale; dashed lines are the ends of the quantized range. Activations: the first sample.",
      folded(parts, 24, "grid", "more tensors"));
}

std::string limits(const Json& details) {
  const Json& found = details.at("limits");
  if (found.is_null()) return "";
  std::vector<std::vector<std::string>> rows = {{"rule", "node", "tensor", "found", "allowed", "what to do"}};
  for (const Json& one : found.at("violations")) {
    const Json& allowed = one.at("allowed");
    const std::string range =
        allowed.is_null() ? "a power of two" : count_of(allowed.at(0)) + " to " + count_of(allowed.at(1));
    rows.push_back({text_of(one, "rule"), text_of(one, "node"), text_of(one, "tensor"),
                    text_of(one, "measure") + " " + count_of(one.at("found")), range, text_of(one, "remedy")});
  }
  const std::string target = text_of(found, "target");
  return section("Limits of the NPU (" + target + ")", "",
                 rows.size() == 1 ? text_element("p", "All limits hold.") : table(rows));
}

std::string settings(const Json& details) {
  std::vector<std::vector<std::string>> rows = {{"setting", "value", "from"}};
  for (const Json& setting : details.at("settings"))
    rows.push_back({text_of(setting, "name"), text_of(setting, "value"), text_of(setting, "origin")});
  return section("Settings that are not the default", "", table(rows));
}

std::string tuned_layers(const Json& run) {
  std::vector<std::vector<std::string>> rows = {{"node", "algorithm", "error before", "after", "kept", "seconds"}};
  for (const Json& layer : run.at("tuned_layers")) {
    const auto error = [&](const char* key) {
      return layer.at(key).is_number() ? short_number(layer.at(key).get<double>()) : "-";
    };
    rows.push_back({text_of(layer, "node"), text_of(layer, "algorithm"), error("error_before"), error("error_after"),
                    layer.at("kept").get<bool>() ? "yes" : "no", short_number(layer.at("seconds").get<double>())});
  }
  std::string note = "Mean squared error of each layer on samples held out of the training.";
  const Json& outputs = run.at("tuned_outputs");
  if (outputs.is_object() && outputs.at("cosine_before").is_number() && outputs.at("cosine_after").is_number()) {
    note += " Cosine of the outputs on " + outputs.at("samples").dump() +
            " such samples: " + short_number(outputs.at("cosine_before").get<double>()) + " before, " +
            short_number(outputs.at("cosine_after").get<double>()) + " after.";
  }
  return section("Tuned layers", note, table(rows));
}

std::string page(const Json& run) {
  const bool has_details = run.contains("details");
  std::string body = header(run) + target(run) + inputs(run) + findings(run) + operators(run);
  if (has_details) {
    const Json& details = run.at("details");
    body += samples(details) + pictures(details) + noise(details) + ranges(details) + limits(details);
  }
  body += tuned_layers(run) + timeline(run);
  if (has_details) body += histograms(run.at("details")) + settings(run.at("details"));
  return document("quarkq: " + text_of(run, "model"), body);
}

}  // namespace

Result<std::string> html_report(const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  QQ_TRY(const auto file, MappedFile::open(path));
  if (file->size() > kMostBytes) return bad_data(path, ": has ", file->size(), " bytes, allowed are ", kMostBytes);
  try {
    const Json report = parse_json<Json>({reinterpret_cast<const char*>(file->data()), file->size()});
    if (!report.is_object())
      return bad_data(path, ": is not JSON, and so no report of quarkq quantize --report or tune --report");
    return report.contains("trials") ? tune_page(report) : page(report);
  } catch (const Json::exception& error) {
    return bad_data(path, ": is not a report of quarkq quantize --report or tune --report (", error.what(), ")");
  }
}

}  // namespace quarkq
