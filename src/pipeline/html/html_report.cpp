// SPDX-License-Identifier: MIT
#include "quarkq/html_report.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/file_system.h"
#include "numeric/metrics.h"
#include "pipeline/html/charts.h"
#include "pipeline/html/markup.h"
#include "pipeline/html/style.h"

namespace quarkq {
namespace {

using namespace pipeline::html;
using pipeline::Json;

constexpr double kMostDb = 60;  // of a full bar

std::string text_of(const Json& entry, const char* key) { return entry.at(key).get<std::string>(); }

/// As it stands there; a type error for anything but a number.
std::string count_of(const Json& entry) {
  const auto number = entry.get<double>();
  return entry.is_number_integer() ? std::to_string(entry.get<int64_t>()) : short_number(number);
}

/// Null stands for no noise at all.
double db_of(const Json& entry, const char* key) {
  const Json& value = entry.at(key);
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

std::string tile(const std::string& title, const std::string& figure, const char* kind = "") {
  return element("div", {{"class", std::string("tile ") + kind}}, escaped(title) + element("b", {}, escaped(figure)));
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
  }
  tiles += tile("size", bytes_text(before) + " to " + bytes_text(after));
  tiles += tile("quantized nodes",
                count_of(run.at("nodes").at("selected")) + " of " + count_of(run.at("nodes").at("total")));
  tiles += tile("samples", count_of(run.at("samples")));
  tiles += tile("seconds", short_number(run.at("seconds").get<double>()));
  const std::string file = std::filesystem::path(text_of(run, "model")).filename();
  return text_element("h1", file) +
         element("p", {{"class", "note"}},
                 escaped(text_of(run, "model") + ", written to " + text_of(run, "output") + " by quarkq " +
                         text_of(run, "quarkq") + ", " + text_of(run, "quantizer") + ", " + text_of(run, "isa"))) +
         element("div", {{"class", "tiles"}}, tiles) + "\n";
}

std::string findings(const Json& run) {
  std::vector<std::string> parts;
  for (const bool warnings : {true, false}) {
    for (const Json& finding : run.at("findings")) {
      const std::string severity = text_of(finding, "severity");
      if ((severity == "warning") != warnings) continue;
      const std::string subject = text_of(finding, "subject");
      parts.push_back(element("div", {{"class", "finding " + severity}},
                              element("b", {}, escaped(severity + (subject.empty() ? "" : " " + subject))) + " " +
                                  escaped(text_of(finding, "text"))) +
                      "\n");
    }
  }
  return section("Findings", "", folded(parts, 12, "findings", "more"));
}

std::string errors(const Json& details) {
  std::vector<const Json*> tensors;
  for (const Json& tensor : details.at("tensors")) tensors.push_back(&tensor);
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Json* a, const Json* b) { return db_of(*a, "sqnr_db") < db_of(*b, "sqnr_db"); });
  std::vector<BarRow> rows;
  for (const Json* tensor : tensors) {
    const double found = db_of(*tensor, "sqnr_db");
    rows.push_back({text_of(*tensor, "name"),
                    text_of(*tensor, "node") + ", inputs " + numeric::decibels_text(db_of(*tensor, "inputs_db")),
                    numeric::decibels_text(found), found / kMostDb,
                    found < 10   ? "bad"
                    : found < 20 ? "fair"
                                 : "good"});
  }
  return section("Noise by tensor",
                 "Signal to quantization noise against the float model on the first sample, the noisiest first. A full "
                 "bar is 60 dB.",
                 bar_chart(rows));
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
  std::string body = header(run) + findings(run);
  if (has_details) body += errors(run.at("details")) + limits(run.at("details"));
  body += tuned_layers(run) + timeline(run);
  if (has_details) body += histograms(run.at("details")) + settings(run.at("details"));
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\">" +
         text_element("title", "quarkq: " + text_of(run, "model")) + "<style>" + kStyle +
         "</style></head>\n<body><main>\n" + body + "</main></body></html>\n";
}

}  // namespace

Result<std::string> html_report(const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;
  QQ_TRY(const auto file, MappedFile::open(path));
  if (file->size() > kMostBytes) return bad_data(path, ": has ", file->size(), " bytes, allowed are ", kMostBytes);
  try {
    const auto is_shallow = [](int depth, Json::parse_event_t, Json&) {
      constexpr int kMostDepth = 64;  // reports have 6; what reads deeper ones would run out of stack
      return depth <= kMostDepth;
    };
    const char* begin = reinterpret_cast<const char*>(file->data());
    return page(Json::parse(begin, begin + file->size(), is_shallow));
  } catch (const Json::exception& error) {
    return bad_data(path, ": is no report of quarkq quantize --report (", error.what(), ")");
  }
}

}  // namespace quarkq
