// SPDX-License-Identifier: MIT
// Findings that do not stop a run: notices and warnings, collected as data and printed by the tool only. Every
// kind of finding is a row of diagnostics.def.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
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

inline constexpr auto kDiagnostics = std::to_array<DiagnosticInfo>({
#define DIAGNOSTIC(id, severity, meaning, remedy) {id, Severity::severity, meaning, remedy},
#include "base/diagnostics.def"
#undef DIAGNOSTIC
});

/// The number of this id's row; the number of rows when there is none.
constexpr size_t diagnostic_row(std::string_view id) {
  for (size_t row = 0; row < kDiagnostics.size(); ++row) {
    if (kDiagnostics[row].id == id) return row;
  }
  return kDiagnostics.size();
}

/// The row of this id; null when there is none.
inline const DiagnosticInfo* find_diagnostic(std::string_view id) {
  const size_t row = diagnostic_row(id);
  return row == kDiagnostics.size() ? nullptr : &kDiagnostics[row];
}

/// A row of the table; an id without one does not compile. It holds the row's number: GCC 12 under UBSan compares no
/// pointer into a table in a constant expression.
class DiagnosticId {
 public:
  consteval DiagnosticId(const char* id) : row_(diagnostic_row(id)) {  // NOLINT(google-explicit-constructor)
    if (row_ == kDiagnostics.size()) throw "an id without a row in base/diagnostics.def";
  }
  constexpr const DiagnosticInfo& row() const { return kDiagnostics[row_]; }

 private:
  size_t row_;
};

struct Diagnostic {
  Severity severity = Severity::kNotice;
  std::string id;       ///< stable, for scripts
  std::string subject;  ///< node, tensor, option or file the finding is about; may be empty
  std::string text;     ///< what was found and what follows
};

class Diagnostics {
 public:
  void add(DiagnosticId id, std::string subject, std::string text) {
    add({id.row().severity, std::string(id.row().id), std::move(subject), std::move(text)});
  }
  void add(Diagnostic found) { all_.push_back(std::move(found)); }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
};

}  // namespace quarkq
