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
  std::string_view remedy;  ///< empty: there is nothing to do
};

/// All rows of diagnostics.def.
std::span<const DiagnosticInfo> all_diagnostics();
/// The row of this id; null when there is none.
const DiagnosticInfo* find_diagnostic(std::string_view id);

inline constexpr auto kDiagnosticIds = std::to_array<std::string_view>({
#define DIAGNOSTIC(id, severity, meaning, remedy) id,
#include "base/diagnostics.def"
#undef DIAGNOSTIC
});

/// A row of the table; an id without one does not compile. It holds the row's number: GCC 12 under UBSan compares no
/// pointer into a table in a constant expression.
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
  std::string id;       ///< stable, for scripts
  std::string subject;  ///< node, tensor, option or file the finding is about; may be empty
  std::string text;     ///< what was found and what follows
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
