// SPDX-License-Identifier: MIT
// The kernel's interfaces: landlock(7), seccomp(2). Headers of older systems lack what newer kernels have, so
// structures and numbers of Landlock stand here.
#include "sandbox.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "places.h"
#include "sandbox_calls.h"

namespace quarkq::tool {
namespace {

namespace fs = std::filesystem;

/// Options that need another process.
constexpr std::string_view kForbidden[] = {"--metric-cmd", "--max-memory"};

// ---- Landlock

constexpr uint64_t kExecute = 1U << 0, kWriteFile = 1U << 1, kRefer = 1U << 13, kTruncate = 1U << 14;
constexpr uint64_t kRemove = (1U << 4) | (1U << 5), kMake = 0x1FC0;  ///< folders and files; of every kind
constexpr uint64_t kMakeFolder = 1U << 7, kMakeFile = 1U << 8;
constexpr uint64_t kBindTcp = 1U << 0, kConnectTcp = 1U << 1, kScopeSockets = 1U << 0, kScopeSignals = 1U << 1;
constexpr unsigned kVersionFlag = 1;
constexpr int kRulePathBeneath = 1;

struct RulesetAttributes {
  uint64_t files = 0, network = 0, scoped = 0;
};
struct [[gnu::packed]] PathRule {
  uint64_t allowed = 0;
  int32_t folder = -1;
};

struct Rights {
  RulesetAttributes handled;
  uint64_t in_outputs = 0;
  size_t bytes = 0;  ///< of the attributes that this kernel knows
};

/// `version` of Landlock: newer ones know more. What is not handled is not restricted.
Rights rights_of(int version) {
  Rights rights;
  rights.handled.files = kExecute | kWriteFile | kRemove | kMake;
  rights.in_outputs = kWriteFile | kRemove | kMakeFolder | kMakeFile;
  if (version >= 2) rights.handled.files |= kRefer, rights.in_outputs |= kRefer;
  if (version >= 3) rights.handled.files |= kTruncate, rights.in_outputs |= kTruncate;
  rights.bytes = sizeof(uint64_t);
  if (version >= 4) rights.handled.network = kBindTcp | kConnectTcp, rights.bytes = 2 * sizeof(uint64_t);
  if (version >= 6) rights.handled.scoped = kScopeSockets | kScopeSignals, rights.bytes = 3 * sizeof(uint64_t);
  return rights;
}

Status not_here(const char* what) {
  return io_error("--sandbox: this system lacks ", what, " (", std::strerror(errno),
                  "); needed are Landlock (Linux 5.13) and seccomp; nothing was run");
}

class Descriptor {
 public:
  explicit Descriptor(long fd) : fd_(static_cast<int>(fd)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status restrict_files(const std::set<std::string>& folders) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag);
  if (version < 1) return not_here("Landlock");
  const Rights rights = rights_of(static_cast<int>(version));
  const Descriptor ruleset(::syscall(SYS_landlock_create_ruleset, &rights.handled, rights.bytes, 0));
  if (ruleset.get() < 0) return not_here("Landlock");
  for (const std::string& folder : folders) {
    const Descriptor opened(open_file(folder, O_PATH | O_DIRECTORY));
    if (opened.get() < 0) return io_error("--sandbox: ", folder, ": cannot open this folder, ", std::strerror(errno));
    const PathRule rule{rights.in_outputs, opened.get()};
    if (::syscall(SYS_landlock_add_rule, ruleset.get(), kRulePathBeneath, &rule, 0) != 0) return not_here("Landlock");
  }
  const PathRule null_device{kWriteFile, open_file("/dev/null", O_PATH)};
  const Descriptor opened(null_device.folder);
  if (opened.get() >= 0) ::syscall(SYS_landlock_add_rule, ruleset.get(), kRulePathBeneath, &null_device, 0);
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return not_here("Landlock");
  return Status();
}

// ---- seccomp

Status restrict_calls() {
  std::vector<sock_filter> program = filter_of_calls(::getpid());
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
    return not_here("seccomp filters");
  return Status();
}

// ---- what a verb needs

std::string folder_of(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<std::set<std::string>> output_folders(const CLI::App& verb) {
  std::set<std::string> folders;
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) folders.insert(temporary.string());
  for (const auto& [path, place] : outputs_of(verb)) {
    if (place == Place::kFolder) {
      fs::create_directories(path, error);
      if (error) return io_error(path, ": cannot make this folder, ", error.message());
    }
    const std::string folder = place == Place::kFolder ? path : folder_of(path);
    if (is_folder(folder)) folders.insert(folder);  // the verb complains about one that is not there
  }
  return folders;
}

}  // namespace

void add_sandbox_option(CLI::App& app, bool& is_sandboxed) {
  app.add_flag(
      "--sandbox", is_sandboxed,
      "Write only in the folders of results, without network and other programs, whatever a file makes of this "
      "program (SECURITY.md)");
}

Status enter_sandbox(const CLI::App& verb) {
  for (const std::string_view option : kForbidden) {
    if (!value_of(verb, option).empty())
      return invalid_argument("--sandbox: found beside ", option, ", which needs a second process");
  }
  QQ_TRY(const std::set<std::string> folders, output_folders(verb));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return not_here("PR_SET_NO_NEW_PRIVS");
  QQ_RETURN_IF_ERROR(restrict_files(folders));
  return restrict_calls();
}

}  // namespace quarkq::tool
