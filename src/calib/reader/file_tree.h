// SPDX-License-Identifier: MIT
// Location of sample files: on disk, or in an archive that is read like a folder.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::calib {

/// Bytes that stay valid as long as `owner` exists.
struct FileBytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  size_t size = 0;
};

/// Paths begin with the path of the archive, or are paths on disk. Lists are sorted like list_files().
class FileTree {
 public:
  virtual ~FileTree() = default;
  /// Returns the names of the files and folders directly in `folder`.
  virtual Result<std::vector<std::string>> files(const std::string& folder) const = 0;
  virtual Result<std::vector<std::string>> folders(const std::string& folder) const = 0;
  virtual bool has_file(const std::string& path) const = 0;
  virtual bool has_folder(const std::string& path) const = 0;
  /// Fails with kBadData naming the file. Thread-safe.
  virtual Result<FileBytes> open(const std::string& path) const = 0;
};

std::shared_ptr<const FileTree> disk_tree();

/// Returns whether the name is an archive: .tar, .tar.gz, .tgz.
bool is_tar_name(const std::string& path);
/// Opens the archive at `path`. A compressed archive is unpacked to an anonymous temporary file, so memory does not
/// grow with its size. Fails with kBadData for any fault.
Result<std::shared_ptr<const FileTree>> open_tar(const std::string& path);

}  // namespace quarkq::calib
