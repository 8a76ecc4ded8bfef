// SPDX-License-Identifier: MIT
// Progress on stderr: on a terminal one line that is drawn again and fits its width; in a pipe a line per phase, and
// one every 10 seconds, from the first second on (with -v from the start).
#pragma once

#include <functional>
#include <string>

#include "base/stopwatch.h"
#include "quarkq/quantize.h"
#include "run_limits.h"

namespace quarkq::tool {

class ProgressBar {
 public:
  /// Nothing is shown with -q, nor when `hidden`.
  explicit ProgressBar(bool hidden = false);
  ~ProgressBar();
  /// Shows `progress`; returns false when the user interrupted.
  bool update(const Progress& progress);

 private:
  void draw(const Progress& progress);
  void log(const Progress& progress);
  void clear();
  bool hidden_, terminal_, drawn_ = false;
  std::string phase_, detail_;
  Stopwatch start_, watch_;  ///< of the run, and of the phase
  double last_ = 0;          ///< seconds of the phase at which something was shown
  InterruptListener listener_;
};

/// One line of at most `width` characters: what matters most is kept. `seconds` of the phase, `memory` in bytes.
std::string progress_line(const Progress& progress, double seconds, double memory, size_t width);

/// work(request) under a bar that is gone when this returns.
template <typename Request, typename Work>
auto run_with_bar(Request& request, Work work) {
  ProgressBar bar;
  request.progress = [&](const Progress& progress) { return bar.update(progress); };
  auto result = work(request);
  request.progress = nullptr;
  return result;
}

}  // namespace quarkq::tool
