// SPDX-License-Identifier: MIT
// Progress on stderr: a bar with rate and time left on a terminal, one plain line per phase in a pipe.
#pragma once

#include <functional>
#include <string>

#include "base/stopwatch.h"
#include "quarkq/quantize.h"

namespace quarkq::tool {

class ProgressBar {
 public:
  /// Nothing is shown with `quiet`.
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  /// Shows `progress`; returns false when the user interrupted.
  bool update(const Progress& progress);

 private:
  void draw(const Progress& progress, double seconds);
  void clear();
  bool quiet_, terminal_, drawn_ = false;
  std::string phase_;
  Stopwatch watch_;
  double last_draw_ = -1;
};

/// work(request) under a bar that is gone when this returns.
template <typename Request, typename Work>
auto run_with_bar(bool quiet, Request& request, Work work) {
  ProgressBar bar(quiet);
  request.progress = [&](const Progress& progress) { return bar.update(progress); };
  auto result = work(request);
  request.progress = nullptr;
  return result;
}

}  // namespace quarkq::tool
