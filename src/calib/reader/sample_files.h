// SPDX-License-Identifier: MIT
// Which files make which sample: from a folder by its layout, or from a list file.
#pragma once

#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "calib/reader/file_tree.h"

namespace quarkq::calib {

/// The files of one sample: by input, then those that follow each other along the batch axis (mostly one).
struct SampleFiles {
  std::string name;
  std::vector<std::vector<std::string>> paths;
};

/// Returns the number of files in `folder` by suffix, as "2 x .webp, 1 x .txt", or "nothing" if it is empty.
std::string contents_text(const FileTree& tree, const std::string& folder);
/// Returns the number of photos of unsupported kinds in `folder`, by suffix, or an empty string if there are none.
std::string unreadable_photos(const FileTree& tree, const std::string& folder);

/// The samples of options.folder in natural order of their names; those of a folder per class are named
/// <class>/<sample>. Fails with kBadData when there are none, when kinds are mixed, or when an input has none.
Result<std::vector<SampleFiles>> list_folder(const FileTree& tree, DataOptions options,
                                             const std::vector<InputSpec>& inputs);

/// One file as a data set: an array whose first axis counts the samples when it has the rank of the input and more
/// rows than the input's batch, an archive (.npz) of such arrays, or one sample of any other kind.
Result<std::unique_ptr<DataReader>> open_single_file(const DataOptions& options, std::vector<InputSpec> inputs);

/// The samples that options.list_file names, in its order. Every file is there. Errors name the line.
Result<std::vector<SampleFiles>> read_list_file(const DataOptions& options, const std::vector<InputSpec>& inputs);

/// Refuses images (kBadData) for an input of floats when nothing says how pixels become its values.
Status check_images(const std::vector<SampleFiles>& samples, const DataOptions& options,
                    const std::vector<InputSpec>& inputs);

/// Groups of preprocess.batch samples, when there are images among their files. What is left over becomes a smaller
/// sample, or is left out, with a note, when the model's batch dimension is fixed.
Result<std::vector<SampleFiles>> stack_images(std::vector<SampleFiles> singles, const DataOptions& options,
                                              const std::vector<InputSpec>& inputs, std::vector<DataNote>& notes);
/// Adds a note if the settings say how to preprocess photos and none is among the samples.
void note_unused_recipe(const std::vector<SampleFiles>& samples, const DataOptions& options,
                        std::vector<DataNote>& notes);

}  // namespace quarkq::calib
