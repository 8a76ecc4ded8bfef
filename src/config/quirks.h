// SPDX-License-Identifier: MIT
// The rows of quirks.def as an enum and a table, and the value of each in a run.
#pragma once

#include <iterator>
#include <string>

namespace quarkq::config {

enum class Quirk {
#define QUIRK(id, section, by_default, in_compat, summary) k##id,
#include "config/quirks.def"
#undef QUIRK
};

struct QuirkInfo {
  const char* id;       ///< as in quirks.def: "FoldGemmBeta"
  const char* section;  ///< of docs/reference: "scales#limits"
  bool by_default;
  bool in_compat;
  const char* summary;
};

inline constexpr QuirkInfo kQuirks[] = {
#define QUIRK(id, section, by_default, in_compat, summary) {#id, section, by_default, in_compat, summary},
#include "config/quirks.def"
#undef QUIRK
};
inline constexpr size_t kQuirkCount = std::size(kQuirks);

/// The value of `quirk` in a run with or without --compat.
constexpr bool quirk_value(Quirk quirk, bool compat) {
  const QuirkInfo& row = kQuirks[static_cast<size_t>(quirk)];
  return compat ? row.in_compat : row.by_default;
}

/// "fold_gemm_beta" for "FoldGemmBeta": how listings name a quirk.
std::string quirk_name(const QuirkInfo& quirk);

}  // namespace quarkq::config
