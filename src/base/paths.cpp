// SPDX-License-Identifier: MIT
#include "base/paths.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/platform/files.h"
#include "base/platform/native_path.h"

namespace quarkq::paths {

using platform::path_of;
using platform::text_of;

std::string joined(const std::string& folder, const std::string& name) {
  return text_of(path_of(folder) / path_of(name));
}

std::string folder_of(const std::string& path) { return text_of(path_of(path).parent_path()); }
std::string folder_or_here(const std::string& path) {
  std::string folder = folder_of(path);
  return folder.empty() ? "." : folder;
}
std::string name_of(const std::string& path) { return text_of(path_of(path).filename()); }
std::string stem_of(const std::string& path) { return text_of(path_of(path).stem()); }
std::string suffix_of(const std::string& path) { return text_of(path_of(path).extension()); }

std::string with_suffix(const std::string& path, const std::string& suffix) {
  return text_of(path_of(path).replace_extension(path_of(suffix)));
}

std::string with_slashes(const std::string& path) {
  std::string text = path;
  if (platform::backslash_separates()) std::ranges::replace(text, '\\', '/');
  return text;
}

std::string normal(const std::string& path) { return text_of(path_of(path).lexically_normal()); }

std::string relative_to(const std::string& path, const std::string& folder) {
  return with_slashes(text_of(path_of(path).lexically_relative(path_of(folder))));
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const auto& part : path_of(path)) parts.push_back(text_of(part));
  return parts;
}

std::string of_parts(const std::vector<std::string>& parts) {
  auto path = path_of("");
  for (const std::string& part : parts) path /= path_of(part);
  return text_of(path);
}

bool has_root(const std::string& path) { return path_of(path).has_root_path(); }

std::string absolute(const std::string& path) {
  std::error_code error;
  return text_of(std::filesystem::absolute(path_of(path), error));
}

std::optional<std::string> real(const std::string& path) { return platform::real_path(path); }

std::string real_so_far(const std::string& path) {
  std::string known = absolute(path), rest;
  while (true) {
    const auto found = real(known);
    std::string above = folder_of(known);
    if (found || above.empty() || above == known)
      return rest.empty() ? found.value_or(known) : normal(joined(found.value_or(known), rest));
    const std::string name = name_of(known);
    if (!name.empty()) rest = rest.empty() ? name : joined(name, rest);
    known = std::move(above);
  }
}

bool is_same(const std::string& a, const std::string& b) {
  const auto first = platform::describe(a), second = platform::describe(b);
  return first && second && first->id == second->id;
}

bool exists(const std::string& path) { return platform::describe(path).has_value(); }
bool is_taken(const std::string& path) { return platform::describe(path, platform::Links::kRefused).has_value(); }

namespace {

bool is_made(const std::string& path) {
  if (const auto found = platform::describe(path)) {
    errno = ENOTDIR;
    return found->kind == platform::FileKind::kFolder;
  }
  const std::string above = folder_of(path);
  if (!above.empty() && above != path && !is_made(above)) return false;
  if (platform::make_folder(path)) return true;
  const int reason = errno;  // Another process may have made it.
  const auto found = platform::describe(path);
  errno = reason;
  return found && found->kind == platform::FileKind::kFolder;
}

}  // namespace

Status make_folders(const std::string& path) {
  if (is_made(path)) return Status();
  return io_error(path, ": cannot make this folder, ", std::strerror(errno));
}

void remove(const std::string& path) {
  if (!platform::remove_file(path.c_str())) platform::remove_folder(path);
}

void remove_tree(const std::string& path) {
  const auto found = platform::describe(path, platform::Links::kRefused);
  std::vector<std::string> names;
  if (found && found->kind == platform::FileKind::kFolder) platform::list_folder(path, {}, names);
  for (const std::string& name : names) remove_tree(joined(path, name));
  remove(path);
}

std::string temporary_folder() {
  std::error_code error;
  const std::string folder = text_of(std::filesystem::temp_directory_path(error));
  return error ? "" : folder;
}

}  // namespace quarkq::paths
