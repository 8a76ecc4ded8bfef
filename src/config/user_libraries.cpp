// SPDX-License-Identifier: MIT
#include "config/user_libraries.h"

#include <filesystem>

#include "base/file_system.h"
#include "config/convert.h"

namespace quarkq::config {
namespace {

constexpr const char* kLibraries = "UserCustomOpLibPath";

Status add_libraries(const std::string& path, std::vector<std::string>& files) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    if (!file_exists(path)) return invalid_argument(kLibraries, ": ", path, " is not there");
    files.push_back(std::filesystem::absolute(path, error).string());
    return {};
  }
  QQ_TRY(const std::vector<std::string> names, list_files(path, ".so"));
  if (names.empty()) return invalid_argument(kLibraries, ": the folder ", path, " holds no .so file");
  const std::filesystem::path folder = std::filesystem::absolute(path, error);
  for (const std::string& name : names) files.push_back((folder / name).string());
  return {};
}

}  // namespace

Result<std::vector<std::string>> user_libraries(const QuantConfig& config) {
  std::vector<std::string> files;
  const std::optional<Node>& asked = config.options.user_custom_op_lib_path;
  if (!asked || asked->is_null()) return files;
  if (config.origin_of(kLibraries) == Origin::kFile)
    return invalid_argument(kLibraries, ": found in a settings file, which may not name code to run; ",
                            "allowed is --set ", kLibraries, "=... on the command line");
  if (asked->is_text()) {
    QQ_RETURN_IF_ERROR(add_libraries(asked->as_text(), files));
    return files;
  }
  QQ_TRY(const std::vector<std::string> paths, read<std::vector<std::string>>(*asked, kLibraries));
  for (const std::string& path : paths) QQ_RETURN_IF_ERROR(add_libraries(path, files));
  return files;
}

}  // namespace quarkq::config
