// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include "base/file_system.h"
#include "base/suggest.h"
#include "calib/data_reader.h"
#include "calib/npy.h"

namespace quarkq::calib {
namespace {

constexpr const char kSuffix[] = ".npy";

class NpyFolder : public DataReader {
 public:
  NpyFolder(std::vector<std::string> folders, std::vector<std::string> files, std::vector<InputSpec> inputs)
      : folders_(std::move(folders)), files_(std::move(files)), inputs_(std::move(inputs)) {}

  size_t size() const override { return files_.size(); }

  Result<Sample> read(size_t index) const override {
    Sample sample;
    sample.name = files_[index].substr(0, files_[index].size() - std::string(kSuffix).size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::string path = folders_[i] + "/" + files_[index];
      QQ_TRY(ir::Tensor tensor, read_npy(path));
      QQ_TRY(tensor, fit_to_input(std::move(tensor), inputs_[i], path));
      sample.inputs.push_back(std::move(tensor));
    }
    return sample;
  }

 private:
  std::vector<std::string> folders_;  ///< one per input
  std::vector<std::string> files_;    ///< the same names in every folder
  std::vector<InputSpec> inputs_;
};

/// An input's folder may write '_' for '/' and ':'.
std::string folder_name(std::string input) {
  std::replace(input.begin(), input.end(), '/', '_');
  std::replace(input.begin(), input.end(), ':', '_');
  return input;
}

Result<std::string> folder_of(const std::string& folder, const InputSpec& input) {
  for (const std::string& name : {input.name, folder_name(input.name)}) {
    if (is_folder(folder + "/" + name)) return folder + "/" + name;
  }
  QQ_TRY(const std::vector<std::string> folders, list_folders(folder));
  return bad_data(folder, ": no folder for input ", input.name, did_you_mean(input.name, folders),
                  " (found: ", folders.empty() ? "no folders" : join(folders, ", "), ")");
}

Status same_files(const std::vector<std::string>& first, const std::vector<std::string>& other,
                  const std::string& first_folder, const std::string& other_folder) {
  const std::set<std::string> a(first.begin(), first.end()), b(other.begin(), other.end());
  for (const std::string& name : a) {
    if (!b.contains(name)) return bad_data(other_folder, ": has no ", name, ", which ", first_folder, " has");
  }
  for (const std::string& name : b) {
    if (!a.contains(name)) return bad_data(first_folder, ": has no ", name, ", which ", other_folder, " has");
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<DataReader>> open_npy_folder(const std::string& folder, std::vector<InputSpec> inputs,
                                                    size_t limit) {
  if (!is_folder(folder)) return bad_data(folder, ": no such folder");
  if (inputs.empty()) return bad_data(folder, ": the model has no inputs to feed");
  std::vector<std::string> folders;
  QQ_TRY(std::vector<std::string> files, list_files(folder, kSuffix));
  if (inputs.size() == 1 && !files.empty()) {
    folders = {folder};
  } else if (inputs.size() == 1 && !is_folder(folder + "/" + inputs[0].name) &&
             !is_folder(folder + "/" + folder_name(inputs[0].name))) {
    QQ_TRY(const std::vector<std::string> found, list_folders(folder));
    return bad_data(folder, ": no .npy files here",
                    found.empty() ? ""
                                  : cat(", and no folder for input ", inputs[0].name,
                                        did_you_mean(inputs[0].name, found), " (found: ", join(found, ", "), ")"));
  } else {
    for (const InputSpec& input : inputs) {
      QQ_TRY(const std::string own, folder_of(folder, input));
      QQ_TRY(std::vector<std::string> own_files, list_files(own, kSuffix));
      if (own_files.empty()) return bad_data(own, ": no .npy files here");
      if (!folders.empty()) QQ_RETURN_IF_ERROR(same_files(files, own_files, folders[0], own));
      if (folders.empty()) files = std::move(own_files);
      folders.push_back(own);
    }
  }
  if (limit > 0 && files.size() > limit) files.resize(limit);
  return std::unique_ptr<DataReader>(new NpyFolder(std::move(folders), std::move(files), std::move(inputs)));
}

}  // namespace quarkq::calib
