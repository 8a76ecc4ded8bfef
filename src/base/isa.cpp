// SPDX-License-Identifier: MIT
#include "base/isa.h"

#include "base/platform/process.h"

namespace quarkq {
namespace {

bool machine_has(Isa isa) {
  switch (isa) {
    case Isa::kSse41: return __builtin_cpu_supports("sse4.1");
    case Isa::kAvx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  return false;
}

Isa best_isa() {
  if (machine_has(Isa::kAvx512)) return Isa::kAvx512;
  return machine_has(Isa::kAvx2) ? Isa::kAvx2 : Isa::kSse41;
}

Isa& chosen() {
  static Isa value = best_isa();
  return value;
}

}  // namespace

Isa isa() { return chosen(); }

std::string_view isa_name(Isa isa) { return isa == Isa::kAvx512 ? "avx512" : isa == Isa::kAvx2 ? "avx2" : "sse41"; }

Status pin_isa(std::string_view name) {
  if (name == "native") return Status();
  for (const Isa candidate : {Isa::kSse41, Isa::kAvx2, Isa::kAvx512}) {
    if (name != isa_name(candidate)) continue;
    if (!machine_has(candidate)) return invalid_argument("--isa ", name, ": this machine does not have it");
    chosen() = candidate;
    const char* onednn = candidate == Isa::kAvx512 ? "AVX512_CORE" : candidate == Isa::kAvx2 ? "AVX2" : "SSE41";
    platform::set_environment("ONEDNN_MAX_CPU_ISA", onednn);
    return Status();
  }
  return invalid_argument("--isa ", name, ": unknown, allowed are sse41, avx2, avx512, native");
}

}  // namespace quarkq
