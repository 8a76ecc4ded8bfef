// SPDX-License-Identifier: MIT
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "verb.h"

namespace quarkq::tool {
namespace {
constexpr double kRedrawSeconds = 0.1;
constexpr int kBarWidth = 24;

/// Memory of this process that is resident, in bytes; 0 when the system does not say.
double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  if (!(statm >> total >> resident)) return 0;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

ProgressBar::ProgressBar(bool quiet)
    : quiet_(quiet || !is_logged(LogLevel::kInfo)), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

bool ProgressBar::update(const Progress& progress) {
  if (is_interrupted()) return false;
  if (quiet_) return true;
  if (progress.phase != phase_) {
    phase_ = progress.phase;
    watch_.restart();
    last_draw_ = -1;
    if (!terminal_) std::fprintf(stderr, "quarkq: %s\n", phase_.c_str());
  }
  if (!terminal_) return true;
  const double seconds = watch_.seconds();
  const bool finished = progress.total > 0 && progress.done == progress.total;
  if (last_draw_ < 0 || seconds - last_draw_ >= kRedrawSeconds || finished) draw(progress, seconds);
  return true;
}

void ProgressBar::draw(const Progress& progress, double seconds) {
  last_draw_ = seconds;
  drawn_ = true;
  if (progress.total == 0) {
    std::fprintf(stderr, "\r\033[K%s", progress.phase.c_str());
  } else {
    const int filled = static_cast<int>(kBarWidth * progress.done / progress.total);
    const double rate = seconds > 0 ? static_cast<double>(progress.done) / seconds : 0;
    const double left = rate > 0 ? static_cast<double>(progress.total - progress.done) / rate : 0;
    std::fprintf(stderr, "\r\033[K%-10s [%s%s] %zu/%zu  %.1f samples/s  %.0f s left  %s", progress.phase.c_str(),
                 std::string(static_cast<size_t>(filled), '=').c_str(),
                 std::string(static_cast<size_t>(kBarWidth - filled), ' ').c_str(), progress.done, progress.total, rate,
                 left, bytes_text(resident_bytes()).c_str());
  }
  std::fflush(stderr);
}

}  // namespace quarkq::tool
