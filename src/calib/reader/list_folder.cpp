// SPDX-License-Identifier: MIT
// The layouts of a sample folder: files of one kind, a folder per input or per class, ONNX test
// data.
#include <algorithm>
#include <map>
#include <optional>

#include "base/paths.h"
#include "base/strings.h"
#include "calib/reader/file_formats.h"
#include "calib/reader/sample_files.h"

namespace quarkq::calib {
namespace {

using Names = std::vector<std::string>;

constexpr const char kSetPrefix[] = "test_data_set_";

/// Sample files directly in `folder`, of one kind.
Result<Names> list_samples(const FileTree& tree, const std::string& folder, const std::string& kind) {
  QQ_TRY(const Names all, tree.files(folder));
  Names samples;
  const FileFormat* first = nullptr;
  for (const std::string& name : all) {
    const FileFormat* format = format_of(name, kind);
    if (format == nullptr || name.starts_with('.')) continue;
    if (first == nullptr) first = format;
    if (format != first) {
      return bad_data(folder, ": holds ", samples[0], " and ", name,
                      ", allowed are files of one kind; calibration.reader: ", first->kind, " or ", format->kind,
                      " chooses");
    }
    samples.push_back(name);
  }
  return samples;
}

constexpr const char* kUnreadablePhotos[] = {".webp", ".gif",  ".tif", ".tiff", ".heic",
                                             ".heif", ".avif", ".jxl", ".jp2"};

bool is_unreadable_photo(const std::string& suffix) {
  return std::ranges::find(kUnreadablePhotos, suffix) != std::end(kUnreadablePhotos);
}

/// Returns the number of files by suffix in lower case. Hidden files are not counted.
std::map<std::string, size_t> count_suffixes(const FileTree& tree, const std::string& folder) {
  std::map<std::string, size_t> counts;
  const Result<Names> files = tree.files(folder);
  if (!files.ok()) return counts;
  for (const std::string& name : files.value()) {
    if (!name.starts_with('.')) ++counts[lower_case(paths::suffix_of(name))];
  }
  return counts;
}

std::string counts_text(const std::map<std::string, size_t>& counts) {
  Names parts;
  for (const auto& [suffix, count] : counts) parts.push_back(cat(count, " x ", suffix.empty() ? "no suffix" : suffix));
  return join(parts, ", ");
}

/// The first folder two levels below `folder` that holds samples; empty if there is none.
std::string deep_samples(const FileTree& tree, const std::string& folder, const std::string& kind) {
  const Result<Names> outer = tree.folders(folder);
  for (const std::string& first : outer.ok() ? outer.value() : Names()) {
    const Result<Names> inner = tree.folders(cat(folder, "/", first));
    for (const std::string& second : inner.ok() ? inner.value() : Names()) {
      std::string path = cat(folder, "/", first, "/", second);
      const Result<Names> files = tree.files(path);
      const auto is_sample = [&](const std::string& name) { return format_of(name, kind) != nullptr; };
      if (files.ok() && std::ranges::any_of(files.value(), is_sample)) return path;
    }
  }
  return "";
}

std::string no_samples(const FileTree& tree, const std::string& folder, const std::string& kind) {
  std::string text =
      cat(folder, ": no samples here, looked for ", suffixes_text(kind), ", found ", contents_text(tree, folder));
  if (!unreadable_photos(tree, folder).empty()) text += "; convert the photos to .png or .jpg";
  const std::string deep = deep_samples(tree, folder, kind);
  if (!deep.empty())
    text += cat("; folders are read one level deep, and ", deep, " holds samples: give ", paths::folder_of(deep));
  return text;
}

/// Files that hold whole samples. Two with the same stem keep their suffixes, so that results do not overwrite others.
std::vector<SampleFiles> samples_of(const std::string& folder, const Names& files, size_t inputs) {
  std::map<std::string, int> uses;
  for (const std::string& file : files) ++uses[stem_of(file)];
  std::vector<SampleFiles> samples;
  for (const std::string& file : files) {
    const std::string stem = stem_of(file);
    samples.push_back({uses[stem] > 1 ? file : stem, std::vector<Names>(inputs, {cat(folder, "/", file)})});
  }
  return samples;
}

// ONNX test data: input_<i>.pb is for the i-th input.

std::string set_file(const std::string& folder, size_t input) { return cat(folder, "/input_", input, ".pb"); }

/// For a one-input model a folder with input_0.pb alone may hold samples that happen to be named so.
bool is_test_data_set(const FileTree& tree, const std::string& folder, size_t inputs) {
  return tree.has_file(set_file(folder, 0)) && (inputs > 1 || tree.has_file(folder + "/output_0.pb"));
}

Result<SampleFiles> test_data_set(const FileTree& tree, const std::string& folder, const std::string& name,
                                  const std::vector<InputSpec>& inputs) {
  SampleFiles sample{name, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!tree.has_file(set_file(folder, i))) {
      return bad_data(folder, ": has no input_", i, ".pb, which input ", inputs[i].name, " needs");
    }
    sample.paths.push_back({set_file(folder, i)});
  }
  if (tree.has_file(set_file(folder, inputs.size()))) {
    return bad_data(folder, ": has input_", inputs.size(), ".pb, the model has ", inputs.size(), " inputs");
  }
  return sample;
}

Result<std::vector<SampleFiles>> test_data_sets(const FileTree& tree, const std::string& folder,
                                                const std::vector<InputSpec>& inputs) {
  QQ_TRY(const Names folders, tree.folders(folder));
  std::vector<SampleFiles> samples;
  for (const std::string& name : folders) {
    if (!name.starts_with(kSetPrefix)) continue;
    QQ_TRY(SampleFiles sample, test_data_set(tree, cat(folder, "/", name), name, inputs));
    samples.push_back(std::move(sample));
  }
  return samples;
}

// A folder per input, samples paired by file name.

std::optional<std::string> folder_of(const FileTree& tree, const std::string& folder, const InputSpec& input) {
  for (const std::string& name : spellings_of(input)) {
    std::string path = cat(folder, "/", name);
    if (tree.has_folder(path)) return path;
  }
  return std::nullopt;
}

Status no_folder(const FileTree& tree, const DataOptions& options, const InputSpec& input, bool is_only_input) {
  const std::string& folder = options.folder;
  QQ_TRY(const Names folders, tree.folders(folder));
  const std::string none = no_samples(tree, folder, options.kind);
  if (is_only_input && folders.empty()) return bad_data(none);
  return bad_data(
      is_only_input ? none + ", nor in its folders, and there is" : folder + ":", " no folder for input ", input.name,
      did_you_mean(input.name, folders), " (found: ", folders.empty() ? "no folders" : join(folders, ", "), ")",
      input.is_ambiguous && tree.has_folder(cat(folder, "/", file_spelling(input.name)))
          ? cat("; ", file_spelling(input.name), " may mean several inputs, so give their files as .npz, or ",
                "in a list (calibration.list)")
          : "");
}

/// {stem: path} of an input's folder.
Result<std::map<std::string, std::string>> by_stem(const std::string& folder, const Names& files) {
  std::map<std::string, std::string> paths;
  for (const std::string& file : files) {
    const auto [place, is_new] = paths.emplace(stem_of(file), cat(folder, "/", file));
    if (!is_new) {
      return bad_data(folder, ": holds ", stem_of(place->second), " twice, ", place->second, " and ", file,
                      "; files are paired by their names without suffix");
    }
  }
  return paths;
}

Result<std::vector<SampleFiles>> paired_samples(const FileTree& tree, const DataOptions& options,
                                                const std::vector<InputSpec>& inputs) {
  const std::string& kind = options.kind;
  std::vector<SampleFiles> samples;
  std::string first;
  for (const InputSpec& input : inputs) {
    const std::optional<std::string> own = folder_of(tree, options.folder, input);
    if (!own) return no_folder(tree, options, input, inputs.size() == 1);
    QQ_TRY(const Names files, list_samples(tree, *own, kind));
    if (files.empty()) return bad_data(no_samples(tree, *own, kind));
    if (inputs.size() == 1) return samples_of(*own, files, 1);
    QQ_TRY(auto paths, by_stem(*own, files));
    if (samples.empty()) {
      first = *own;
      for (const std::string& file : files) samples.push_back({stem_of(file), {}});
    }
    for (SampleFiles& sample : samples) {
      const auto found = paths.find(sample.name);
      if (found == paths.end()) return bad_data(*own, ": has no partner of ", sample.paths[0][0]);
      sample.paths.push_back({found->second});
      paths.erase(found);
    }
    if (!paths.empty()) return bad_data(first, ": has no partner of ", paths.begin()->second);
  }
  return samples;
}

// A folder per class, for a model with one input.

/// Samples of all folders in `folder`, named <folder>/<sample>; all of one kind.
Result<std::vector<SampleFiles>> class_samples(const FileTree& tree, const std::string& folder,
                                               const std::string& kind) {
  QQ_TRY(const Names classes, tree.folders(folder));
  std::vector<SampleFiles> samples;
  std::string first;
  for (const std::string& name : classes) {
    if (name.starts_with('.')) continue;
    QQ_TRY(const Names files, list_samples(tree, cat(folder, "/", name), kind));
    if (files.empty()) continue;
    const std::string path = cat(folder, "/", name, "/", files[0]);
    if (first.empty()) first = path;
    if (format_of(path, kind) != format_of(first, kind)) {
      return bad_data(folder, ": holds ", first, " and ", path,
                      ", allowed are files of one kind; calibration.reader chooses");
    }
    for (SampleFiles& sample : samples_of(cat(folder, "/", name), files, 1)) {
      sample.name = cat(name, "/", sample.name);
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

/// An archive often holds one folder with everything in it.
Result<std::string> without_shell(const FileTree& tree, std::string folder, const std::vector<InputSpec>& inputs) {
  while (true) {
    QQ_TRY(const Names files, tree.files(folder));
    QQ_TRY(const Names folders, tree.folders(folder));
    const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const InputSpec& input) {
      return folder_of(tree, folder, input).has_value();
    });
    if (!files.empty() || folders.size() != 1 || is_input || folders[0].starts_with(kSetPrefix)) return folder;
    folder += "/" + folders[0];
  }
}

/// Rejects photos next to folders that contain more photos: it is ambiguous which of the two are the samples.
Status check_stray(const FileTree& tree, const DataOptions& options, const Names& files) {
  const Result<std::vector<SampleFiles>> below = class_samples(tree, options.folder, options.kind);
  const bool is_photo = std::string_view(format_of(files[0], options.kind)->kind) == "image";
  if (!below.ok() || !is_photo || below.value().size() <= files.size()) return Status();
  return bad_data(options.folder, ": contains ", files.size(), files.size() == 1 ? " photo (" : " photos (", files[0],
                  files.size() == 1 ? ") next to folders with " : ", ...) next to folders with ", below.value().size(),
                  "; move them away, or give a folder that contains only one of the two");
}

}  // namespace

std::string contents_text(const FileTree& tree, const std::string& folder) {
  const Result<Names> folders = tree.folders(folder);
  const std::string files = counts_text(count_suffixes(tree, folder));
  const size_t count = folders.ok() ? folders.value().size() : 0;
  if (count == 0) return files.empty() ? "nothing" : files;
  return cat(files, files.empty() ? "" : " and ", count, count == 1 ? " folder" : " folders");
}

std::string unreadable_photos(const FileTree& tree, const std::string& folder) {
  std::map<std::string, size_t> counts = count_suffixes(tree, folder);
  std::erase_if(counts, [](const auto& entry) { return !is_unreadable_photo(entry.first); });
  return counts_text(counts);
}

Result<std::vector<SampleFiles>> list_folder(const FileTree& tree, DataOptions options,
                                             const std::vector<InputSpec>& inputs) {
  if (!tree.has_folder(options.folder)) return bad_data(options.folder, ": no such folder or file");
  if (is_tar_name(options.folder)) {
    QQ_TRY(options.folder, without_shell(tree, options.folder, inputs));
  }
  const std::string& folder = options.folder;
  const bool may_be_set = options.kind.empty() || options.kind == "pb";
  if (may_be_set && is_test_data_set(tree, folder, inputs.size())) {
    QQ_TRY(SampleFiles sample, test_data_set(tree, folder, "test_data_set", inputs));
    return std::vector<SampleFiles>{std::move(sample)};
  }
  const bool is_only_input = inputs.size() == 1;
  if (is_only_input || options.kind.empty() || options.kind == "npz") {  // files with all inputs
    QQ_TRY(const Names files, list_samples(tree, folder, is_only_input ? options.kind : "npz"));
    if (!files.empty() && is_only_input) QQ_RETURN_IF_ERROR(check_stray(tree, options, files));
    if (!files.empty()) return samples_of(folder, files, inputs.size());
  }
  if (may_be_set) {
    QQ_TRY(std::vector<SampleFiles> sets, test_data_sets(tree, folder, inputs));
    if (!sets.empty()) return sets;
  }
  if (is_only_input && !folder_of(tree, folder, inputs[0])) {
    QQ_TRY(std::vector<SampleFiles> samples, class_samples(tree, folder, options.kind));
    if (!samples.empty()) return samples;
  }
  return paired_samples(tree, options, inputs);
}

}  // namespace quarkq::calib
