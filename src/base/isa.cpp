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

bool machine_has_vnni() { return machine_has(Isa::kAvx512) && __builtin_cpu_supports("avx512vnni"); }

/// The selected loops, and whether oneDNN sums bytes in integers.
struct Choice {
  Isa isa = Isa::kSse41;
  bool vnni = false;
};

Choice best() {
  if (machine_has(Isa::kAvx512)) return {Isa::kAvx512, machine_has_vnni()};
  return {machine_has(Isa::kAvx2) ? Isa::kAvx2 : Isa::kSse41, false};
}

Choice& chosen() {
  static Choice value = best();
  return value;
}

/// The choices by name, with the name that oneDNN knows them by.
constexpr struct {
  std::string_view name;
  Choice choice;
  const char* onednn;
} kChoices[] = {{"sse41", {Isa::kSse41, false}, "SSE41"},
                {"avx2", {Isa::kAvx2, false}, "AVX2"},
                {"avx512", {Isa::kAvx512, false}, "AVX512_CORE"},
                {"avx512-vnni", {Isa::kAvx512, true}, "AVX512_CORE_VNNI"}};

}  // namespace

Isa isa() { return chosen().isa; }
bool has_vnni() { return chosen().vnni; }

std::string_view isa_name(Isa isa) { return kChoices[static_cast<size_t>(isa)].name; }
std::string_view full_isa_name() { return has_vnni() ? "avx512-vnni" : isa_name(isa()); }

Status pin_isa(std::string_view name) {
  if (name == "native") return Status();
  for (const auto& row : kChoices) {
    if (name != row.name) continue;
    if (!machine_has(row.choice.isa) || (row.choice.vnni && !machine_has_vnni()))
      return invalid_argument("--isa ", name, ": this machine does not have it");
    chosen() = row.choice;
    platform::set_environment("ONEDNN_MAX_CPU_ISA", row.onednn);
    return Status();
  }
  return invalid_argument("--isa ", name, ": unknown, allowed are sse41, avx2, avx512, avx512-vnni, native");
}

}  // namespace quarkq
