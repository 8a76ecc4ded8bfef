// SPDX-License-Identifier: MIT
#include "base/diagnostics.h"

#include <algorithm>
#include <utility>

namespace quarkq {
namespace {

constexpr auto kDiagnostics = std::to_array<DiagnosticInfo>({
#define DIAGNOSTIC(id, severity, meaning, remedy) {id, Severity::severity, meaning, remedy},
#include "base/diagnostics.def"
#undef DIAGNOSTIC
});

}  // namespace

std::span<const DiagnosticInfo> all_diagnostics() { return kDiagnostics; }

const DiagnosticInfo* find_diagnostic(std::string_view id) {
  const auto* const found = std::ranges::find(kDiagnostics, id, &DiagnosticInfo::id);
  return found == kDiagnostics.end() ? nullptr : found;
}

void Diagnostics::add(DiagnosticId id, std::string subject, std::string text) {
  add({id.row().severity, std::string(id.row().id), std::move(subject), std::move(text)});
}

void Diagnostics::add(Diagnostic found) { all_.push_back(std::move(found)); }

void Diagnostics::add(const Diagnostics& others) { all_.insert(all_.end(), others.all_.begin(), others.all_.end()); }

}  // namespace quarkq
