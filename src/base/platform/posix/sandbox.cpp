// SPDX-License-Identifier: MIT
// The kernel's interfaces: landlock(7), seccomp(2). Headers of older systems do not contain the newer structures and
// numbers of Landlock, so they are defined here.
#include "base/platform/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace quarkq::platform {

// The filter is a list of allowed calls. A list of refused calls would miss the calls that newer kernels add.

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kMostNumber = 0x3FFFFFFF;  // larger numbers belong to x32
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kMostNumber = 0xFFFFFFFF;
#else
#error "add the AUDIT_ARCH constant of this machine"
#endif

/// The newest call that was considered for the list: file_setattr of Linux 6.17. From 424 on, all machines share
/// numbers.
constexpr uint32_t kNewestJudged = 469;
/// Calls that the headers of older systems do not name.
constexpr uint32_t kFutexWaitv = 449, kMapShadowStack = 453, kFutexWake = 454, kFutexWait = 455, kFutexRequeue = 456;

/// Allowed with any arguments. Landlock decides which files may be opened for writing, created, renamed and removed;
/// calls that take a descriptor reach only what was opened that way.
constexpr uint32_t kAllowed[] = {
    // Reading and writing of open files.
    SYS_read,
    SYS_readv,
    SYS_pread64,
    SYS_preadv,
    SYS_preadv2,
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_pwritev,
    SYS_pwritev2,
    SYS_lseek,
    SYS_close,
    SYS_close_range,
    SYS_dup,
    SYS_dup3,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync_file_range,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_readahead,
    SYS_copy_file_range,
    SYS_sendfile,
    SYS_ppoll,
    SYS_pselect6,
    // Names of files.
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_getdents64,
    SYS_readlinkat,
    SYS_getcwd,
    SYS_renameat2,
    SYS_linkat,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_umask,
#ifdef SYS_renameat
    SYS_renameat,
#endif
    // Memory.
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_msync,
    SYS_mincore,
    SYS_brk,
    SYS_membarrier,
    SYS_get_mempolicy,
    kMapShadowStack,
    // Threads.
    SYS_set_robust_list,
    SYS_rseq,
    SYS_set_tid_address,
    SYS_futex,
    kFutexWaitv,
    kFutexWake,
    kFutexWait,
    kFutexRequeue,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_exit,
    SYS_exit_group,
    // Signals to this process, and time.
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_setitimer,
    SYS_getitimer,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_times,
    // Facts about this process and the machine.
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getpgid,
    SYS_getsid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_getpriority,
    SYS_getrusage,
    SYS_getcpu,
    SYS_getrandom,
    SYS_uname,
    SYS_sysinfo,
#if defined(__x86_64__)  // older forms of the calls above
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_getdents,
    SYS_readlink,
    SYS_rename,
    SYS_link,
    SYS_unlink,
    SYS_rmdir,
    SYS_mkdir,
    SYS_dup2,
    SYS_poll,
    SYS_select,
    SYS_alarm,
    SYS_pause,
    SYS_time,
    SYS_getpgrp,
    SYS_getrlimit,
    SYS_arch_prctl,
#endif
};

constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA);
constexpr uint32_t kNotThere = SECCOMP_RET_ERRNO | (ENOSYS & SECCOMP_RET_DATA);
/// CLONE_THREAD is required. Only the flags of the C library's threads are allowed: no process, no namespace.
constexpr uint32_t kThreadFlag = 0x00010000, kNoThreadFlags = ~uint32_t{0x017D0F00};
constexpr uint32_t kNameMemory = 0x53564d41;  // PR_SET_VMA, by which the C library names its memory
constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kReturn = BPF_RET | BPF_K;

sock_filter statement(uint16_t code, uint32_t value) { return {code, 0, 0, value}; }
sock_filter jump(uint16_t how, uint32_t value, uint8_t if_true, uint8_t if_false) {
  return {static_cast<uint16_t>(BPF_JMP | how | BPF_K), if_true, if_false, value};
}
/// Loads the lower half of an argument; it is stored first on the machines above.
sock_filter argument(size_t index) {
  return statement(kLoad, static_cast<uint32_t>(offsetof(seccomp_data, args) + index * sizeof(uint64_t)));
}

/// Builds the program. Each method ends with the number of the call loaded or the program returned.
class Program {
 public:
  Program() {
    append({statement(kLoad, offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0),
            statement(kReturn, SECCOMP_RET_KILL_PROCESS), statement(kLoad, offsetof(seccomp_data, nr)),
            jump(BPF_JGT, kMostNumber, 0, 1), statement(kReturn, SECCOMP_RET_KILL_PROCESS),
            jump(BPF_JGT, kNewestJudged, 0, 1), statement(kReturn, kNotThere)});
  }

