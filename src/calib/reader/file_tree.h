// SPDX-License-Identifier: MIT
// Where sample files are: on the disk, or in an archive that is read as if it were a folder.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::calib {

/// Bytes that stay valid as long as `owner` lives.
struct FileBytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  size_t size = 0;
};

/// Paths begin with that of the archive, or are those of the disk. Lists are sorted as list_files() sorts.
class FileTree {
 public:
  virtual ~FileTree() = default;
  /// Names of the files and folders directly in `folder`.
  virtual Result<std::vector<std::string>> files(const std::string& folder) const = 0;
  virtual Result<std::vector<std::string>> folders(const std::string& folder) const = 0;
  virtual bool has_file(const std::string& path) const = 0;
  virtual bool has_folder(const std::string& path) const = 0;
  /// Fails with kBadData naming the file. Safe to call from several threads.
  virtual Result<FileBytes> open(const std::string& path) const = 0;
};

std::shared_ptr<const FileTree> disk_tree();

/// An archive by its name: .tar, .tar.gz, .tgz.
bool is_tar_name(const std::string& path);
/// The archive at `path`. A compressed one is unpacked into a temporary file without a name, so memory does not grow
/// with its size. kBadData for any fault with it.
Result<std::shared_ptr<const FileTree>> open_tar(const std::string& path);

}  // namespace quarkq::calib
