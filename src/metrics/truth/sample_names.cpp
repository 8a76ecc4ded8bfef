// SPDX-License-Identifier: MIT
#include "metrics/truth/sample_names.h"

#include <algorithm>

#include "base/file_system.h"
#include "base/paths.h"
#include "calib/reader/file_formats.h"

namespace quarkq::metrics {
namespace {

/// Ends in one of `suffixes`, and is no file that some systems hide.
bool is_wanted(const std::string& name, const std::vector<std::string>& suffixes) {
  return !name.starts_with('.') && std::ranges::any_of(suffixes, [&](const auto& one) { return name.ends_with(one); });
}

}  // namespace

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string without_sample_suffix(const std::string& path) {
  const std::string name = last_part(path);
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0 || calib::format_of(name, "") == nullptr) return path;
  return path.substr(0, path.size() - (name.size() - dot));
}

void SampleNames::add(const std::string& name, size_t place) {
  const auto note = [place](Places& names, const std::string& key) {
    std::vector<size_t>& places = names[key];
    if (places.empty() || places.back() != place) places.push_back(place);
  };
  note(whole_, name);
  const std::string path = paths::with_slashes(paths::with_suffix(name, ""));
  for (const std::string& key : {path, last_part(name), last_part(path)}) note(short_, key);
}

Result<size_t> SampleNames::find(const std::string& truth, const std::string& name) const {
  const std::string path = without_sample_suffix(name);
  for (const std::string& key : {name, path, last_part(name), last_part(path)}) {
    for (const Places* names : {&whole_, &short_}) {
      const auto found = names->find(key);
      if (found == names->end()) continue;
      if (found->second.size() == 1) return found->second[0];
      return bad_data(truth, ": has ", found->second.size(), " ", kind_, "s called ", key);
    }
  }
  return bad_data(truth, ": has no ", kind_, " called ", name);
}

Result<NamedFiles> NamedFiles::read(const std::string& folder, const std::vector<std::string>& suffixes,
                                    const std::string& kind) {
  NamedFiles files(kind);
  files.folder_ = folder;
  QQ_TRY(std::vector<std::string> names, list_files_below(folder));
  std::erase_if(names, [&](const std::string& name) { return !is_wanted(last_part(name), suffixes); });
  if (names.empty()) return bad_data(folder, ": holds no ", kind, "s, looked for ", join(suffixes, ", "));
  for (const std::string& name : names) {
    files.names_.add(name, files.paths_.size());
    files.paths_.push_back(paths::joined(folder, name));
  }
  return files;
}

Result<std::string> NamedFiles::find(const std::string& name) const {
  QQ_TRY(const size_t place, names_.find(folder_, name));
  return paths_[place];
}

}  // namespace quarkq::metrics
