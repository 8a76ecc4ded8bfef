// SPDX-License-Identifier: MIT
#include "onnx_io/data_place.h"

#include <filesystem>
#include <string_view>

#include "base/file_system.h"

namespace quarkq::onnx_io {
namespace {

namespace fs = std::filesystem;

/// The model file at a path, as bytes: names of data files stand in it as they are.
class OldModel {
 public:
  explicit OldModel(const std::string& path) {
    if (file_exists(path)) file_ = MappedFile::open(path);
  }
  bool reads(const std::string& location) const {
    if (!file_.ok() || file_.value() == nullptr) return false;
    const MappedFile& file = *file_.value();
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    const bool is_short = location.size() < 128;  // the length before the name is one byte
    for (size_t at = bytes.find(location); at != std::string_view::npos; at = bytes.find(location, at + 1)) {
      // Names of two files may end in the same letters; their lengths tell them apart.
      if (!is_short || (at > 0 && static_cast<unsigned char>(bytes[at - 1]) == location.size())) return true;
    }
    return false;
  }

 private:
  Result<std::shared_ptr<const MappedFile>> file_ = std::shared_ptr<const MappedFile>();
};

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code error;
  return !b.empty() && fs::equivalent(folder_of(a), folder_of(b), error);
}

}  // namespace

std::string beside(const std::string& path, const std::string& name) {
  return (fs::path(path).parent_path() / name).string();
}

Result<DataPlace> choose_data_place(const std::string& path, const std::string& input) {
  const std::string stem = fs::path(path).filename().string();
  const OldModel old(path), read_now(is_same_folder(path, input) ? input : "");
  for (int number = 0;; ++number) {
    const std::string base = number == 0 ? stem : cat(stem, ".", number);
    const std::string location = base + ".data", passing = base + ".quarkq-new.data";
    const std::string file = beside(path, location);
    if (number == 0 && is_folder(file))
      return invalid_argument(file, ": is a folder, cannot be written as a data file");
    if (read_now.reads(location) || read_now.reads(passing)) continue;
    if (old.reads(location)) return DataPlace{location, passing, {}};
    // A run that was killed while it replaced this model leaves it reading the second name.
    if (old.reads(passing)) return DataPlace{location, {}, passing};
    std::error_code error;
    if (!fs::exists(fs::symlink_status(file, error))) return DataPlace{location, {}, {}};
  }
}

}  // namespace quarkq::onnx_io
