// SPDX-License-Identifier: MIT
#include "messages.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "base/strings.h"

namespace quarkq::tool {
namespace {

constexpr size_t kShown = 5;  // findings of one id: more would push the summary off the screen
constexpr const char *kRed = "\033[1;31m", *kYellow = "\033[33m", *kPlain = "\033[0m";

LogLevel log_level = LogLevel::kInfo;

/// https://no-color.org: any value but the empty one switches colours off.
bool has_colour() {
  const char *no_colour = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (no_colour == nullptr || *no_colour == 0) &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void print_line(const char* colour, const char* kind, const std::string& subject, const std::string& text) {
  const bool coloured = *colour != 0 && has_colour();
  std::fprintf(stderr, "quarkq: %s%s:%s %s%s%s\n", coloured ? colour : "", kind, coloured ? kPlain : "",
               subject.c_str(), subject.empty() ? "" : ": ", text.c_str());
}

void print_finding(bool is_warning, const std::string& subject, const std::string& text) {
  if (!is_logged(is_warning ? LogLevel::kWarning : LogLevel::kNotice)) return;
  print_line(is_warning ? kYellow : "", is_warning ? "warning" : "notice", subject, text);
}

}  // namespace

void set_log_level(const std::string& name) {
  const auto found = std::find(kLogLevelNames.begin(), kLogLevelNames.end(), name);
  log_level = static_cast<LogLevel>(found - kLogLevelNames.begin());
}

bool is_logged(LogLevel level) { return level <= log_level; }

void print_error(const char* kind, const std::string& text) { print_line(kRed, kind, "", text); }

void print_diagnostics(const Diagnostics& diagnostics) {
  for (const Diagnostic& finding : diagnostics.all())
    print_finding(finding.severity == Severity::kWarning, finding.subject, finding.text);
}

void print_findings(const std::vector<Finding>& findings, const char* hint) {
  constexpr const char kLeftOut[] = "option-left-out";
  std::vector<std::string> left_out;
  std::map<std::pair<bool, std::string>, size_t> count;  // by severity and id
  for (const Finding& finding : findings) {
    if (finding.id == kLeftOut) {
      left_out.push_back(finding.subject);
    } else if (++count[{finding.is_warning, finding.id}] <= kShown) {
      print_finding(finding.is_warning, finding.subject, finding.text);
    }
  }
  for (const auto& [kind, found] : count) {
    if (found <= kShown) continue;
    print_finding(kind.first, kind.second, cat(found - kShown, " more like these", *hint == 0 ? "" : "; ", hint));
  }
  if (left_out.empty()) return;
  print_finding(false, "",
                cat("implied by preset or defaults, known, not supported yet, left out: ", join(left_out, ", ")));
}

}  // namespace quarkq::tool
