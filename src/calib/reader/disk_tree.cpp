// SPDX-License-Identifier: MIT
#include "base/file_system.h"
#include "calib/reader/file_tree.h"

namespace quarkq::calib {
namespace {

class DiskTree : public FileTree {
 public:
  Result<std::vector<std::string>> files(const std::string& folder) const override { return list_files(folder, ""); }
  Result<std::vector<std::string>> folders(const std::string& folder) const override { return list_folders(folder); }
  bool has_file(const std::string& path) const override { return file_exists(path); }
  bool has_folder(const std::string& path) const override { return is_folder(path); }
  Result<FileBytes> open(const std::string& path) const override {
    const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
    if (!file.ok()) return bad_data(file.status().message());
    return FileBytes{file.value(), file.value()->data(), file.value()->size()};
  }
};

}  // namespace

std::shared_ptr<const FileTree> disk_tree() { return std::make_shared<DiskTree>(); }

}  // namespace quarkq::calib
