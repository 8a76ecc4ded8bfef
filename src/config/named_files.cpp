// SPDX-License-Identifier: MIT
#include "config/named_files.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "base/platform/library.h"
#include "config/convert.h"
#include "config/load.h"
#include "config/quant_config.h"

namespace quarkq::config {

namespace {

/// Keys whose file is written, or read if it is there and else written.
constexpr std::string_view kWritten[] = {"SaveAndRestore",         "TensorsRangeFile", "SensitivityCacheFile",
                                         "sensitivity_cache_file", "info_csv",         "output_model_path",
                                         "nbits_plan_out"};
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
    const std::string suffix = paths::suffix_of(path);
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
    const std::string folder = paths::folder_of(list);
    for (const std::string& line : split(text.value(), '\n')) {
      const Result<std::vector<std::string>> words = quoted_words(line);
      if (!words.ok()) continue;
      for (const std::string& word : words.value()) {
        for (const std::string& one : {word, word.substr(word.rfind('=') + 1)}) {
          if (const std::string path = paths::joined(folder, one); file_exists(path)) found.read.push_back(path);
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

namespace {

bool has_text(const Node& map, const char* key) {
  const Node* value = map.find(key);
  return value != nullptr && value->is_text() && !value->as_text().empty();
}

/// Settings that name files of their own, or ask for some.
constexpr struct {
  const char* setting;
  bool (*writes)(const Settings&);
} kWriters[] = {
    {"SaveTensorHistFig", [](const Settings& s) { return s.ranges.save_tensor_hist_fig; }},
    {"SaveAndRestore", [](const Settings& s) { return s.ranges.save_and_restore.has_value(); }},
    {"FastFinetune.CacheDir", [](const Settings& s) { return has_text(s.algorithms.fast_finetune.node, "CacheDir"); }},
    {"AutoMixprecision.SensitivityCacheFile",
     [](const Settings& s) { return has_text(s.algorithms.auto_mixprecision.node, "SensitivityCacheFile"); }},
    {"preprocessed_model_path", [](const Settings& s) { return s.passes.preprocessed_path.has_value(); }},
};

bool keeps_on_disk(const Settings& s) {
  const Node* level = s.algorithms.fast_finetune.node.find("MemOptLevel");
  return level != nullptr && *level == Node(int64_t{2});
}

}  // namespace

bool asks_crypto(const QuantConfig& config) {
  const auto is_key = [](const auto& key) { return key.first == "CryptoMode" && key.second == Node(true); };
  return config.fields.crypto_mode.value_or(false) || std::ranges::any_of(config.field_keys, is_key);
}

Status check_crypto(const Settings& settings, Diagnostics& diagnostics) {
  if (!settings.runtime.crypto_mode) return {};
  for (const auto& row : kWriters) {
    if (!row.writes(settings)) continue;
    return invalid_argument(row.setting,
                            ": found together with crypto_mode true, which writes only the result; leave "
                            "out one of the two");
  }
  if (settings.algorithms.include_fast_ft) {
    diagnostics.add("crypto-mode", "FastFinetune",
                    cat("finished layers are not kept on disk, so an interrupted run starts from the beginning",
                        keeps_on_disk(settings) ? "; MemOptLevel is 1, not 2" : ""));
  }
  return {};
}

Result<std::string> evaluation_folder(const Settings& settings) {
  const Node& reader = settings.evaluation.eval_data_reader;
  if (reader.is_null()) return settings.eval.dir.value_or("");
  if (reader.is_text()) return reader.as_text();
  return invalid_argument("EvalDataReader: found ", describe(reader),
                          ", allowed is a folder or file of samples; from Python, a reader");
}

namespace {

constexpr const char* kLibraries = "UserCustomOpLibPath";

Status add_libraries(const std::string& path, std::vector<std::string>& files) {
  if (!is_folder(path)) {
    if (!file_exists(path)) return invalid_argument(kLibraries, ": ", path, " is not there");
    files.push_back(paths::absolute(path));
    return {};
  }
  QQ_TRY(const std::vector<std::string> names, list_files(path, platform::library_suffix()));
  if (names.empty())
    return invalid_argument(kLibraries, ": the folder ", path, " contains no ", platform::library_suffix(), " file");
  const std::string folder = paths::absolute(path);
  for (const std::string& name : names) files.push_back(paths::joined(folder, name));
  return {};
}

}  // namespace

Result<std::vector<std::string>> user_libraries(const QuantConfig& config) {
  std::vector<std::string> files;
  const std::optional<Node>& asked = config.options.user_custom_op_lib_path;
  if (!asked || asked->is_null()) return files;
  if (config.origin_of(kLibraries) == Origin::kFile)
    return invalid_argument(kLibraries, ": found in a settings file, which may not name code to run; ",
                            "allowed is --set ", kLibraries, "=... on the command line");
  if (asked->is_text()) {
    QQ_RETURN_IF_ERROR(add_libraries(asked->as_text(), files));
    return files;
  }
  QQ_TRY(const std::vector<std::string> paths, read<std::vector<std::string>>(*asked, kLibraries));
  for (const std::string& path : paths) QQ_RETURN_IF_ERROR(add_libraries(path, files));
  return files;
}

}  // namespace quarkq::config
