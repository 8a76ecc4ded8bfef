// SPDX-License-Identifier: MIT
// List files: a sample per line, as one path or as name=path for each input. Quotes keep spaces, '#' begins a comment.
#include "calib/reader/sample_files.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/file_system.h"
#include "base/parse_text.h"
#include "base/paths.h"
#include "base/strings.h"
#include "calib/reader/file_formats.h"
#include "config/preprocess.h"

namespace quarkq::calib {

namespace {

/// Returns the part of a word that a message may quote: the end of a path with the suffix of a sample, or of a file
/// that is often mistaken for one. A settings file can name any file as a list, and the other lines of that file must
/// not reach a log that more people can read.
std::string shown(const std::string& word) {
  constexpr std::string_view kTexts[] = {".txt", ".csv", ".json", ".yaml", ".yml"};
  constexpr size_t kMost = 100;  // bytes
  const auto is_end = [&](std::string_view suffix) { return word.ends_with(suffix); };
  if (format_of(word, "") == nullptr && std::ranges::none_of(kTexts, is_end))
    return "a word without a suffix of samples";
  const bool is_long = word.size() > kMost;
  return printable(is_long ? "..." + word.substr(word.size() - kMost) : word);
}

class LineReader {
 public:
  LineReader(const DataOptions& options, const std::vector<InputSpec>& inputs) : options_(options), inputs_(inputs) {}

  Result<SampleFiles> sample_of(const std::vector<std::string>& words) const {
    SampleFiles sample;
    sample.paths.resize(inputs_.size());
    if (words.size() == 1 && input_of(words[0]) == nullptr) {
      QQ_TRY(const std::string path, checked_path(words[0], /*is_whole_sample=*/true));
      sample.paths.assign(inputs_.size(), {path});
    } else {
      for (const std::string& word : words) QQ_RETURN_IF_ERROR(read_pair(word, sample));
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (sample.paths[i].empty()) return bad_data("no file for input ", inputs_[i].name);
    }
    sample.name = stem_of(sample.paths[0][0]);
    return sample;
  }

 private:
  /// The input that a word name=path is for; null when it is none.
  const InputSpec* input_of(const std::string& word) const {
    for (const InputSpec& input : inputs_) {
      for (const std::string& name : spellings_of(input)) {
        if (word.starts_with(name + "=")) return &input;
      }
    }
    return nullptr;
  }

  Status read_pair(const std::string& word, SampleFiles& sample) const {
    const InputSpec* input = input_of(word);
    if (input == nullptr) {
      std::vector<std::string> names;
      for (const InputSpec& one : inputs_) names.push_back(one.name);
      const std::string name = word.substr(0, word.find('='));
      return bad_data("found ", shown(word), did_you_mean(name, names), ", needed is <input>=<file> with the inputs ",
                      join(names, ", "));
    }
    auto& paths = sample.paths[static_cast<size_t>(input - inputs_.data())];
    if (!paths.empty()) return bad_data("two files for input ", input->name);
    QQ_TRY(const std::string path, checked_path(word.substr(input->name.size() + 1), /*is_whole_sample=*/false));
    paths.push_back(path);
    return Status();
  }

  Result<std::string> checked_path(const std::string& text, bool is_whole_sample) const {
    const std::string path = paths::joined(paths::folder_of(options_.list_file), text);
    const FileFormat* format = format_of(path, options_.kind);
    if (format == nullptr)
      return bad_data(shown(text), ": not a sample file, allowed are ", suffixes_text(options_.kind));
    if (!file_exists(path)) return bad_data(shown(path), ": no such file");
    if (is_whole_sample && inputs_.size() > 1 && !format->has_all_inputs) {
      return bad_data(shown(text), ": one file for ", inputs_.size(),
                      " inputs must be .npz; otherwise specify <input>=<file> for each");
    }
    return path;
  }

