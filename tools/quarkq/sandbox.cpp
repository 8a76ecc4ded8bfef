// SPDX-License-Identifier: MIT
// The kernel's interfaces: landlock(7), seccomp(2). Headers of older systems lack what newer kernels have, so
// structures and numbers of Landlock stand here.
#include "sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "output.h"
#include "quarkq/quantize.h"

namespace quarkq::tool {
namespace {

namespace fs = std::filesystem;

/// Options that name a result. kBeside: a file, whose folder is needed; kInside: a folder of results.
enum class Place : char { kBeside, kInside };
constexpr struct {
  std::string_view name;
  Place place;
} kOutputs[] = {{"--output", Place::kBeside},        {"--report", Place::kBeside},     {"--json", Place::kBeside},
                {"--csv", Place::kBeside},           {"--layers-csv", Place::kBeside}, {"--write", Place::kBeside},
                {"--outputs", Place::kInside},       {"--deploy", Place::kInside},     {"--state", Place::kInside},
                {"--workers-folder", Place::kInside}};
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

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kMostNumber = 0x3FFFFFFF;  // above: the numbers of x32
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kMostNumber = 0xFFFFFFFF;
#else
#error "name this machine's AUDIT_ARCH"
#endif

/// Refused with EPERM. io_uring would do the work of others unseen.
constexpr uint32_t kRefused[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,  // network
    SYS_execve,
    SYS_execveat,  // programs
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_pidfd_open,  // processes
    SYS_pidfd_send_signal,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,  // files of others
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_open_by_handle_at,  // the system
    SYS_bpf,
    SYS_perf_event_open,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_acct,
    SYS_sethostname,
    SYS_settimeofday,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
#endif
};

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA);
constexpr uint32_t kNotThere = SECCOMP_RET_ERRNO | (ENOSYS & SECCOMP_RET_DATA);
constexpr uint32_t kThreadFlag = 0x00010000;  // CLONE_THREAD

sock_filter statement(uint16_t code, uint32_t value) { return {code, 0, 0, value}; }
sock_filter jump(uint16_t how, uint32_t value, uint8_t if_true, uint8_t if_false) {
  return {static_cast<uint16_t>(BPF_JMP | how | BPF_K), if_true, if_false, value};
}

/// Threads may be made, processes not; clone3 keeps its flags where a filter cannot see them, and the C library then
/// uses clone.
std::vector<sock_filter> filter_program() {
  constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kReturn = BPF_RET | BPF_K;
  std::vector<sock_filter> program = {
      statement(kLoad, offsetof(seccomp_data, arch)),
      jump(BPF_JEQ, kArchitecture, 1, 0),
      statement(kReturn, SECCOMP_RET_KILL_PROCESS),
      statement(kLoad, offsetof(seccomp_data, nr)),
      jump(BPF_JGT, kMostNumber, 0, 1),
      statement(kReturn, SECCOMP_RET_KILL_PROCESS),
      jump(BPF_JEQ, SYS_clone3, 0, 1),
      statement(kReturn, kNotThere),
      jump(BPF_JEQ, SYS_clone, 0, 4),
      statement(kLoad, offsetof(seccomp_data, args)),  // the lower half comes first on the machines above
      jump(BPF_JSET, kThreadFlag, 1, 0),
      statement(kReturn, kRefuse),
      statement(kReturn, SECCOMP_RET_ALLOW),
  };
  for (const uint32_t number : kRefused) {
    program.push_back(jump(BPF_JEQ, number, 0, 1));
    program.push_back(statement(kReturn, kRefuse));
  }
  program.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  return program;
}

Status restrict_calls() {
  std::vector<sock_filter> program = filter_program();
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

/// The value of an option, "" without one.
std::string value_of(const CLI::App& verb, std::string_view name) {
  const CLI::Option* option = verb.get_option_no_throw(std::string(name));
  return option == nullptr || option->count() == 0 || option->results().empty() ? "" : option->results().front();
}

Result<std::set<std::string>> output_folders(const CLI::App& verb) {
  std::set<std::string> folders;
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) folders.insert(temporary.string());
  for (const auto& [name, place] : kOutputs) {
    const std::string value = value_of(verb, name);
    if (value.empty() || value == kStdout || verb.get_option_no_throw(std::string(name))->get_items_expected_max() == 0)
      continue;
    if (place == Place::kInside) {
      fs::create_directories(value, error);
      if (error) return io_error(value, ": cannot make this folder, ", error.message());
    }
    const std::string folder = place == Place::kInside ? value : folder_of(value);
    if (is_folder(folder)) folders.insert(folder);  // of one that is not there the verb complains
  }
  // Results that are named after what they are made of.
  const std::string& name = verb.get_name();
  const std::string output = value_of(verb, "--output");
  const bool is_beside_input = output.empty() && (name == "quantize" || name == "tune" || name == "report");
  if (is_beside_input) folders.insert(folder_of(value_of(verb, name == "report" ? "REPORT" : "MODEL")));
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
