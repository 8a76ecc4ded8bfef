// SPDX-License-Identifier: MIT
// Several images as one sample: preprocess.batch.
#include <algorithm>

#include "calib/reader/file_formats.h"
#include "calib/reader/sample_files.h"

namespace quarkq::calib {
namespace {

bool is_image(const std::string& path, const std::string& kind) {
  const FileFormat* format = format_of(path, kind);
  return format != nullptr && std::string_view(format->kind) == "image";
}

}  // namespace

Result<std::vector<SampleFiles>> stack_images(std::vector<SampleFiles> singles, const DataOptions& options,
                                              const std::vector<InputSpec>& inputs) {
  const auto batch = static_cast<size_t>(std::max<int64_t>(options.preprocess.batch, 1));
  const bool has_images = std::any_of(singles.begin(), singles.end(), [&](const SampleFiles& sample) {
    return std::any_of(sample.paths.begin(), sample.paths.end(),
                       [&](const auto& paths) { return is_image(paths[0], options.kind); });
  });
  if (batch == 1 || !has_images) return singles;
  const bool is_fixed = std::any_of(inputs.begin(), inputs.end(), [](const InputSpec& input) {
    return input.has_shape && !input.dims.empty() && input.dims[0] >= 0;
  });
  std::vector<SampleFiles> stacked;
  for (size_t i = 0; i < singles.size(); ++i) {
    if (i % batch == 0) {
      if (is_fixed && singles.size() - i < batch) break;
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