  const DataOptions& options_;
  const std::vector<InputSpec>& inputs_;
};

/// Makes sample names unique, because results are named after them: files with the same name in several folders get the
/// name of their folder, and a number if that is not enough.
void tell_apart(std::vector<SampleFiles>& samples, const std::string& folder) {
  std::map<std::string, int> uses;
  for (const SampleFiles& sample : samples) ++uses[sample.name];
  std::set<std::string> taken;
  for (SampleFiles& sample : samples) {
    if (uses[sample.name] > 1) {
      const std::string path = paths::relative_to(sample.paths[0][0], folder);
      const bool is_below = !path.empty() && path != ".." && !path.starts_with("../");
      if (is_below) sample.name = paths::with_slashes(paths::joined(paths::folder_of(path), sample.name));
    }
    const std::string name = sample.name;
    for (int number = 2; !taken.insert(sample.name).second; ++number) sample.name = cat(name, "_", number);
  }
}

}  // namespace

Result<std::vector<SampleFiles>> read_list_file(const DataOptions& options, const std::vector<InputSpec>& inputs) {
  const Result<std::string> text = read_text_file(options.list_file);
  if (!text.ok()) return bad_data(text.status().message());
  const LineReader reader(options, inputs);
  std::vector<SampleFiles> samples;
  size_t number = 0;
  for (const std::string& line : split(text.value(), '\n')) {
    const std::string place = cat(options.list_file, ":", ++number);
    QQ_TRY(const std::vector<std::string> words, quoted_words(line).context(place));
    if (words.empty()) continue;
    QQ_TRY(SampleFiles sample, reader.sample_of(words).context(place));
    samples.push_back(std::move(sample));
  }
  if (samples.empty()) return bad_data(options.list_file, ": names no samples");
  tell_apart(samples, paths::folder_of(options.list_file));
  return samples;
}

// Images among the samples: whether they can be read, and several of them as one sample (preprocess.batch).

namespace {

bool is_image(const std::string& path, const std::string& kind) {
  const FileFormat* format = format_of(path, kind);
  return format != nullptr && std::string_view(format->kind) == "image";
}

bool has_images(const std::vector<SampleFiles>& samples, const DataOptions& options) {
  return std::any_of(samples.begin(), samples.end(), [&](const SampleFiles& sample) {
    return std::any_of(sample.paths.begin(), sample.paths.end(),
                       [&](const auto& paths) { return is_image(paths[0], options.kind); });
  });
}

}  // namespace

Status check_images(const std::vector<SampleFiles>& samples, const DataOptions& options,
                    const std::vector<InputSpec>& inputs) {
  if (options.preprocess) return {};
  for (const SampleFiles& sample : samples) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& path = sample.paths[i][0];
      if (is_integer(inputs[i].type) || !is_image(path, options.kind)) continue;
      return bad_data(path, ": an image, and the settings do not specify how its pixels become input ", inputs[i].name,
                      " (", name(inputs[i].type), "); pass --preprocess with the recipe of the model's training (",
                      config::recipe_names(), "; raw is the pixels 0..255 as they are), or a block preprocess: in the ",
                      "settings");
    }
  }
  return {};
}

void note_unused_recipe(const std::vector<SampleFiles>& samples, const DataOptions& options,
                        std::vector<DataNote>& notes) {
  if (!options.preprocess || has_images(samples, options)) return;
  notes.push_back({"option-no-effect", "preprocess",
                   "applies to photos; these samples are arrays, whose values are taken as they are"});
}

Result<std::vector<SampleFiles>> stack_images(std::vector<SampleFiles> singles, const DataOptions& options,
                                              const std::vector<InputSpec>& inputs, std::vector<DataNote>& notes) {
  const auto batch = static_cast<size_t>(options.preprocess ? std::max<int64_t>(options.preprocess->batch, 1) : 1);
  if (batch == 1 || !has_images(singles, options)) return singles;
  const bool is_fixed = std::any_of(inputs.begin(), inputs.end(), [](const InputSpec& input) {
    return input.has_shape && !input.dims.empty() && input.dims[0] >= 0;
  });
  std::vector<SampleFiles> stacked;
  for (size_t i = 0; i < singles.size(); ++i) {
    if (i % batch == 0) {
      if (is_fixed && singles.size() - i < batch) {
        const size_t rest = singles.size() - i;
        notes.push_back({"samples-left-out", options.folder.empty() ? options.list_file : options.folder,
                         cat("the last ", rest, rest == 1 ? " photo does" : " photos do", " not fill a batch of ",
                             batch, ", which the model's shape fixes, and ", rest == 1 ? "is" : "are", " left out")});
        break;
      }
      stacked.push_back(std::move(singles[i]));
      continue;
    }
    for (size_t k = 0; k < inputs.size(); ++k) stacked.back().paths[k].push_back(std::move(singles[i].paths[k][0]));
  }
  if (stacked.empty()) {
    return bad_data(options.folder.empty() ? options.list_file : options.folder, ": holds ", singles.size(),
                    " images, preprocess.batch: ", batch, " needs as many for one sample");
  }
  return stacked;
}

}  // namespace quarkq::calib
