// SPDX-License-Identifier: MIT
// The rows of quirks.def as an enum and a table, and the values that hold in one run.
#pragma once

#include <array>
#include <string>

namespace quarkq::config {

enum class Quirk {
#define QUIRK(id, section, by_default, in_compat, summary) k##id,
#include "config/quirks.def"
#undef QUIRK
};

struct QuirkInfo {
  const char* id;       ///< as in quirks.def: "FoldGemmBeta"
  const char* section;  ///< of the specs
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

/// The value of every quirk in one run.
class Quirks {
 public:
  Quirks() : Quirks(/*compat=*/false) {}
  explicit Quirks(bool compat) {
    for (size_t i = 0; i < kQuirkCount; ++i) values_[i] = compat ? kQuirks[i].in_compat : kQuirks[i].by_default;
  }
  bool operator[](Quirk quirk) const { return values_[static_cast<size_t>(quirk)]; }

 private:
  std::array<bool, kQuirkCount> values_{};
};

/// "fold_gemm_beta" for "FoldGemmBeta": how listings name a quirk.
std::string quirk_name(const QuirkInfo& quirk);

}  // namespace quarkq::config
