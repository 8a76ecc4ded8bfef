// SPDX-License-Identifier: MIT
#include "config/named_files.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/file_system.h"
#include "base/quoted_words.h"
#include "config/load.h"
#include "config/quant_config.h"

namespace quarkq::config {
namespace {

namespace fs = std::filesystem;

/// Keys whose file is written, or read if it is there and else written.
constexpr std::string_view kWritten[] = {"SaveAndRestore",         "TensorsRangeFile", "SensitivityCacheFile",
                                         "sensitivity_cache_file", "info_csv",         "output_model_path"};
/// Keys of folders for temporary and intermediate files.
constexpr std::string_view kWorkFolders[] = {"CacheDir", "cache_dir", "TmpDir", "tmp_dir", "search_cache_dir"};
/// Keys of folders with samples. A folder with the name of another text, such as a node, is not an input.
constexpr std::string_view kSampleFolders[] = {"dir", "EvalDataReader"};
constexpr int kMostLevels = 3;  ///< of files that name files

bool is_key_in(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

class Collector {
 public:
  void add(const Node& node, std::string_view key, int level) {
    for (const Node::Entry& entry : node.entries()) add(entry.value, entry.key, level);
    for (const Node& item : node.items()) add(item, key, level);
    if (!node.is_text() || node.as_text().empty() || is_key_in(kWorkFolders, key)) return;
    const std::string& path = node.as_text();
    if (is_key_in(kWritten, key)) {
      found.written.push_back(path);
    } else if (file_exists(path)) {
      found.read.push_back(path);
      if (key == "list") add_list(path);
      add_file(path, level + 1);
    } else if (is_key_in(kSampleFolders, key) && is_folder(path)) {
      found.read.push_back(path);
    }
  }

  void add_file(const std::string& path, int level) {
    const std::string suffix = fs::path(path).extension().string();
    const bool is_tree = suffix == ".yaml" || suffix == ".yml" || suffix == ".json";
    if (level > kMostLevels || !is_tree || !file_exists(path)) return;
    const Result<Node> tree = load_file(path);
    if (tree.ok()) add(tree.value(), "", level);  // else its reader complains
  }

  NamedFiles found;

 private:
  /// Paths of samples are relative to the folder of the list; "input=path" names one for each input.
  void add_list(const std::string& list) {
    const Result<std::string> text = read_text_file(list);
    if (!text.ok()) return;
    const fs::path folder = fs::path(list).parent_path();
    for (const std::string& line : split(text.value(), '\n')) {
      const Result<std::vector<std::string>> words = quoted_words(line);
      if (!words.ok()) continue;
      for (const std::string& word : words.value()) {
        for (const std::string& one : {word, word.substr(word.rfind('=') + 1)}) {
          if (const std::string path = (folder / one).string(); file_exists(path)) found.read.push_back(path);
        }
      }
    }
  }
};

}  // namespace

NamedFiles files_named_by(const std::string& file_or_preset, const std::vector<std::string>& sets) {
  Collector collector;
  if (file_or_preset.empty() && sets.empty()) return {};
  const Result<QuantConfig> asked = load_config(file_or_preset, sets);
  if (asked.ok()) collector.add(to_node(asked.value()), "", 0);
  return std::move(collector.found);
}

Status declare(const NamedFiles& named, RunFiles& files) {
  for (const std::string& path : named.read) QQ_RETURN_IF_ERROR(files.add_input(path));
  for (const std::string& path : named.written) QQ_RETURN_IF_ERROR(files.add_output(path));
  return Status();
}

NamedFiles files_named_in(const std::string& path) {
  Collector collector;
  collector.add_file(path, 1);
  return std::move(collector.found);
}

}  // namespace quarkq::config
