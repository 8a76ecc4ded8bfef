// SPDX-License-Identifier: MIT
// Assignment of files to samples: from a folder by its layout, or from a list file.
#pragma once

#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "calib/reader/file_tree.h"

namespace quarkq::calib {

/// The files of one sample: by input, then along the batch axis (usually one).
struct SampleFiles {
  std::string name;
  std::vector<std::vector<std::string>> paths;
};

/// Returns the number of files in `folder` by suffix, as "2 x .webp, 1 x .txt", or "nothing" if it is empty.
std::string contents_text(const FileTree& tree, const std::string& folder);
/// Returns the number of photos of unsupported kinds in `folder`, by suffix, or an empty string if there are none.
std::string unreadable_photos(const FileTree& tree, const std::string& folder);

/// Returns the samples of options.folder in natural order of their names; samples in class folders are named
/// <class>/<sample>. Fails with kBadData if there are none, if kinds are mixed, or if an input has none.
Result<std::vector<SampleFiles>> list_folder(const FileTree& tree, DataOptions options,
                                             const std::vector<InputSpec>& inputs);

/// Opens one file as a data set: an array whose first axis counts the samples if it has the rank of the input and more
/// rows than the input's batch, an archive (.npz) of such arrays, or one sample of any other kind.
Result<std::unique_ptr<DataReader>> open_single_file(const DataOptions& options, std::vector<InputSpec> inputs);

/// Returns the samples named in options.list_file, in its order. Fails if a file does not exist. Errors name the line.
Result<std::vector<SampleFiles>> read_list_file(const DataOptions& options, const std::vector<InputSpec>& inputs);

/// Fails with kBadData for images of a float input if no setting specifies the conversion of pixels to its values.
Status check_images(const std::vector<SampleFiles>& samples, const DataOptions& options,
                    const std::vector<InputSpec>& inputs);

/// Groups preprocess.batch samples if there are images among their files. The remaining samples form a smaller sample,
/// or are not used, with a note, if the model's batch dimension is fixed.
Result<std::vector<SampleFiles>> stack_images(std::vector<SampleFiles> singles, const DataOptions& options,
                                              const std::vector<InputSpec>& inputs, std::vector<DataNote>& notes);
/// Adds a note if the settings specify preprocessing of photos and there are no photos among the samples.
void note_unused_recipe(const std::vector<SampleFiles>& samples, const DataOptions& options,
                        std::vector<DataNote>& notes);

}  // namespace quarkq::calib
