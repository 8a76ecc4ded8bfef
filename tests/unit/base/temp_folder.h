// SPDX-License-Identifier: MIT
// A folder of its own for one test; it is removed with the object.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/platform/files.h"

namespace quarkq::test {

class TempFolder {
 public:
  TempFolder() {
    EXPECT_TRUE(platform::make_temporary_folder(path_));
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Path of `name` inside; folders on the way are made.
  std::string operator/(const std::string& name) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    return path.string();
  }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const {
    std::string path = *this / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  /// Names of everything directly inside.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      found.push_back(entry.path().filename().string());
    return found;
  }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace quarkq::test
