// SPDX-License-Identifier: MIT
// The lines about placement that the provider prints while it compiles (ref:targets#files-of-the-compiler). A log has
// them only if the model was compiled: a hit in the cache prints nothing.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/strings.h"
#include "pipeline/ep_report/report_formats.h"

namespace quarkq::pipeline {
namespace {

constexpr std::string_view kOperatorLine = "[Vitis AI EP] No. of Operators :",
                           kSubgraphLine = "[Vitis AI EP] No. of Subgraphs :", kOperatorStart = "xir::Op{",
                           kRunningLine = "Actually running on";
constexpr std::string_view kLogBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kLogBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kLogBlanks) - first + 1);
}

/// Removes the prefix of a logging library, which ends in "] ": "I20250529 18:50:23 958 204]  VAIML 122".
std::string_view without_prefix(std::string_view line) {
  const size_t end = line.rfind(']');
  return end == std::string_view::npos ? line : line.substr(end + 1);
}

/// Reads "CPU 2 NPU 398 99.50%" into counts by device. Returns false if the text is something else.
bool read_pairs(std::string_view text, std::map<std::string, size_t>& counts) {
  std::string device;
  bool has_pairs = false;
  for (text = trimmed(text); !text.empty();) {
    const size_t end = std::min(text.find_first_of(kLogBlanks), text.size());
    const std::string_view word = text.substr(0, end);
    text = trimmed(text.substr(end));
    size_t count = 0;
    const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    const bool is_count = error == std::errc() && stopped == word.data() + word.size();
    if (is_count && !device.empty()) {
      counts[device] = count;
      device.clear();
      has_pairs = true;
    } else if (!word.ends_with('%')) {
      device += cat(device.empty() ? "" : " ", word);
    }
  }
  return has_pairs && device.empty();
}

class LogReader {
 public:
  explicit LogReader(targets::Reported& reported) : reported_(reported) {}

  /// Returns whether the text contained anything about placement.
  bool read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      read_line(text.substr(0, end));
      text = end < text.size() ? text.substr(end + 1) : std::string_view();
    }
    store_running();
    return has_any_;
  }

 private:
  void read_line(std::string_view line) {
    if (const size_t at = line.find(kOperatorLine); at != std::string_view::npos) {
      start(operators_, line.substr(at + kOperatorLine.size()));
    } else if (const size_t place = line.find(kSubgraphLine); place != std::string_view::npos) {
      start(subgraphs_, line.substr(place + kSubgraphLine.size()));
    } else if (line.find(kOperatorStart) != std::string_view::npos) {
      open_ = nullptr;
      read_reason(line);
    } else if (open_ != nullptr) {
      const std::string_view rest = trimmed(without_prefix(line));
      if (!rest.empty() && !read_pairs(rest, *open_)) open_ = nullptr;
    }
  }

  /// Replaces the counts of an earlier compilation.
  void start(std::map<std::string, size_t>& counts, std::string_view rest) {
    counts.clear();
    has_any_ = true;
    read_pairs(rest, counts);
    open_ = &counts;
  }

  /// "xir::Op{name = conv_3, type = conv2d} is partitioned to CPU as : doesn't supported by target [...]"
  void read_reason(std::string_view line) {
    constexpr std::string_view kName = "name = ";
    const size_t begin = line.find(kOperatorStart) + kOperatorStart.size();
    const size_t close = line.find('}', begin);
    if (close == std::string_view::npos || line.find("CPU", close) == std::string_view::npos) return;
    std::string_view name = line.substr(begin, close - begin);
    if (name.starts_with(kName)) name.remove_prefix(kName.size());
    name = name.substr(0, name.find(','));
    // The compiler appends the rewrites of an operator in parentheses.
    name = trimmed(name.substr(0, name.find('(')));
    if (name.empty()) return;
    has_any_ = true;
    reported_.reasons.emplace(std::string(name), std::string(trimmed(line.substr(close + 1))));
  }

  void store_running() {
    const auto running =
        subgraphs_.lower_bound(std::string(kRunningLine));  // "Actually running on NPU", of old ones IPU
    if (running != subgraphs_.end() && running->first.starts_with(kRunningLine)) {
      if (reported_.running == 0) reported_.running = running->second;
      subgraphs_.erase(running);
    }
    // Counts of a report with nodes are exact. A log may contain another compilation.
    if (reported_.operators.empty()) reported_.operators = operators_;
    if (reported_.subgraphs.empty()) reported_.subgraphs = subgraphs_;
  }

  targets::Reported& reported_;
  std::map<std::string, size_t> operators_, subgraphs_;
  std::map<std::string, size_t>* open_ = nullptr;  ///< Counts to which the next lines belong.
  bool has_any_ = false;
};

}  // namespace

Status read_compile_log(std::string_view text, const std::string& path, targets::Reported& reported) {
  if (LogReader(reported).read(text)) return Status();
  return bad_data(path,
                  ": found no report of a compiler, allowed are vitisai_ep_report.json, context.json, "
                  "fail_safe_summary.json, aie_unsupported_original_ops_with_reasons.json and logs with the lines \"",
                  kOperatorLine, "\"; a log has them if the model was compiled, not read from the cache");
}

}  // namespace quarkq::pipeline
