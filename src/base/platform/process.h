// SPDX-License-Identifier: MIT
// This process, its environment, and other programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::platform {

int64_t process_number();
/// Returns the number of the calling thread.
int thread_number();
/// Returns the name of this machine, or an empty string.
std::string host_name();
/// Fills `data` with random bytes. Leaves them unchanged if the system has none yet.
void fill_random(void* data, size_t bytes);

/// Returns the value of an environment variable, or an empty string.
std::string environment(const char* name);
/// Sets a variable of this process, for the libraries that it uses as well.
void set_environment(const char* name, const char* value);

/// Starts this program again in the same process, with its present environment, if the system can: libraries read some
/// variables before main(). Returns on failure.
void restart(char** arguments);
/// Sets the name that lists of processes show, where it is not the name of the file.
void set_process_name(const std::string& name);

/// Ends the process without destructors and without flushing streams. Async-signal-safe.
[[noreturn]] void end_process(int exit_code);

/// Another program. It is ended with its own children when the object is destroyed or this process ends.
class Child {
 public:
  /// Runs words[0], searched in PATH, with the other words as arguments and empty standard input. Fails with
  /// kInvalidArgument if the program cannot be started. REQUIRES: words is not empty.
  static Result<Child> start(const std::vector<std::string>& words);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  /// Waits at most `milliseconds` for output and appends it. Returns false if both streams are closed.
  bool read(std::string& output, std::string& errors, int milliseconds);
  /// Returns the exit code (128 + signal if a signal ended the program) once the program has ended by itself, and
  /// nullopt before that. Then its remaining children are ended.
  Result<std::optional<int>> ended();

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Outcome of a copy of this process.
struct CopyOutcome {
  bool has_answered = false;  ///< `answer` was filled.
  int exit_code = 0;          ///< If it ended by itself without an answer, otherwise -1.
};

/// Returns whether run_in_copy() works on this system.
bool can_copy_process();
/// Runs work(answer) in a copy of this process, which ends with this process, and returns the bytes of its answer.
/// Returns nullopt if no copy could be made. REQUIRES: no other thread of this process has locked a mutex.
std::optional<CopyOutcome> run_in_copy(const std::function<void(std::span<std::byte>)>& work,
                                       std::span<std::byte> answer);

}  // namespace quarkq::platform
