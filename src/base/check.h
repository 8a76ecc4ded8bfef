// SPDX-License-Identifier: MIT
// QQ_CHECK stops the program on our own bugs. What a file, a flag or a machine can break returns a Status instead.
#pragma once

namespace quarkq {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

#define QQ_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::quarkq::check_failed(#condition, __FILE__, __LINE__))
