// SPDX-License-Identifier: MIT
#include "evaluate_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "output.h"

namespace quarkq::tool {
namespace {

/// One file under two spellings, whether it exists or not.
bool is_same_place(const std::string& a, const std::string& b) {
  std::error_code error, other_error;
  const auto first = std::filesystem::weakly_canonical(a, error);
  return first == std::filesystem::weakly_canonical(b, other_error) && !error && !other_error;
}

}  // namespace

Status EvaluateFiles::open(const std::string& path, Text text) {
  if (path.empty()) return Status();
  if (path == kStdout) {
    if (printed_ != nullptr) return invalid_argument("evaluate: found - for two outputs, allowed is one");
    printed_ = text;
    return Status();
  }
  const auto is_open = [&](const File& other) { return is_same_place(path, other.file.target()); };
  if (std::any_of(files_.begin(), files_.end(), is_open)) {
    return invalid_argument("evaluate: found ", path, " for two outputs, each needs a file of its own");
  }
  QQ_TRY(AtomicFile file, AtomicFile::create(path));
  files_.push_back({std::move(file), text});
  return Status();
}

Status EvaluateFiles::write(const EvaluateReport& report) {
  for (File& one : files_) {
    const std::string text = one.text(report);
    QQ_RETURN_IF_ERROR(one.file.write(text.data(), text.size()));
  }
  for (File& one : files_) QQ_RETURN_IF_ERROR(one.file.commit());
  if (printed_ != nullptr) std::fputs(printed_(report).c_str(), stdout);
  return Status();
}

}  // namespace quarkq::tool
