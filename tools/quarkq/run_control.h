// SPDX-License-Identifier: MIT
// How a run may end before it is done: by signals, by --timeout, for lack of memory. No end leaves a partial file.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/stopwatch.h"
#include "quarkq/quantize.h"
#include "run_control.h"

namespace quarkq::tool {

/// "90", "90s", "30m", "2h" in seconds: above 0, at most a billion. Messages name the option.
Result<double> seconds_of(const std::string& option, const std::string& text);

/// Gives the process the name of the program, which it loses when it restarts itself, and opens the standard streams
/// that are closed on /dev/null: a result would be opened in their place and messages written into it. Nothing can be
/// written to a standard output that was closed, so a text that was asked for still fails.
void prepare_process(const char* program);

/// --timeout, for every verb.
void add_timeout_option(CLI::App& app);

/// From now on: SIGINT, SIGTERM and SIGHUP (unless it is ignored, as nohup has it) interrupt the run. A reader of the
/// output that goes away (SIGPIPE) ends it like every program. A file that shrinks while it is read, memory that is not
/// there and exceptions that nobody catches become a message and an exit code. The time of --timeout begins.
void watch_over_run();

/// Someone looks at is_interrupted() now and then, and has seconds to end the run. Without one, and when a second
/// signal comes, the program ends at once.
class InterruptListener {
 public:
  InterruptListener();
  ~InterruptListener();
  InterruptListener(const InterruptListener&) = delete;
  InterruptListener& operator=(const InterruptListener&) = delete;
};
bool is_interrupted();

/// When --timeout is why the run was interrupted: what to say (kResource). Else OK.
Status timeout_status();

/// Progress on stderr: on a terminal one line that is drawn again and fits its width; in a pipe a line per phase, and
/// one every 10 seconds, from the first second on (with -v from the start).
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
