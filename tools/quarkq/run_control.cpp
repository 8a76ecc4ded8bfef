// SPDX-License-Identifier: MIT
#include "run_control.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/file_system.h"
#include "base/machine.h"
#include "base/parse_text.h"
#include "base/platform/console.h"
#include "base/platform/interrupts.h"
#include "base/platform/process.h"
#include "base/strings.h"
#include "log_file.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

// For a run to end by itself and to keep or remove what is its own: after --timeout, after a signal.
constexpr double kGraceOfTimeout = 2, kGraceOfSignal = 10;

enum class Why : char { kNot, kSignal, kTimeout };
std::atomic<Why> why_interrupted{Why::kNot};
std::atomic<int> listeners{0};
std::string timeout_text;
double timeout_seconds = 0;

/// In signal handlers and without memory: nothing here allocates.
[[noreturn]] void end_now(const char* message, Code code) {
  platform::write_error(message);
  remove_unfinished_files();
  platform::end_process(exit_code(code));
}

/// The first reason counts; a run that looks for it gets `grace` seconds, and so does one whose output is in its place
/// already: it cannot end as if it had written nothing.
bool is_first(Why why, double grace) {
  Why not_yet = Why::kNot;
  const bool is_graceful =
      why_interrupted.compare_exchange_strong(not_yet, why) && (listeners.load() > 0 || has_finished_files());
  if (is_graceful) platform::call_after(grace);
  return is_graceful;
}

void on_interrupt() {
  if (!is_first(Why::kSignal, kGraceOfSignal))
    end_now("quarkq: interrupted, no output was written\n", Code::kInterrupted);
}

void on_time_over() {
  if (is_first(Why::kTimeout, kGraceOfTimeout)) return;
  if (why_interrupted.load() == Why::kSignal)
    end_now("quarkq: interrupted, no output was written\n", Code::kInterrupted);
  end_now("quarkq: error: --timeout: the time is over, no output was written\n", Code::kResource);
}

void on_lost_file() {
  end_now("quarkq: error: a file was cut or could not be read while it was in use, no output was written\n", Code::kIo);
}

/// Threads of parallel loops cannot hand an exception on, so it ends here.
[[noreturn]] void on_terminate() {
  constexpr const char kUnknown[] = "quarkq: internal error: an exception was not caught; please report this\n";
  const std::exception_ptr thrown = std::current_exception();
  if (thrown == nullptr) end_now(kUnknown, Code::kInternal);
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    end_now("quarkq: error: out of memory\n", Code::kResource);
  } catch (...) {
    end_now(kUnknown, Code::kInternal);
  }
}

}  // namespace

Result<double> seconds_of(const std::string& option, const std::string& text) {
  static constexpr std::pair<char, double> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
  std::string number = text;
  double unit = 1;
  for (const auto& [letter, factor] : kUnits) {
    if (!number.ends_with(letter)) continue;
    number.pop_back();
    unit = factor;
    break;
  }
  const std::optional<double> value = parse_finite(number);
  if (value && *value > 0 && *value < 1e9) return *value * unit;
  return invalid_argument(option, ": found ", text, ", allowed is a number above 0 with s, m or h, such as 30m");
}

void prepare_process(const char* program) {
  platform::prepare_streams();
  const std::string_view path(program == nullptr ? "quarkq" : program);
  platform::set_process_name(std::string(path.substr(path.rfind('/') + 1)));
}

void add_timeout_option(CLI::App& app) {
  app.add_option_function<std::string>(
         "--timeout",
         [](const std::string& text) {
           const Result<double> seconds = seconds_of("--timeout", text);
           if (!seconds.ok()) throw CLI::ValidationError(seconds.status().message());
           timeout_seconds = seconds.value();
           timeout_text = text;
         },
         "End after this time (90, 90s, 30m, 2h) with exit code 7 and without output, done or not")
      ->type_name("TIME");
}

void watch_over_run() {
  platform::watch_interrupts(
      {.stop = on_interrupt, .time_over = on_time_over, .file_lost = on_lost_file, .last = remove_unfinished_files});
  static_cast<void>(std::atexit(remove_unfinished_files));
  std::set_terminate(on_terminate);
  if (timeout_seconds > 0) platform::call_after(timeout_seconds);
}

InterruptListener::InterruptListener() { ++listeners; }
InterruptListener::~InterruptListener() { --listeners; }

bool is_interrupted() { return why_interrupted.load() != Why::kNot; }

Status timeout_status() {
  if (why_interrupted.load() != Why::kTimeout) return Status();
  return resource_error("--timeout: not done after ", timeout_text, ", no output was written");
}

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
    : hidden_(hidden || is_quiet() || !is_logged(LogLevel::kInfo)), terminal_(platform::is_terminal(stderr)) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

bool ProgressBar::update(const Progress& progress) {
  if (is_interrupted()) return false;
  log_phase(progress.phase);
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
