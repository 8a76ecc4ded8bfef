// SPDX-License-Identifier: MIT
// Short constructors for Status, one per code, and the macros that propagate errors. In src/, include this file instead
// of status.h. QQ_CHECK stops the program on bugs of quarkq. Faults of a file, a flag or a machine return a Status
// instead.
#pragma once

#include "base/strings.h"
#include "quarkq/status.h"

namespace quarkq {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define QQ_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::quarkq::check_failed(#condition, __FILE__, __LINE__))

namespace quarkq {

#define QQ_DEFINE_ERROR(function, code)      \
  template <typename... Args>                \
  Status function(const Args&... args) {     \
    return Status(Code::code, cat(args...)); \
  }
QQ_DEFINE_ERROR(invalid_argument, kInvalidArgument)
QQ_DEFINE_ERROR(unsupported, kUnsupported)
QQ_DEFINE_ERROR(corrupt_model, kCorruptModel)
QQ_DEFINE_ERROR(bad_data, kBadData)
QQ_DEFINE_ERROR(quality_gate, kQualityGate)
QQ_DEFINE_ERROR(resource_error, kResource)
QQ_DEFINE_ERROR(io_error, kIo)
QQ_DEFINE_ERROR(internal_error, kInternal)
#undef QQ_DEFINE_ERROR

}  // namespace quarkq

#define QQ_CONCAT_INNER(a, b) a##b
#define QQ_CONCAT(a, b) QQ_CONCAT_INNER(a, b)

/// QQ_TRY(auto x, expression): evaluates to the value of a Result, or returns its Status from the calling function.
#define QQ_TRY(declaration, expression) QQ_TRY_INNER(QQ_CONCAT(qq_result_, __LINE__), declaration, expression)
#define QQ_TRY_INNER(name, declaration, expression) \
  auto name = (expression);                         \
  if (!name.ok()) return name.status();             \
  declaration = std::move(name).value()

/// Returns the Status of `expression` from the calling function if it is an error.
#define QQ_RETURN_IF_ERROR(expression)                                                \
  do {                                                                                \
    if (::quarkq::Status qq_status = (expression); !qq_status.ok()) return qq_status; \
  } while (false)
