// SPDX-License-Identifier: MIT
// Status and Result<T>: how every quarkq function reports errors. No exception crosses a public function.
// Marks what the shared library exports.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#define QUARKQ_EXPORT __attribute__((visibility("default")))

namespace quarkq {

/// "MAJOR.MINOR.PATCH" of the library in use.
QUARKQ_EXPORT const char* version();

/// How the library was built: commit, compiler, build type. One line.
QUARKQ_EXPORT const char* build_information();

/// The kind of an error. Each code maps to one exit code of the command line (exit_code()).
enum class Code {
  kOk,
  kInvalidArgument,  ///< wrong usage or setting: exit 2
  kUnsupported,      ///< a model or setting that quarkq knows but cannot handle: exit 3
  kCorruptModel,     ///< a malformed model file: exit 3
  kBadData,          ///< calibration or result data that does not fit: exit 4
  kQualityGate,      ///< a required quality was missed: exit 5
  kNpuLimit,         ///< an NPU limit is violated: exit 6
  kResource,         ///< a memory or size limit was hit: exit 7
  kIo,               ///< the machine refused a file operation: exit 1
  kInternal,         ///< our own bug: exit 1
  kInterrupted,      ///< the user interrupted: exit 130
};

/// Exit code of the command line for `code`, as documented in README.md.
QUARKQ_EXPORT int exit_code(Code code);

/// Outcome of an operation that returns nothing else. The message is lower-case, starts with the subject and names what
/// was found and what is allowed, for example "node conv_12: kernel 17x17 exceeds 16x16 on target xint8".
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const& { return message_; }
  std::string message() && { return std::move(message_); }

  /// The same error with "`where`: " put before its message; no effect on success.
  QUARKQ_EXPORT Status context(const std::string& where) &&;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value, or the Status that says why there is none. REQUIRES: a Status stored in it is not ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

  /// REQUIRES: ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  /// By value, so that `for (x : f().value())` runs over a value that lives as long as the loop.
  T value() && { return std::get<0>(std::move(state_)); }

  Result<T> context(const std::string& where) && {
    if (ok()) return std::move(*this);
    return std::get<1>(std::move(state_)).context(where);
  }

 private:
  std::variant<T, Status> state_;
};

}  // namespace quarkq
