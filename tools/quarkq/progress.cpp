// SPDX-License-Identifier: MIT
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/printable.h"
#include "base/system_memory.h"
#include "run_limits.h"
#include "table.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

constexpr double kRedrawSeconds = 0.1, kLogSeconds = 10;
constexpr double kShortSeconds = 1;        // phases that begin before that are not logged
constexpr double kFirstRateSeconds = 0.5;  // a rate before that is noise
constexpr size_t kLeastBar = 8, kMostBar = 24, kUsualWidth = 80;

std::string duration(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return cat(whole, " s");
  if (whole < 3600) return cat(whole / 60, " min ", whole % 60, " s");
  return cat(whole / 3600, " h ", whole % 3600 / 60, " min");
}

/// "samples" without the s.
std::string one_of(const std::string& unit) { return unit.ends_with('s') ? unit.substr(0, unit.size() - 1) : unit; }

/// "12.3 samples/s", or "4.1 s per layer" where that is more telling.
std::string rate_text(double rate, const std::string& unit) {
  if (rate >= 1) return cat(fixed(rate, rate < 100 ? 1 : 0), " ", unit, "/s");
  return cat(fixed(1 / rate, 1), " s per ", one_of(unit));
}

/// "calibrate (7 of 13)".
std::string phase_text(const Progress& progress) {
  return progress.count == 0 ? progress.phase : cat(progress.phase, " (", progress.number, " of ", progress.count, ")");
}

/// " 12/64 samples", or ": trial 3 of at most 80".
std::string count_text(const Progress& progress) {
  if (progress.is_at_most) return cat(": ", one_of(progress.unit), " ", progress.done, " of at most ", progress.total);
  return cat(" ", progress.done, progress.total > 0 ? cat("/", progress.total) : "", " ", progress.unit);
}

std::string bar_text(const Progress& progress, size_t width) {
  const size_t filled = std::min(width, width * progress.done / progress.total);
  return cat(" [", std::string(filled, '='), std::string(width - filled, ' '), "]");
}

}  // namespace

std::string progress_line(const Progress& progress, double seconds, double memory, size_t width) {
  std::string line = phase_text(progress);
  const bool counts = progress.total > 0 || progress.done > 0;
  if (counts) line += count_text(progress);
  const auto append = [&](const std::string& part) {
    if (line.size() + part.size() <= width) line += part;
  };
  if (!progress.detail.empty()) append(", " + progress.detail);
  if (counts && progress.done > 0 && seconds >= kFirstRateSeconds) {
    const double rate = static_cast<double>(progress.done) / seconds;
    if (progress.total > progress.done)
      append(cat(progress.is_at_most ? ", at most " : ", ",
                 duration(static_cast<double>(progress.total - progress.done) / rate), " left"));
    append(", " + rate_text(rate, progress.unit));
  }
  if (progress.total > 0 && line.size() + kLeastBar + 3 <= width)
    append(bar_text(progress, std::min(kMostBar, width - line.size() - 3)));
  if (memory > 0) append(", " + bytes_text(memory));
  return line.substr(0, width);
}

ProgressBar::ProgressBar(bool hidden)
    : hidden_(hidden || is_quiet() || !is_logged(LogLevel::kInfo)), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

bool ProgressBar::update(const Progress& progress) {
  if (is_interrupted()) return false;
  if (hidden_) return true;
  const bool is_new = progress.phase != phase_;
  if (is_new) {
    phase_ = progress.phase;
    watch_.restart();
    last_ = 0;
    if (!terminal_ && (is_verbose() || start_.seconds() >= kShortSeconds))
      std::fprintf(stderr, "quarkq: %s\n", printable(phase_text(progress)).c_str());
  }
  const double since = watch_.seconds() - last_;
  const bool is_last = progress.total > 0 && progress.done == progress.total;
  if (terminal_ && (is_new || is_last || since >= kRedrawSeconds)) draw(progress);
  const bool is_told = progress.detail == detail_;
  detail_ = progress.detail;
  if (!terminal_ && (since >= kLogSeconds || (!is_told && !detail_.empty()))) log(progress);
  return true;
}

void ProgressBar::log(const Progress& progress) {
  last_ = watch_.seconds();
  std::fprintf(stderr, "quarkq: %s\n",
               printable(progress_line(progress, last_, 0, kUsualWidth + progress.detail.size())).c_str());
}

void ProgressBar::draw(const Progress& progress) {
  last_ = watch_.seconds();
  drawn_ = true;
  // The last column stays free: a character there makes some terminals begin a new line.
  const std::string line =
      progress_line(progress, last_, static_cast<double>(resident_memory().all), columns_of(stderr) - 1);
  std::fprintf(stderr, "\r\033[K%s", printable(line).c_str());
  std::fflush(stderr);
}

}  // namespace quarkq::tool
