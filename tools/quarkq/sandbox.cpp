// SPDX-License-Identifier: MIT
#include "sandbox.h"

#include <set>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/platform/sandbox.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

/// Options that need another process.
constexpr std::string_view kForbidden[] = {"--metric-cmd", "--max-memory"};

std::string folder_of(const std::string& file) {
  const std::string folder = paths::folder_of(file);
  return folder.empty() ? "." : folder;
}

Result<std::set<std::string>> output_folders(const CLI::App& verb) {
  std::set<std::string> folders;
  if (std::string temporary = paths::temporary_folder(); !temporary.empty()) folders.insert(std::move(temporary));
  for (const auto& [path, place] : outputs_of(verb)) {
    if (place == Place::kFolder) QQ_RETURN_IF_ERROR(paths::make_folders(path));
    const std::string folder = place == Place::kFolder ? path : folder_of(path);
    if (is_folder(folder)) folders.insert(folder);  // the verb complains about one that is not there
  }
  return folders;
}

}  // namespace

void add_sandbox_option(CLI::App& app, bool& is_sandboxed) {
  app.add_flag("--sandbox", is_sandboxed,
               "Write only in the folders of results, without network and other programs, even if a file exploits this "
               "program (SECURITY.md)");
}

Status enter_sandbox(const CLI::App& verb) {
  for (const std::string_view option : kForbidden) {
    if (!value_of(verb, option).empty())
      return invalid_argument("--sandbox: found together with ", option, ", which needs a second process");
  }
  QQ_TRY(const std::set<std::string> folders, output_folders(verb));
  return platform::drop_rights(folders);
}

}  // namespace quarkq::tool
