// SPDX-License-Identifier: MIT
// Findings that do not stop a run: notices and warnings, collected as data and printed by the tool only.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace quarkq {

enum class Severity { kNotice, kWarning };

struct Diagnostic {
  Severity severity = Severity::kNotice;
  std::string id;       ///< stable, for scripts: "option-left-out", "weight-shared", ...
  std::string subject;  ///< node, tensor, option or file the finding is about; may be empty
  std::string text;     ///< what was found and what follows
};

class Diagnostics {
 public:
  void notice(std::string id, std::string subject, std::string text) {
    all_.push_back({Severity::kNotice, std::move(id), std::move(subject), std::move(text)});
  }
  void warn(std::string id, std::string subject, std::string text) {
    all_.push_back({Severity::kWarning, std::move(id), std::move(subject), std::move(text)});
  }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
};

}  // namespace quarkq
