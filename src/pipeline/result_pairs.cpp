// SPDX-License-Identifier: MIT
#include "pipeline/result_pairs.h"

#include "base/file_system.h"
#include "calib/npy.h"

namespace quarkq::pipeline {
namespace {

constexpr const char kSuffix[] = ".npy";

std::string in_folder(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

/// Names of the .npy files below `folder`: its own, or one level deeper when it has none.
Result<std::vector<std::string>> result_names(const std::string& folder) {
  QQ_TRY(std::vector<std::string> names, list_files(folder, kSuffix));
  if (!names.empty()) return names;
  QQ_TRY(const std::vector<std::string> outputs, list_folders(folder));
  for (const std::string& output : outputs) {
    QQ_TRY(const std::vector<std::string> files, list_files(in_folder(folder, output), kSuffix));
    for (const std::string& file : files) names.push_back(output + "/" + file);
  }
  return names;
}

}  // namespace

Result<std::vector<ResultPair>> find_result_pairs(const std::string& baseline_folder,
                                                  const std::string& quantized_folder) {
  for (const std::string& folder : {baseline_folder, quantized_folder}) {
    if (!is_folder(folder)) return bad_data(folder, ": no such folder");
  }
  QQ_TRY(const std::vector<std::string> names, result_names(baseline_folder));
  if (names.empty())
    return bad_data(baseline_folder, ": no results to compare, .npy files are needed here or one folder deeper");
  std::vector<ResultPair> pairs;
  for (const std::string& name : names) {
    ResultPair pair{name, in_folder(baseline_folder, name), in_folder(quantized_folder, name)};
    if (!file_exists(pair.quantized_path)) {
      return bad_data(pair.quantized_path, ": no such file, it is needed beside ", pair.baseline_path);
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Result<ResultArrays> read_result_pair(const ResultPair& pair) {
  QQ_TRY(ir::Tensor baseline, calib::read_npy(pair.baseline_path));
  QQ_TRY(ir::Tensor quantized, calib::read_npy(pair.quantized_path));
  if (baseline.dims() != quantized.dims()) {
    return bad_data(pair.quantized_path, ": shape ", shape_text(quantized.dims()), ", ", pair.baseline_path, " has ",
                    shape_text(baseline.dims()));
  }
  if (baseline.size() == 0)
    return bad_data(pair.baseline_path, ": holds no values, shape ", shape_text(baseline.dims()));
  return ResultArrays{std::move(baseline), std::move(quantized)};
}

}  // namespace quarkq::pipeline
