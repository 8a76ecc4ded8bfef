// SPDX-License-Identifier: MIT
// quarkq skill install: writes the page about quarkq where coding assistants look for it in a project.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/strings.h"
#include "command_tree.h"
#include "output.h"
#include "quarkq/status.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

/// Where each assistant looks for skills, and a folder of the project that shows that it is used. Sources, November
/// 2026: code.claude.com/docs/en/skills, developers.openai.com/codex/skills, cursor.com/docs/skills.
constexpr struct Agent {
  std::string_view name, path, sign;
} kAgents[] = {
    {"claude", ".claude/skills/quarkq/SKILL.md", ".claude"},
    {"codex", ".agents/skills/quarkq/SKILL.md", ".agents"},
    {"cursor", ".cursor/skills/quarkq/SKILL.md", ".cursor"},
};

constexpr std::string_view kMark = "<!-- written by quarkq ";
constexpr std::string_view kMarkEnd = "; quarkq skill install replaces this file unless it was changed -->\n";

struct SkillArgs {
  std::vector<std::string> agents;
  std::string folder = ".";
  bool force = false;
};

std::string hash_of(std::string_view text) {
  ContentHash hash;
  hash.add(text);
  return hash.text();
}

/// Returns the page and a last line with its hash, by which a later version recognizes a page without changes.
std::string marked_page() {
  const std::string page = embedded_skills().front().text;
  return cat(page, kMark, version(), ", ", hash_of(page), kMarkEnd);
}

/// Returns whether the text is a page as some version wrote it.
bool is_unchanged(std::string_view text) {
  const size_t mark = text.rfind(kMark);
  if (mark == std::string_view::npos) return false;
  const std::string end = cat(", ", hash_of(text.substr(0, mark)), kMarkEnd);
  return text.substr(mark).ends_with(end);
}

/// Fails with kInvalidArgument if the file at this path was changed by the user.
Status check_place(const std::string& path) {
  if (!paths::is_taken(path)) return Status();
  constexpr size_t kMostBytes = size_t{1} << 20;
  const Result<std::string> there = read_text_file(path, kMostBytes);
  if (there.ok() && is_unchanged(there.value())) return Status();
  return invalid_argument(path, ": was changed, or not written by quarkq skill install; pass --force to replace it");
}

Result<std::vector<std::string>> chosen_paths(const SkillArgs& args) {
  std::vector<std::string> found, names;
  for (const Agent& agent : kAgents) {
    names.emplace_back(agent.name);
    const bool is_asked = std::ranges::find(args.agents, agent.name) != args.agents.end();
    const bool is_used = args.agents.empty() && is_folder(cat(args.folder, "/", agent.sign));
    if (is_asked || is_used) found.push_back(cat(args.folder, "/", agent.path));
  }
  for (const std::string& name : args.agents)
    if (std::ranges::find(names, name) == names.end())
      return invalid_argument("skill install: found ", name, ", allowed are ", join(names, ", "),
                              did_you_mean(name, names));
  if (found.empty())
    return invalid_argument(args.folder,
                            ": has no folder .claude, .agents or .cursor; name the assistant: ", join(names, ", "));
  return found;
}

/// Folders that this run makes. Those that are empty at the end are removed, the deepest first.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders() {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      if (is_empty(*made)) paths::remove(*made);
    }
  }

  Status make(const std::string& folder) {
    std::vector<std::string> missing;
    for (std::string one = folder; !paths::is_taken(one); one = paths::folder_of(one)) missing.push_back(one);
    made_.insert(made_.end(), missing.rbegin(), missing.rend());
    return paths::make_folders(folder);
  }

 private:
  static bool is_empty(const std::string& folder) {
    const auto files = list_files(folder, ""), folders = list_folders(folder);
    return files.ok() && folders.ok() && files.value().empty() && folders.value().empty();
  }
  std::vector<std::string> made_;
};

/// Checks every place, and writes every page, before the first one gets its name.
Status run_install(const SkillArgs& args) {
  if (!is_folder(args.folder)) return invalid_argument(args.folder, ": no such folder");
  QQ_TRY(const std::vector<std::string> places, chosen_paths(args));
  if (!args.force)
    for (const std::string& place : places) QQ_RETURN_IF_ERROR(check_place(place));
  const std::string page = marked_page();
  NewFolders folders;
  std::vector<AtomicFile> files;
  for (const std::string& place : places) {
    QQ_RETURN_IF_ERROR(folders.make(paths::folder_of(place)));
    QQ_TRY(AtomicFile file, AtomicFile::create(place));
    QQ_RETURN_IF_ERROR(file.write(page.data(), page.size()));
    files.push_back(std::move(file));
  }
  for (AtomicFile& file : files) QQ_RETURN_IF_ERROR(file.commit());
  if (is_quiet()) return Status();
  for (const std::string& place : places) print_line(cat("written    ", place));
  return Status();
}

}  // namespace

Run setup_skill(CLI::App& app) {
  auto args = std::make_shared<SkillArgs>();
  app.require_subcommand(1);
  CLI::App* install = app.add_subcommand("install", "write the page where the assistant looks for it");
  install->add_option("AGENT", args->agents,
                      "claude, codex or cursor (default: those that the project has a folder of)");
  install->add_option("--folder", args->folder, "The project (default: the current folder)")->type_name("DIR");
  install->add_flag("--force", args->force, "Also replace a page that was changed");
  return [args] { return run_install(*args); };
}

}  // namespace quarkq::tool
