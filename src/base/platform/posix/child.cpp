// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/platform/process.h"

namespace quarkq::platform {
namespace internal {

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

}  // namespace internal

namespace {

using internal::Descriptor;
constexpr int kCannotStart = 127;  // The code that shells return as well.

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

void read_some(Descriptor& stream, std::string& text) {
  char buffer[4096];
  const ssize_t bytes = ::read(stream.fd, buffer, sizeof buffer);
  if (bytes > 0) text.append(buffer, static_cast<size_t>(bytes));
  if (bytes == 0 || (bytes < 0 && errno != EINTR && errno != EAGAIN)) stream.close();
}

}  // namespace

struct Child::State {
  pid_t pid = -1;
  Descriptor out, errors;
};

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::Child(Child&&) noexcept = default;

Child::~Child() {
  if (state_ == nullptr || state_->pid <= 0) return;
  ::kill(-state_->pid, SIGKILL);
  ::kill(state_->pid, SIGKILL);  // when it had no time to make its group
  while (::waitpid(state_->pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Child> Child::start(const std::vector<std::string>& words) {
  Child child(std::make_unique<State>());
  QQ_TRY(Pipe out, make_pipe());
  QQ_TRY(Pipe errors, make_pipe());
  QQ_TRY(Pipe failure, make_pipe());
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  child.state_->pid = ::fork();
  if (child.state_->pid < 0) return resource_error(words[0], ": cannot be started: ", std::strerror(errno));
  if (child.state_->pid == 0) {
    become(arguments.data(), {nothing.fd, out.write_end.fd, errors.write_end.fd}, failure.write_end.fd);
  }
  for (Pipe* pipe : {&out, &errors, &failure}) pipe->write_end.close();
  int error = 0;  // the pipe closes by itself when the program was started
  ssize_t bytes = 0;
  do {
    bytes = ::read(failure.read_end.fd, &error, sizeof error);
  } while (bytes < 0 && errno == EINTR);
  if (bytes == sizeof error) return invalid_argument(words[0], ": cannot be started: ", std::strerror(error));
  child.state_->out = std::move(out.read_end);
  child.state_->errors = std::move(errors.read_end);
  return child;
}

bool Child::read(std::string& output, std::string& errors, int milliseconds) {
  State& state = *state_;
  if (state.out.fd < 0 && state.errors.fd < 0) return false;
  pollfd waiting[] = {{state.out.fd, POLLIN, 0}, {state.errors.fd, POLLIN, 0}};
  ::poll(waiting, 2, milliseconds);
  if (waiting[0].revents != 0) read_some(state.out, output);
  if (waiting[1].revents != 0) read_some(state.errors, errors);
  return state.out.fd >= 0 || state.errors.fd >= 0;
}

Result<std::optional<int>> Child::ended() {
  int status = 0;
  const pid_t ended = ::waitpid(state_->pid, &status, WNOHANG);
  if (ended < 0 && errno != EINTR) return internal_error("cannot wait for the command: ", std::strerror(errno));
  if (ended != state_->pid) return std::optional<int>();
  ::kill(-state_->pid, SIGKILL);  // its remaining children
  state_->pid = -1;
  return std::optional<int>(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace quarkq::platform
