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

/// A choice: the loops, and whether oneDNN sums bytes in integers.
struct Choice {
  std::string_view name;
  Isa isa;
  bool vnni;
  const char* onednn;  ///< The name in its environment setting.

  bool is_possible() const { return machine_has(isa) && (!vnni || __builtin_cpu_supports("avx512vnni")); }
};

constexpr Choice kChoices[] = {{"sse41", Isa::kSse41, false, "SSE41"},
                               {"avx2", Isa::kAvx2, false, "AVX2"},
                               {"avx512", Isa::kAvx512, false, "AVX512_CORE"},
                               {"avx512-vnni", Isa::kAvx512, true, "AVX512_CORE_VNNI"}};

Choice best() {
  Choice found = kChoices[0];
  for (const Choice& row : kChoices) {
    if (row.is_possible()) found = row;
  }
  return found;
}

Choice& chosen() {
  static Choice value = best();
  return value;
}

}  // namespace

Isa isa() { return chosen().isa; }
bool has_vnni() { return chosen().vnni; }

std::string_view isa_name(Isa isa) { return kChoices[static_cast<size_t>(isa)].name; }
std::string_view full_isa_name() { return chosen().name; }

Status pin_isa(std::string_view name) {
  if (name == "native") return Status();
  for (const Choice& row : kChoices) {
    if (name != row.name) continue;
    if (!row.is_possible()) return invalid_argument("--isa ", name, ": this machine does not have it");
    chosen() = row;
    platform::set_environment("ONEDNN_MAX_CPU_ISA", row.onednn);
    return Status();
  }
  return invalid_argument("--isa ", name, ": unknown, allowed are sse41, avx2, avx512, avx512-vnni, native");
}

}  // namespace quarkq