  void answer(uint32_t call, uint32_t with) { append({jump(BPF_JEQ, call, 0, 1), statement(kReturn, with)}); }

  /// Allows `call` if `checks`, which end with a decision, allow it.
  void check(uint32_t call, const std::vector<sock_filter>& checks) {
    program_.push_back(jump(BPF_JEQ, call, 0, static_cast<uint8_t>(checks.size())));
    append(checks);
  }

  /// Allows `call` if its argument `index` is one of `values`.
  void allow_with(uint32_t call, size_t index, std::initializer_list<uint32_t> values) {
    std::vector<sock_filter> checks = {argument(index)};
    for (const uint32_t value : values) {
      checks.push_back(jump(BPF_JEQ, value, 0, 1));
      checks.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
    }
    checks.push_back(statement(kReturn, kRefuse));
    check(call, checks);
  }

  std::vector<sock_filter> take() {
    program_.push_back(statement(kReturn, kRefuse));
    return std::move(program_);
  }

 private:
  void append(const std::vector<sock_filter>& more) { program_.insert(program_.end(), more.begin(), more.end()); }
  std::vector<sock_filter> program_;
};

/// O_TRUNC empties a file that is opened for reading, and Landlock checks that from version 3 on only. The access modes
/// for writing are checked by every version.
std::vector<sock_filter> checks_of_opening(size_t flags) {
  return {argument(flags),
          jump(BPF_JSET, O_TRUNC, 1, 0),
          statement(kReturn, SECCOMP_RET_ALLOW),
          statement(BPF_ALU | BPF_AND | BPF_K, O_ACCMODE),
          jump(BPF_JEQ, O_WRONLY, 1, 0),
          jump(BPF_JEQ, O_RDWR, 0, 1),
          statement(kReturn, SECCOMP_RET_ALLOW),
          statement(kReturn, kRefuse)};
}

/// Returns the seccomp filter for the process `own`. Only listed calls are allowed; every other call fails with EPERM,
/// and calls newer than the list fail with ENOSYS as on an older kernel. The filter does not depend on Landlock: it
/// also rejects operations that older versions of Landlock do not handle (signals, truncation, ioctl of devices).
std::vector<sock_filter> filter_of_calls(int own) {
  Program program;
  for (const uint32_t call : kAllowed) program.answer(call, SECCOMP_RET_ALLOW);
  program.check(SYS_openat, checks_of_opening(2));
#if defined(__x86_64__)
  program.check(SYS_open, checks_of_opening(1));
#endif
  // The flags of clone3 and openat2 are in memory, which a filter cannot read. The C library then uses the older calls.
  program.answer(SYS_clone3, kNotThere);
  program.answer(SYS_openat2, kNotThere);
  program.check(SYS_clone, {argument(0), jump(BPF_JSET, kThreadFlag, 0, 2), jump(BPF_JSET, kNoThreadFlags, 1, 0),
                            statement(kReturn, SECCOMP_RET_ALLOW), statement(kReturn, kRefuse)});
  // Numbers of a process: this one only.
  const auto self = static_cast<uint32_t>(own);
  program.allow_with(SYS_kill, 0, {self});
  program.allow_with(SYS_tgkill, 0, {self});
  program.allow_with(SYS_prlimit64, 0, {0, self});
  program.allow_with(SYS_sched_setaffinity, 0, {0, self});
  // F_SETOWN would send signals to other processes; TIOCSTI would type into the terminal.
  program.allow_with(SYS_fcntl, 1,
                     {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW});
  program.allow_with(SYS_ioctl, 1, {TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX});
  program.allow_with(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ, kNameMemory});
  return program.take();
}

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
  size_t bytes = 0;  ///< Size of the attributes known to this kernel.
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
    const Descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (opened.get() < 0) return io_error("--sandbox: ", folder, ": cannot open this folder, ", std::strerror(errno));
    const PathRule rule{rights.in_outputs, opened.get()};
    if (::syscall(SYS_landlock_add_rule, ruleset.get(), kRulePathBeneath, &rule, 0) != 0) return not_here("Landlock");
  }
  const PathRule null_device{kWriteFile, ::open("/dev/null", O_PATH | O_CLOEXEC)};
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

}  // namespace

Status drop_rights(const std::set<std::string>& folders) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return not_here("PR_SET_NO_NEW_PRIVS");
  QQ_RETURN_IF_ERROR(restrict_files(folders));
  return restrict_calls();
}

}  // namespace quarkq::platform
