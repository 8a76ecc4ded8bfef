// SPDX-License-Identifier: MIT
#include "base/run_command.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/platform/files.h"
#include "base/platform/process.h"
#include "base/stopwatch.h"

namespace quarkq {
namespace {

constexpr size_t kLastLines = 10, kLastBytes = 2000;
constexpr int kTick = 100;             // milliseconds between two questions whether to go on
constexpr size_t kErrorsKept = 65536;  // Bytes kept of standard error, whose end is shown.

Status check(const CommandOptions& options, const Stopwatch& watch) {
  if (watch.seconds() > options.seconds) return bad_data("takes longer than ", options.seconds, " seconds");
  if (options.keep_going && !options.keep_going()) return Status(Code::kInterrupted, "interrupted");
  return Status();
}

/// Reads until both streams are closed.
Status collect(platform::Child& child, const CommandOptions& options, std::string& output, std::string& errors) {
  const Stopwatch watch;
  while (child.read(output, errors, kTick)) {
    if (output.size() > options.most_output) return bad_data("prints more than ", options.most_output, " bytes");
    if (errors.size() > kErrorsKept) errors.erase(0, errors.size() - kErrorsKept / 2);
    QQ_RETURN_IF_ERROR(check(options, watch));
  }
  if (output.size() > options.most_output) return bad_data("prints more than ", options.most_output, " bytes");
  return Status();
}

/// The exit code, once the program has ended by itself.
Result<int> wait(platform::Child& child, const CommandOptions& options) {
  const Stopwatch watch;
  for (;;) {
    QQ_TRY(const std::optional<int> exit_code, child.ended());
    if (exit_code) return *exit_code;
    QQ_RETURN_IF_ERROR(check(options, watch));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string last_lines(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::vector<std::string> lines = split(text, '\n');
  if (lines.size() > kLastLines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kLastLines));
  std::string end = join(lines, " / ");  // one line: messages have no line breaks
  if (end.size() > kLastBytes) end.erase(0, end.size() - kLastBytes);
  return end;
}

/// One word of a command line after the other.
class WordReader {
 public:
  explicit WordReader(const std::string& line) : line_(line) {}

  Result<std::vector<std::string>> read() {
    for (; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (c == '\'' || c == '"') {
        if (!take_quoted(c)) return invalid_argument("the quote ", c, " is not closed in ", line_);
      } else if (c == '\\' && !platform::backslash_separates() && at_ + 1 < line_.size()) {
        take(line_[++at_]);
      } else if (c == ' ' || c == '\t' || c == '\n') {
        finish_word();
      } else {
        take(c);
      }
    }
    finish_word();
    if (words_.empty() || words_[0].empty()) return invalid_argument("a command is needed, found nothing");
    return std::move(words_);
  }

 private:
  void take(char c) {
    word_ += c;
    is_word_ = true;
  }

  void finish_word() {
    if (is_word_) words_.push_back(word_);
    word_.clear();
    is_word_ = false;
  }

  /// False when the quote stays open.
  bool take_quoted(char quote) {
    is_word_ = true;
    for (++at_; at_ < line_.size() && line_[at_] != quote; ++at_) {
      const bool escapes = quote == '"' && line_[at_] == '\\' && at_ + 1 < line_.size() &&
                           (line_[at_ + 1] == '"' || line_[at_ + 1] == '\\');
      if (escapes) ++at_;
      word_ += line_[at_];
    }
    return at_ < line_.size();
  }

  const std::string& line_;
  size_t at_ = 0;
  std::string word_;
  bool is_word_ = false;
  std::vector<std::string> words_;
};

}  // namespace

Result<std::vector<std::string>> command_words(const std::string& line) { return WordReader(line).read(); }

Result<CommandResult> run_command(const std::vector<std::string>& words, const CommandOptions& options) {
  QQ_TRY(platform::Child child, platform::Child::start(words));
  CommandResult result;
  std::string errors;
  const auto told = [&](const Status& status) {
    const std::string end = last_lines(errors);
    return Status(status.code(), cat(words[0], ": ", status.message(), end.empty() ? "" : "; it printed: ", end));
  };
  if (Status status = collect(child, options, result.output, errors); !status.ok()) {
    return status.code() == Code::kInterrupted ? status : told(status);
  }
  const Result<int> exit_code = wait(child, options);
  if (!exit_code.ok())
    return exit_code.status().code() == Code::kInterrupted ? exit_code.status() : told(exit_code.status());
  result.exit_code = exit_code.value();
  result.last_lines = last_lines(errors);
  return result;
}

}  // namespace quarkq
