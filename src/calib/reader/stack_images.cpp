// SPDX-License-Identifier: MIT
// Images among the samples: whether they can be read, and several of them as one sample (preprocess.batch).
#include <algorithm>

#include "calib/reader/file_formats.h"
#include "calib/reader/sample_files.h"
#include "config/preprocess_recipes.h"

namespace quarkq::calib {
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
      return bad_data(path, ": an image, and the settings do not say how its pixels become input ", inputs[i].name,
                      " (", name(inputs[i].type), "); give --preprocess with the recipe of the model's training (",
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
