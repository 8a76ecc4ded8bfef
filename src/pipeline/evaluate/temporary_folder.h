// SPDX-License-Identifier: MIT
// A folder of its own that disappears with what is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/error.h"

namespace quarkq::pipeline {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "quarkq-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) return io_error(path, ": cannot make this folder");
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace quarkq::pipeline
