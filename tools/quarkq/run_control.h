// SPDX-License-Identifier: MIT
// Ways in which a run may end early: by signals, by --timeout, or for lack of memory. None leaves a partial file.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/stopwatch.h"
#include "quarkq/quantize.h"
#include "run_control.h"

namespace quarkq::tool {

/// Returns "90", "90s", "30m" or "2h" in seconds, above 0 and at most a billion. Messages name the option.
Result<double> seconds_of(const std::string& option, const std::string& text);

/// Sets the name of the process, which is lost when the program restarts itself. Opens closed standard streams on
/// /dev/null, so that a result file does not get their descriptor and receive messages. Writing to a standard output
/// that was closed still fails.
void prepare_process(const char* program);

/// Adds --timeout, for every verb.
void add_timeout_option(CLI::App& app);

/// Starts watching the run. SIGINT, SIGTERM and SIGHUP (unless it is ignored, as with nohup) interrupt it. SIGPIPE ends
/// it as usual. A file that shrinks while it is read, lack of memory and uncaught exceptions become a message and an
/// exit code. Starts the time of --timeout.
void watch_over_run();

/// While it exists, the program has seconds to end an interrupted run, because is_interrupted() is polled. Without a
/// listener, and on a second signal, the program ends immediately.
class InterruptListener {
 public:
  InterruptListener();
  ~InterruptListener();
  InterruptListener(const InterruptListener&) = delete;
  InterruptListener& operator=(const InterruptListener&) = delete;
};
bool is_interrupted();

/// Returns kResource with a message if --timeout interrupted the run, otherwise OK.
Status timeout_status();

/// Progress on stderr: on a terminal one line that is redrawn and fits its width; in a pipe one line per phase and one
/// every 10 seconds, starting after one second (with -v immediately).
class ProgressBar {
 public:
  /// Shows nothing with -q or if `hidden` is set.
  explicit ProgressBar(bool hidden = false);
  ~ProgressBar();
  /// Shows `progress`. Returns false if the user interrupted.
  bool update(const Progress& progress);

 private:
  void draw(const Progress& progress);
  void log(const Progress& progress);
  void clear();
  bool hidden_, terminal_, drawn_ = false;
  std::string phase_, detail_;
  Stopwatch start_, watch_;  ///< Duration of the run, and of the phase.
  double last_ = 0;          ///< Time of the phase, in seconds, of the last output.
  InterruptListener listener_;
};

/// Returns one line of at most `width` characters that keeps the most important parts. `seconds` is the duration of the
/// phase, `memory` is in bytes.
std::string progress_line(const Progress& progress, double seconds, double memory, size_t width);

/// Runs work(request) under a progress bar that is removed on return.
template <typename Request, typename Work>
auto run_with_bar(Request& request, Work work) {
  ProgressBar bar;
  request.progress = [&](const Progress& progress) { return bar.update(progress); };
  auto result = work(request);
  request.progress = nullptr;
  return result;
}

}  // namespace quarkq::tool
