// SPDX-License-Identifier: MIT
#include "base/run_command.h"

#include <fcntl.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/stopwatch.h"

namespace quarkq {
namespace {

constexpr size_t kLastLines = 10, kLastBytes = 2000;
constexpr int kTick = 100;             // milliseconds between two questions whether to go on
constexpr int kCannotStart = 127;      // The code that shells return as well.
constexpr size_t kErrorsKept = 65536;  // Bytes kept of standard error, whose end is shown.

/// Closes what it holds.
struct Descriptor {
  int fd = -1;
  Descriptor() = default;
  explicit Descriptor(int given) : fd(given) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

struct Pipe {
  Descriptor read_end, write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return resource_error("cannot make a pipe: ", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// In the new process: only what is safe after a fork of a program with threads.
[[noreturn]] void become(char* const* arguments, const int (&streams)[3], int failure) {
  ::setpgid(0, 0);                     // so that its children can be ended with it
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also by the end of this program
  for (int i = 0; i < 3; ++i) ::dup2(streams[i], i);
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) ::sigaction(signal, &plain, nullptr);
  ::execvp(arguments[0], arguments);
  const int error = errno;
  (void)!::write(failure, &error, sizeof error);
  ::_exit(kCannotStart);
}

/// A program that runs. It is ended when this is.
class Child {
 public:
  ~Child() {
    if (pid_ > 0) end();
  }

  Status start(const std::vector<std::string>& words) {
    QQ_TRY(Pipe out, make_pipe());
    QQ_TRY(Pipe errors, make_pipe());
    QQ_TRY(Pipe failure, make_pipe());
    const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) return resource_error(words[0], ": cannot be started: ", std::strerror(errno));
    if (pid_ == 0) {
      become(arguments.data(), {nothing.fd, out.write_end.fd, errors.write_end.fd}, failure.write_end.fd);
    }
    for (Pipe* pipe : {&out, &errors, &failure}) pipe->write_end.close();
    int error = 0;  // the pipe closes by itself when the program was started
    ssize_t bytes = 0;
    do {
      bytes = ::read(failure.read_end.fd, &error, sizeof error);
    } while (bytes < 0 && errno == EINTR);
    if (bytes == sizeof error) return invalid_argument(words[0], ": cannot be started: ", std::strerror(error));
    out_ = std::move(out.read_end);
    errors_ = std::move(errors.read_end);
    return Status();
  }

  /// Reads until both streams are closed. `keep_going`: see CommandOptions.
  Status collect(const CommandOptions& options, std::string& output, std::string& errors) {
    const Stopwatch watch;
    while (out_.fd >= 0 || errors_.fd >= 0) {
      pollfd waiting[] = {{out_.fd, POLLIN, 0}, {errors_.fd, POLLIN, 0}};
      ::poll(waiting, 2, kTick);
      if (waiting[0].revents != 0) read_some(out_, output);
      if (waiting[1].revents != 0) read_some(errors_, errors);
      if (output.size() > options.most_output) return bad_data("prints more than ", options.most_output, " bytes");
      if (errors.size() > kErrorsKept) errors.erase(0, errors.size() - kErrorsKept / 2);
      QQ_RETURN_IF_ERROR(check(options, watch));
    }
    return Status();
  }

  /// The exit code, once the program has ended by itself.
  Result<int> wait(const CommandOptions& options) {
    const Stopwatch watch;
    int status = 0;
    for (;;) {
      const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
      if (ended == pid_) break;
      if (ended < 0 && errno != EINTR) return internal_error("cannot wait for the command: ", std::strerror(errno));
      QQ_RETURN_IF_ERROR(check(options, watch));
      ::poll(nullptr, 0, 1);
    }
    ::kill(-pid_, SIGKILL);  // its remaining children
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  static Status check(const CommandOptions& options, const Stopwatch& watch) {
    if (watch.seconds() > options.seconds) return bad_data("takes longer than ", options.seconds, " seconds");
    if (options.keep_going && !options.keep_going()) return Status(Code::kInterrupted, "interrupted");
    return Status();
  }

  static void read_some(Descriptor& stream, std::string& text) {
    char buffer[4096];
    const ssize_t bytes = ::read(stream.fd, buffer, sizeof buffer);
    if (bytes > 0) text.append(buffer, static_cast<size_t>(bytes));
    if (bytes == 0 || (bytes < 0 && errno != EINTR && errno != EAGAIN)) stream.close();
  }

  void end() {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // when it had no time to make its group
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  pid_t pid_ = -1;
  Descriptor out_, errors_;
};

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
      } else if (c == '\\' && at_ + 1 < line_.size()) {
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
  Child child;
  CommandResult result;
  QQ_RETURN_IF_ERROR(child.start(words));
  std::string errors;
  const auto told = [&](const Status& status) {
    const std::string end = last_lines(errors);
    return Status(status.code(), cat(words[0], ": ", status.message(), end.empty() ? "" : "; it printed: ", end));
  };
  if (Status status = child.collect(options, result.output, errors); !status.ok()) {
    return status.code() == Code::kInterrupted ? status : told(status);
  }
  const Result<int> exit_code = child.wait(options);
  if (!exit_code.ok())
    return exit_code.status().code() == Code::kInterrupted ? exit_code.status() : told(exit_code.status());
  result.exit_code = exit_code.value();
  result.last_lines = last_lines(errors);
  return result;
}

}  // namespace quarkq
