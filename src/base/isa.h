// SPDX-License-Identifier: MIT
// The instruction set that the vectorized loops (*.isa.cpp) and oneDNN use. Fixed once at start, before any kernel is
// created.
#pragma once

#include <string_view>

#include "base/error.h"

namespace quarkq {

enum class Isa { kSse41, kAvx2, kAvx512 };

/// Returns the instruction set in use: the best of this machine, or the one selected by pin_isa().
Isa isa();
std::string_view isa_name(Isa isa);
/// Returns whether products of bytes are summed in integers: AVX-512 with VNNI.
bool has_vnni();
/// Returns the name of all that the bits of quantized models' results depend on: isa_name(), or "avx512-vnni".
std::string_view full_isa_name();

/// Selects `name` (sse41, avx2, avx512, avx512-vnni or native). Fails if this machine does not support it. Also selects
/// it for oneDNN, through its environment setting, so call it before the first primitive is created.
Status pin_isa(std::string_view name);

}  // namespace quarkq

/// Calls `function` in the namespace of the instruction set in use: QQ_DISPATCH(numeric, fake_quantize)(args...).
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
