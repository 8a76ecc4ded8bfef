// SPDX-License-Identifier: MIT
// The rows of quirks.def as an enum and a table, and the value of each in a run.
#pragma once

#include <iterator>
#include <string>

namespace quarkq::config {

enum class Quirk {
#define QUIRK(id, section, summary) k##id,
#include "config/quirks.def"
#undef QUIRK
};

struct QuirkInfo {
  const char* id;       ///< as in quirks.def: "FoldGemmBeta"
  const char* section;  ///< of docs/reference: "scales#limits"
  const char* summary;  ///< what holds by default, and not in compat mode
};

inline constexpr QuirkInfo kQuirks[] = {
#define QUIRK(id, section, summary) {#id, section, summary},
#include "config/quirks.def"
#undef QUIRK
};
inline constexpr size_t kQuirkCount = std::size(kQuirks);

/// "fold_gemm_beta" for "FoldGemmBeta": how listings name a quirk.
std::string quirk_name(const QuirkInfo& quirk);

}  // namespace quarkq::config
