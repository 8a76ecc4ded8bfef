// SPDX-License-Identifier: MIT
#include "output.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

#include "base/platform/console.h"
#include "base/platform/process.h"
#include "base/strings.h"
#include "log_file.h"
#include "terminal.h"

namespace quarkq::tool {

namespace {

constexpr const char *kRed = "\033[1;31m", *kYellow = "\033[33m", *kPlain = "\033[0m";

LogLevel log_level = LogLevel::kInfo;
bool quiet = false, verbose = false;

/// https://no-color.org: any value but the empty one switches colours off.
bool has_colour() {
  return platform::is_terminal(stderr) && platform::environment("NO_COLOR").empty() &&
         platform::environment("TERM") != "dumb";
}

/// Messages quote what was found in files: a name or a key of megabytes must not become a message of megabytes.
std::string bounded(const std::string& text) {
  constexpr size_t kMost = 16384, kEnd = 1024;  // In bytes; the end of the text contains what is allowed.
  if (text.size() <= kMost) return printable(text);
  return printable(text.substr(0, kMost - kEnd)) + " ... " + printable(text.substr(text.size() - kEnd));
}

void print_message(const char* colour, const char* kind, const std::string& subject, const std::string& text) {
  const bool coloured = *colour != 0 && has_colour();
  std::fprintf(stderr, "quarkq: %s%s:%s %s%s%s\n", coloured ? colour : "", kind, coloured ? kPlain : "",
               bounded(subject).c_str(), subject.empty() ? "" : ": ", bounded(text).c_str());
}

void print_finding(bool is_warning, const std::string& subject, const std::string& text) {
  if (!is_logged(is_warning ? LogLevel::kWarning : LogLevel::kNotice)) return;
  print_message(is_warning ? kYellow : "", is_warning ? "warning" : "notice", subject, text);
}

}  // namespace

void set_log_level(const std::string& name) {
  const auto found = std::find(kLogLevelNames.begin(), kLogLevelNames.end(), name);
  log_level = static_cast<LogLevel>(found - kLogLevelNames.begin());
}

bool is_logged(LogLevel level) { return level <= log_level; }

void set_quiet() {
  quiet = true;
  log_level = LogLevel::kError;
}
bool is_quiet() { return quiet; }
void set_verbose() { verbose = true; }
bool is_verbose() { return verbose; }

void print_error(const char* kind, const std::string& text) {
  print_message(kRed, kind, "", text);
  log_line(LogLevel::kError, cat(kind, ": ", bounded(text)));
}

void print_findings(const std::vector<Finding>& findings, const char* hint) {
  constexpr const char kLeftOut[] = "option-left-out";
  std::vector<std::string> left_out;
  std::map<std::string, size_t> counts;
  for (const Finding& finding : findings) {
    ++counts[finding.id];
    log_line(finding.is_warning ? LogLevel::kWarning : LogLevel::kNotice,
             cat(bounded(finding.subject), finding.subject.empty() ? "" : ": ", bounded(finding.text), " [", finding.id,
                 "]"));
  }
  std::set<std::string> shown;
  for (const Finding& finding : findings) {
    if (finding.id == kLeftOut) {
      left_out.push_back(finding.subject);
      continue;
    }
    const bool is_first = shown.insert(finding.id).second;
    if (!is_first && !verbose) continue;
    std::string text = finding.text;
    const size_t more = verbose ? 0 : counts[finding.id] - 1;
    if (more > 0) text += cat("; and ", more, more == 1 ? " more" : " others", " like this (", hint, ")");
    const DiagnosticInfo* row = find_diagnostic(finding.id);
    const bool has_remedy = is_first && finding.is_warning && row != nullptr && !row->remedy.empty();
    if (has_remedy) text += cat("; ", row->remedy);
    print_finding(finding.is_warning, finding.subject, cat(text, " [", finding.id, "]"));
  }
  if (left_out.empty()) return;
  print_finding(false, "", cat("implied by preset or defaults, but not supported yet: ", join(left_out, ", ")));
}

void add_json_option(CLI::App& app, std::string& place) {
  app.add_option("--json", place, "Print the result as JSON, and nothing else, to stdout; --json=FILE: into a file")
      ->type_name("[=FILE]");
}

bool prints_text(const std::string& json_place) { return !is_quiet() && json_place != kStdout; }

Result<TextOutput> TextOutput::open(const std::string& place) {
  TextOutput output;
  output.is_stdout_ = place == kStdout;
  if (place.empty() || output.is_stdout_) return output;
  QQ_TRY(AtomicFile made, AtomicFile::create(place));
  output.file_.emplace(std::move(made));
  return output;
}

Status TextOutput::write(const std::string& text) {
  if (is_stdout_) std::fputs(text.c_str(), stdout);
  if (!file_) return Status();
  QQ_RETURN_IF_ERROR(file_->write(text.data(), text.size()));
  return file_->commit();
}

Status check_is_file(const char* option, const std::string& place) {
  if (place != kStdout) return Status();
  return invalid_argument(option, ": found -, allowed is a file: the result is not text");
}

}  // namespace quarkq::tool
