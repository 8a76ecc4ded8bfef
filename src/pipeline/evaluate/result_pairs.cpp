// SPDX-License-Identifier: MIT
#include "pipeline/evaluate/result_pairs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file_system.h"
#include "calib/image/decode_image.h"
#include "calib/npy.h"
#include "calib/reader/file_formats.h"
#include "pipeline/facts.h"

namespace quarkq::pipeline {
namespace {

constexpr const char* kImage = "image";
constexpr uint64_t kSmallFile = 256 << 10;
constexpr size_t kMaxDepth = 16;  // bounds the recursion

/// "npy" or "image"; empty for what holds no result.
std::string kind_of(const std::string& name) {
  if (name.starts_with('.')) return "";  // hidden files that some systems create
  const calib::FileFormat* format = calib::format_of(name, "");
  const std::string kind = format == nullptr ? "" : format->kind;
  return kind == "npy" || kind == kImage ? kind : "";
}

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.ends_with('/') ? folder + name : folder + "/" + name;
}

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

/// The results below one of the two folders.
class Walk {
 public:
  /// `other` is the second folder: when it is inside `root`, its files are not results of `root`.
  Walk(const std::string& root, const std::string& other) : root_(root), other_(other) {
    std::error_code error;
    auto folder = std::filesystem::canonical(root, error);
    while (folder.has_relative_path()) {
      folder = folder.parent_path();
      above_.push_back(folder);
    }
    first_ = above_.size();
  }

  /// Adds the results below `root`/`inner` as paths below `root`.
  Status collect(const std::string& inner) {
    const std::string folder = inner.empty() ? root_ : join_path(root_, inner);
    const auto is_this = [&](const std::string& one) { return is_same_folder(folder, one); };
    if (!inner.empty() && is_this(other_)) return Status();
    if (std::any_of(above_.begin(), above_.end(), is_this)) return Status();  // a link that leads back
    if (above_.size() - first_ > kMaxDepth) return bad_data(folder, ": is more than ", kMaxDepth, " folders deep");
    QQ_TRY(const std::vector<std::string> files, list_files(folder, ""));
    for (const std::string& file : files) {
      if (!kind_of(file).empty()) names_.push_back(join_path(inner, file));
    }
    QQ_TRY(const std::vector<std::string> folders, list_folders(folder));
    above_.push_back(folder);
    for (const std::string& one : folders) QQ_RETURN_IF_ERROR(collect(join_path(inner, one)));
    above_.pop_back();
    return Status();
  }

  std::vector<std::string> take_names() { return std::move(names_); }

 private:
  const std::string &root_, &other_;
  std::vector<std::string> above_;  ///< the folders that the walk is in, those around the root included
  size_t first_ = 0;                ///< of the root in above_
  std::vector<std::string> names_;
};

Result<std::vector<std::string>> results_below(const std::string& root, const std::string& other) {
  Walk walk(root, other);
  QQ_RETURN_IF_ERROR(walk.collect(""));
  return walk.take_names();
}

bool is_deeper(const std::string& name) { return name.find('/') != std::string::npos; }

/// Small files are read rather than mapped: mapping costs more than the copy, and threads wait for each other in it.
Result<ir::Tensor> read_npy(const std::string& path) {
  const uint64_t bytes = file_size(path);
  if (bytes == 0 || bytes > kSmallFile) return calib::read_npy(path);
  const Result<std::string> file = read_text_file(path, kSmallFile);
  if (!file.ok()) return bad_data(file.status().message());
  return calib::parse_npy(reinterpret_cast<const std::byte*>(file.value().data()), file.value().size(), path);
}

Result<ir::Tensor> read_array(const std::string& path, bool is_image) {
  if (!is_image) return read_npy(path);
  QQ_TRY(const calib::Image image, calib::decode_image(path, /*channels=*/3));
  return ir::Tensor::from<uint8_t>({image.height, image.width, image.channels}, image.pixels);
}

}  // namespace

Result<ResultPairs> find_result_pairs(const std::string& baseline_folder, const std::string& quantized_folder,
                                      bool only_top) {
  for (const std::string& folder : {baseline_folder, quantized_folder}) {
    if (!is_folder(folder)) return bad_data(folder, ": no such folder");
  }
  QQ_TRY(std::vector<std::string> baseline, results_below(baseline_folder, quantized_folder));
  QQ_TRY(const std::vector<std::string> quantized, results_below(quantized_folder, baseline_folder));
  if (baseline.empty()) {
    return bad_data(baseline_folder,
                    ": no results to compare, .npy, .png, .jpg or .jpeg files are needed in it or deeper");
  }
  if (only_top && !std::all_of(baseline.begin(), baseline.end(), is_deeper)) std::erase_if(baseline, is_deeper);
  ResultPairs found;
  std::set<std::string> others(quantized.begin(), quantized.end());
  for (const std::string& name : baseline) {
    found.pairs.push_back({name, join_path(baseline_folder, name), join_path(quantized_folder, name),
                           others.erase(name) == 0, kind_of(name.substr(name.rfind('/') + 1)) == kImage});
  }
  for (const std::string& name : quantized) {
    if (others.contains(name)) found.extra.push_back(name);
  }
  return found;
}

Result<ResultArrays> read_result_pair(const ResultPair& pair) {
  if (pair.is_missing) {
    return bad_data(pair.quantized_path, ": no such file, it is needed beside ", pair.baseline_path);
  }
  QQ_TRY(ir::Tensor baseline, read_array(pair.baseline_path, pair.is_image));
  QQ_TRY(ir::Tensor quantized, read_array(pair.quantized_path, pair.is_image));
  return ResultArrays{std::move(baseline), std::move(quantized)};
}

}  // namespace quarkq::pipeline
