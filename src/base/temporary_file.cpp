// SPDX-License-Identifier: MIT
#include "base/temporary_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file_system.h"

namespace quarkq {

Result<int> open_temporary_file(const std::string& given) {
  std::error_code error;
  const std::filesystem::path system = std::filesystem::temp_directory_path(error);
  const std::string folder = !given.empty() ? given : error ? "." : system.string();
  const int file = open_nameless_file(folder);
  if (file < 0) return io_error(folder, ": cannot make a temporary file here, ", std::strerror(errno));
  return file;
}

}  // namespace quarkq
