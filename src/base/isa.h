// SPDX-License-Identifier: MIT
// Which instruction set the vectorized loops (*.isa.cpp) and oneDNN use. Fixed once at start, before any kernel is
// made.
#pragma once

#include <string_view>

#include "base/error.h"

namespace quarkq {

enum class Isa { kSse41, kAvx2, kAvx512 };

/// The instruction set in force: the best of this machine, or what pin_isa() asked for.
Isa isa();
std::string_view isa_name(Isa isa);

/// Pins `name` (sse41, avx2, avx512 or native). Fails when this machine lacks it. Also pins oneDNN, through its
/// environment setting, so call it before the first primitive is made.
Status pin_isa(std::string_view name);

}  // namespace quarkq

/// Calls `function` of the namespace of the instruction set in force: QQ_DISPATCH(numeric, fake_quantize)(args...).
#define QQ_DISPATCH(layer, function)                                             \
  (::quarkq::isa() == ::quarkq::Isa::kAvx512 ? ::quarkq::layer::avx512::function \
   : ::quarkq::isa() == ::quarkq::Isa::kAvx2 ? ::quarkq::layer::avx2::function   \
                                             : ::quarkq::layer::sse41::function)
/// Declares a function in the three namespaces: QQ_DECLARE_ISA(void f(int);)
#define QQ_DECLARE_ISA(...) \
  namespace sse41 {         \
  __VA_ARGS__               \
  }                         \
  namespace avx2 {          \
  __VA_ARGS__               \
  }                         \
  namespace avx512 {        \
  __VA_ARGS__               \
  }
