// SPDX-License-Identifier: MIT
#include "base/run_files.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/file_system.h"

namespace quarkq {
namespace {

using platform::FileKind;

/// Describes the file that `path` leads to. Returns nullopt if there is none.
std::optional<platform::FileInfo> found_at(const std::string& path) {
  return path.empty() ? std::nullopt : platform::describe(path);
}

bool is_file(const std::optional<platform::FileInfo>& found) { return found && found->kind == FileKind::kFile; }

/// The runs in progress. Libraries may have several.
struct Runs {
  std::mutex mutex;
  std::vector<RunFiles*> all;
};
Runs& runs() {
  static Runs instance;
  return instance;
}

Status overwrites(const std::string& output, const char* what) {
  return invalid_argument(output, ": is an input, which is never overwritten; give another ", what);
}

}  // namespace

RunFiles::RunFiles() {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  runs().all.push_back(this);
}

RunFiles::~RunFiles() {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  std::erase(runs().all, this);
}

/// Folders are listed when an output is found that might be one of their files: most runs write new files only.
bool RunFiles::reads(const Id& id) {
  for (const auto& [folder, is_input] : std::exchange(unlisted_, {})) {
    const Result<std::vector<std::string>> files = list_files_below(folder);
    if (!files.ok()) continue;  // the reader of the folder complains
    for (const std::string& file : files.value()) {
      if (is_input != nullptr && !is_input(file)) continue;
      if (const auto found = found_at(cat(folder, "/", file))) inputs_.insert(found->id);
    }
  }
  return inputs_.contains(id);
}

Status RunFiles::add_input_locked(const std::string& path, IsInput is_input) {
  const auto found = found_at(path);
  if (!found) return Status();
  if (found->kind == FileKind::kFolder) {
    if (input_folders_.insert(found->id).second) unlisted_.emplace_back(path, is_input);
  } else if (is_file(found) && !products_.contains(found->id)) {
    inputs_.insert(found->id);
  }
  for (const auto& [id, output] : outputs_) {
    if (!products_.contains(id) && reads(id)) return overwrites(output, "name");
  }
  return Status();
}

Status RunFiles::add_input(const std::string& path, IsInput is_input) {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  return add_input_locked(path, is_input);
}

Status RunFiles::add_output(const std::string& path) {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  const auto found = found_at(path);
  if (!is_file(found)) return Status();
  outputs_.emplace(found->id, path);
  return reads(found->id) ? overwrites(path, "name") : Status();
}

Status RunFiles::add_output_folder(const std::string& path) {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  const auto found = found_at(path);
  return found && input_folders_.contains(found->id) ? overwrites(path, "folder") : Status();
}

Status check_not_input(const std::string& output) {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  if (runs().all.empty()) return Status();
  const auto found = found_at(output);
  if (!is_file(found)) return Status();
  for (RunFiles* run : runs().all) {
    if (run->reads(found->id)) return overwrites(output, "name");
    if (!run->products_.contains(found->id)) continue;
    if (const std::string other = platform::other_spelling(output); !other.empty())
      return invalid_argument(output, ": this run has written ", other,
                              ", which this system takes for the same name; names must differ in more than case");
  }
  return Status();
}

Status note_input(const std::string& path) {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  for (RunFiles* run : runs().all) QQ_RETURN_IF_ERROR(run->add_input_locked(path, nullptr));
  return Status();
}

void note_product(int fd) {
  const std::lock_guard<std::mutex> lock(runs().mutex);
  if (runs().all.empty()) return;
  const auto info = platform::describe(fd);
  if (!info) return;
  for (RunFiles* run : runs().all) run->products_.insert(info->id);
}

}  // namespace quarkq
