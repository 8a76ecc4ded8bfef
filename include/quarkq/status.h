// SPDX-License-Identifier: MIT
// Status and Result<T>: how every quarkq function reports errors. No exception crosses a public function. Also defines
// the export macro of the shared library.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#define QUARKQ_EXPORT __attribute__((visibility("default")))

namespace quarkq {

/// Returns "MAJOR.MINOR.PATCH" of the library in use.
QUARKQ_EXPORT const char* version();

/// Returns one line that describes the build: commit, compiler, build type.
QUARKQ_EXPORT const char* build_information();

/// The kind of an error. Each code maps to one exit code of the command line (exit_code()).
enum class Code {
  kOk,
  kInvalidArgument,  ///< Wrong usage or setting: exit 2.
  kUnsupported,      ///< A model or setting that quarkq knows but cannot process: exit 3.
  kCorruptModel,     ///< A malformed model file: exit 3.
  kBadData,          ///< Calibration or result data that does not match the model: exit 4.
  kQualityGate,      ///< A required quality was missed: exit 5.
  kNpuLimit,         ///< An NPU limit is violated: exit 6.
  kResource,         ///< A memory or size limit was exceeded: exit 7.
  kIo,               ///< The operating system rejected a file operation: exit 1.
  kInternal,         ///< A bug in quarkq: exit 1.
  kInterrupted,      ///< The user interrupted the run: exit 130.
};

/// Returns the exit code of the command line for `code` (docs/command-line.md).
QUARKQ_EXPORT int exit_code(Code code);

/// Outcome of an operation without a result. The message is lower-case, starts with the subject and names the found and
/// the allowed value, for example "node conv_12: kernel 17x17 exceeds 16x16 on target xint8".
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const& { return message_; }
  std::string message() && { return std::move(message_); }

  /// Returns the error with "`where`: " prepended to its message. Has no effect on success.
  QUARKQ_EXPORT Status context(const std::string& where) &&;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value, or the Status that explains why it is missing. REQUIRES: a Status stored in it is not ok().
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
  /// Returns by value, so that the value in `for (x : f().value())` lives as long as the loop.
  T value() && { return std::get<0>(std::move(state_)); }

  Result<T> context(const std::string& where) && {
    if (ok()) return std::move(*this);
    return std::get<1>(std::move(state_)).context(where);
  }

 private:
  std::variant<T, Status> state_;
};

}  // namespace quarkq
