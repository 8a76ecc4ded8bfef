// SPDX-License-Identifier: MIT
// The layouts of a sample folder (design section 2): files of one kind, a folder per input, ONNX test data.
#include <map>
#include <optional>

#include "base/file_system.h"
#include "base/suggest.h"
#include "calib/reader/file_formats.h"
#include "calib/reader/sample_files.h"

namespace quarkq::calib {
namespace {

using Names = std::vector<std::string>;

constexpr const char kSetPrefix[] = "test_data_set_";

/// Sample files directly in `folder`, of one kind.
Result<Names> list_samples(const std::string& folder, const std::string& kind) {
  QQ_TRY(const Names all, list_files(folder, ""));
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

std::string no_samples(const std::string& folder, const std::string& kind) {
  return cat(folder, ": no samples here, looked for ", suffixes_text(kind));
}

/// Files that hold whole samples. Two with the same stem keep their suffixes, so that results do not overwrite others.
std::vector<SampleFiles> samples_of(const std::string& folder, const Names& files, size_t inputs) {
  std::map<std::string, int> uses;
  for (const std::string& file : files) ++uses[stem_of(file)];
  std::vector<SampleFiles> samples;
  for (const std::string& file : files) {
    const std::string stem = stem_of(file);
    samples.push_back({uses[stem] > 1 ? file : stem, std::vector<Names>(inputs, {folder + "/" + file})});
  }
  return samples;
}

// ONNX test data: input_<i>.pb is for the i-th input.

std::string set_file(const std::string& folder, size_t input) { return cat(folder, "/input_", input, ".pb"); }

/// For a one-input model a folder with input_0.pb alone may hold samples that happen to be named so.
bool is_test_data_set(const std::string& folder, size_t inputs) {
  return file_exists(set_file(folder, 0)) && (inputs > 1 || file_exists(folder + "/output_0.pb"));
}

Result<SampleFiles> test_data_set(const std::string& folder, const std::string& name,
                                  const std::vector<InputSpec>& inputs) {
  SampleFiles sample{name, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!file_exists(set_file(folder, i))) {
      return bad_data(folder, ": has no input_", i, ".pb, which input ", inputs[i].name, " needs");
    }
    sample.paths.push_back({set_file(folder, i)});
  }
  if (file_exists(set_file(folder, inputs.size()))) {
    return bad_data(folder, ": has input_", inputs.size(), ".pb, the model has ", inputs.size(), " inputs");
  }
  return sample;
}

Result<std::vector<SampleFiles>> test_data_sets(const std::string& folder, const std::vector<InputSpec>& inputs) {
  QQ_TRY(const Names folders, list_folders(folder));
  std::vector<SampleFiles> samples;
  for (const std::string& name : folders) {
    if (!name.starts_with(kSetPrefix)) continue;
    QQ_TRY(SampleFiles sample, test_data_set(folder + "/" + name, name, inputs));
    samples.push_back(std::move(sample));
  }
  return samples;
}

// A folder per input, samples paired by file name.

std::optional<std::string> folder_of(const std::string& folder, const InputSpec& input) {
  for (const std::string& name : {input.name, file_spelling(input.name)}) {
    if (is_folder(folder + "/" + name)) return folder + "/" + name;
  }
  return std::nullopt;
}

Status no_folder(const std::string& folder, const InputSpec& input, const std::string& kind, bool is_only_input) {
  QQ_TRY(const Names folders, list_folders(folder));
  if (is_only_input && folders.empty()) return bad_data(no_samples(folder, kind));
  return bad_data(is_only_input ? no_samples(folder, kind) + ", and there is" : folder + ":", " no folder for input ",
                  input.name, did_you_mean(input.name, folders),
                  " (found: ", folders.empty() ? "no folders" : join(folders, ", "), ")");
}

/// {stem: path} of an input's folder.
Result<std::map<std::string, std::string>> by_stem(const std::string& folder, const Names& files) {
  std::map<std::string, std::string> paths;
  for (const std::string& file : files) {
    const auto [place, is_new] = paths.emplace(stem_of(file), folder + "/" + file);
    if (!is_new) {
      return bad_data(folder, ": holds ", stem_of(place->second), " twice, ", place->second, " and ", file,
                      "; files are paired by their names without suffix");
    }
  }
  return paths;
}

Result<std::vector<SampleFiles>> paired_samples(const std::string& folder, const std::string& kind,
                                                const std::vector<InputSpec>& inputs) {
  std::vector<SampleFiles> samples;
  std::string first;
  for (const InputSpec& input : inputs) {
    const std::optional<std::string> own = folder_of(folder, input);
    if (!own) return no_folder(folder, input, kind, inputs.size() == 1);
    QQ_TRY(const Names files, list_samples(*own, kind));
    if (files.empty()) return bad_data(no_samples(*own, kind));
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

}  // namespace

Result<std::vector<SampleFiles>> list_folder(const DataOptions& options, const std::vector<InputSpec>& inputs) {
  const std::string& folder = options.folder;
  if (!is_folder(folder)) return bad_data(folder, ": no such folder");
  const bool may_be_set = options.kind.empty() || options.kind == "pb";
  if (may_be_set && is_test_data_set(folder, inputs.size())) {
    QQ_TRY(SampleFiles sample, test_data_set(folder, "test_data_set", inputs));
    return std::vector<SampleFiles>{std::move(sample)};
  }
  const bool is_only_input = inputs.size() == 1;
  if (is_only_input || options.kind.empty() || options.kind == "npz") {  // files with all inputs
    QQ_TRY(const Names files, list_samples(folder, is_only_input ? options.kind : "npz"));
    if (!files.empty()) return samples_of(folder, files, inputs.size());
  }
  if (may_be_set) {
    QQ_TRY(std::vector<SampleFiles> sets, test_data_sets(folder, inputs));
    if (!sets.empty()) return sets;
  }
  return paired_samples(folder, options.kind, inputs);
}

}  // namespace quarkq::calib
