// SPDX-License-Identifier: MIT
#include "base/platform/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace quarkq::platform {

int64_t process_number() { return ::getpid(); }
int thread_number() { return ::gettid(); }

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void fill_random(void* data, size_t bytes) { static_cast<void>(!::getrandom(data, bytes, GRND_NONBLOCK)); }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void set_environment(const char* name, const char* value) { ::setenv(name, value, /*overwrite=*/1); }

void restart(char** arguments) { ::execv("/proc/self/exe", arguments); }

void set_process_name(const std::string& name) { static_cast<void>(::prctl(PR_SET_NAME, name.c_str())); }

void end_process(int exit_code) { ::_exit(exit_code); }

bool can_copy_process() { return true; }

std::optional<CopyOutcome> run_in_copy(const std::function<void(std::span<std::byte>)>& work,
                                       std::span<std::byte> answer) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const auto bytes = static_cast<ssize_t>(answer.size());
  const pid_t child = ::fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a parent that is ended takes its trial with it
    work(answer);
    ::_exit(::write(ends[1], answer.data(), answer.size()) == bytes ? 0 : 1);
  }
  ::close(ends[1]);
  const ssize_t length = ::read(ends[0], answer.data(), answer.size());
  ::close(ends[0]);
  if (length != bytes) ::kill(child, SIGKILL);  // interrupted
  int ended = 0;
  while (::waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  return CopyOutcome{length == bytes, WIFEXITED(ended) ? WEXITSTATUS(ended) : -1};
}

}  // namespace quarkq::platform
