// SPDX-License-Identifier: MIT
#include "pipeline/ep_report/read_reported.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/strings.h"
#include "pipeline/ep_report/report_formats.h"

namespace quarkq::pipeline {
namespace {

/// Upper bound on the size of one file. The report of a model of 20,000 nodes has 15 MB.
constexpr size_t kMostReportBytes = size_t{256} << 20;

bool looks_like_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (text[first] == '{') return true;
  // A log may begin with "[Vitis AI EP]"; in a JSON list, a map or the end follows.
  const size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return text[first] == '[' && (second == std::string_view::npos || text[second] == '{' || text[second] == ']');
}

Status json_failure(std::string_view text, const std::string& path) {
  const bool is_deep = is_nested_deeper(text, kMostJsonLevels);
  const size_t offset = is_deep ? std::string_view::npos : json_fault<Json>(text);
  std::string where, found = is_deep ? "lists and maps nested too deeply" : "a number out of range";
  if (offset != std::string_view::npos) {
    const TextPlace place = place_of(text, offset);
    where = cat("line ", place.line, ", column ", place.column, ": ");
    found = offset >= text.size() ? "the end of the file" : "text that is not JSON";
  }
  return bad_data(path, ": ", where, "found ", found, ", allowed is complete JSON of at most ", kMostJsonLevels,
                  " levels; compile again, and read the file after the session is created");
}

struct ReportKind {
  const char* key;  ///< Member that only files of this kind have.
  Status (*read)(const Json& json, const std::string& path, targets::Reported& reported);
};
constexpr ReportKind kReportKinds[] = {{"nodeStat", read_ep_report},
                                       {"deviceStat", read_ep_report},
                                       {"metaDef", read_context},
                                       {"offload_map", read_offload_map}};

Status read_json(const Json& json, const std::string& path, targets::Reported& reported) {
  if (json.is_array()) return read_unsupported_ops(json, path, reported);
  for (const ReportKind& kind : kReportKinds) {
    if (json.contains(kind.key)) return kind.read(json, path, reported);
  }
  return bad_data(path,
                  ": found JSON without nodeStat, metaDef or offload_map, allowed are vitisai_ep_report.json, "
                  "context.json, fail_safe_summary.json and aie_unsupported_original_ops_with_reasons.json");
}

Status read_file(const std::string& path, targets::Reported& reported) {
  if (!file_exists(path)) return invalid_argument(path, ": no such file, needed is a report of the compiler");
  const Result<std::string> text = read_text_file(path, kMostReportBytes);
  if (!text.ok()) return bad_data(text.status().message());
  if (!looks_like_json(text.value())) return read_compile_log(text.value(), path, reported);
  const Json json = parse_json<Json>(text.value());
  return json.is_discarded() ? json_failure(text.value(), path) : read_json(json, path, reported);
}

}  // namespace

Result<targets::Reported> read_reported(const std::vector<std::string>& files) {
  targets::Reported reported;
  reported.files = files;
  for (const std::string& path : files) QQ_RETURN_IF_ERROR(read_file(path, reported));
  if (!reported.has_nodes() && reported.operators.empty()) {
    return bad_data(join(files, ", "), ": found neither counts nor nodes, needed is vitisai_ep_report.json as well");
  }
  return reported;
}

}  // namespace quarkq::pipeline
