// SPDX-License-Identifier: MIT
// Findings that do not stop a run: notices and warnings, collected as data and printed by the tool only. Every
// kind of finding is a row of diagnostics.def.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarkq {

enum class Severity { kNotice, kWarning };

/// A row of diagnostics.def.
struct DiagnosticInfo {
  std::string_view id;
  Severity severity;
  std::string_view meaning;
  std::string_view remedy;  ///< Empty if there is no remedy.
};

/// Returns all rows of diagnostics.def.
std::span<const DiagnosticInfo> all_diagnostics();
/// Returns the row with this id, or null if there is none.
const DiagnosticInfo* find_diagnostic(std::string_view id);

inline constexpr auto kDiagnosticIds = std::to_array<std::string_view>({
#define DIAGNOSTIC(id, severity, meaning, remedy) id,
#include "base/diagnostics.def"
#undef DIAGNOSTIC
});

/// A row of the table; an unknown id does not compile. Stores the row number, because GCC 12 under UBSan cannot compare
/// pointers into a table in a constant expression.
class DiagnosticId {
 public:
  consteval DiagnosticId(const char* id) {  // NOLINT(google-explicit-constructor)
    while (row_ < kDiagnosticIds.size() && kDiagnosticIds[row_] != id) ++row_;
    if (row_ == kDiagnosticIds.size()) throw "an id without a row in base/diagnostics.def";
  }
  const DiagnosticInfo& row() const { return all_diagnostics()[row_]; }

 private:
  size_t row_ = 0;
};

struct Diagnostic {
  Severity severity = Severity::kNotice;
  std::string id;       ///< Stable, for scripts.
  std::string subject;  ///< The node, tensor, option or file of the finding; may be empty.
  std::string text;     ///< The finding and its consequence.
};

class Diagnostics {
 public:
  void add(DiagnosticId id, std::string subject, std::string text);
  void add(Diagnostic found);
  void add(const Diagnostics& others);
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
};

}  // namespace quarkq
