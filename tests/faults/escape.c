// SPDX-License-Identifier: MIT
// Preloaded by tests/e2e/test_sandbox.py: what a fault that lets a model run code of its own could try. When the program first renames a
// file, each attempt is made once; ESCAPE_LOG, a file inside the folder of outputs, gets "NAME done" or "NAME ERRNO" lines.
// ESCAPE_TARGET is a folder outside, with files "victim" and "run.sh"; ESCAPE_OTHER is the number of another process of this user
// (default: the parent).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char victim[4096], fresh[4096], script[4096], inside[4096];
static int other;

static int create_file(void) { return open(fresh, O_WRONLY | O_CREAT, 0600); }
static int overwrite(void) { return open(victim, O_WRONLY); }
static int cut(void) { return truncate(victim, 0); }
static int remove_file(void) { return unlink(victim); }
static int move_in(void) { return (int)syscall(SYS_rename, victim, inside); }
static int move_out(void) { return (int)syscall(SYS_rename, inside, fresh); }
static int link_out(void) { return link(inside, fresh); }
static int make_folder(void) { return mkdir(fresh, 0700); }
static int symbolic_link(void) { return symlink("/etc/passwd", fresh); }
static int device(void) { return mknod(fresh, S_IFCHR | 0600, 0x0103); }
static int change_mode(void) { return chmod(victim, 0777); }
static int own_memory_file(void) { return open("/proc/self/mem", O_WRONLY); }
static int internet(void) { return socket(AF_INET, SOCK_STREAM, 0); }
static int internet_6(void) { return socket(AF_INET6, SOCK_DGRAM, 0); }
static int local_socket(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
static int new_process(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, 0, 0);
  return child;
}
static int new_process_by_vfork(void) { return system("true") == 0 ? 0 : (errno = EPERM, -1); }
static int new_process_by_call(void) {
  const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return (int)child;
}
static int new_process_by_clone3(void) {
  unsigned long arguments[11] = {0};
  arguments[4] = SIGCHLD;
  const long child = syscall(SYS_clone3, arguments, sizeof arguments);
  if (child == 0) _exit(0);
  return (int)child;
}
static int run_program(void) {
  char *const words[] = {script, 0};
  return execve(script, words, environ);  // comes back only where it failed
}
static int signal_parent(void) { return kill(getppid(), 0); }
static int io_ring(void) {
  char parameters[256] = {0};
  return (int)syscall(SYS_io_uring_setup, 4, parameters);
}
static int other_root(void) { return unshare(CLONE_NEWUSER); }
static int file_inside(void) { return open(inside, O_WRONLY | O_CREAT, 0600); }
static int reading(void) { return open("/etc/passwd", O_RDONLY); }

// Files of others by calls that have an older sibling, or take an open file.
static int change_mode_at(void) { return (int)syscall(452, AT_FDCWD, victim, 0777, 0); }  // fchmodat2 of Linux 6.6
static int change_owner(void) { return chown(victim, getuid(), getgid()); }
static int change_times(void) {
  const struct timespec times[2] = {{1, 0}, {1, 0}};
  return utimensat(AT_FDCWD, victim, times, 0);
}
static int set_attribute(void) { return setxattr(victim, "user.new", "x", 1, 0); }
static int set_attribute_at(void) {  // setxattrat of Linux 6.13
  const struct {
    unsigned long value;
    unsigned size, flags;
  } given = {(unsigned long)"x", 1, 0};
  return (int)syscall(463, AT_FDCWD, victim, 0, "user.new", &given, sizeof given);
}
static int remove_attribute(void) { return removexattr(victim, "user.a"); }
static int remove_attribute_at(void) { return (int)syscall(466, AT_FDCWD, victim, 0, "user.b"); }
static int with_victim(int (*attempt)(int fd)) {
  const int fd = open(victim, O_RDONLY);
  const int outcome = fd < 0 ? -1 : attempt(fd);
  return outcome;
}
static int set_flags_of(int fd) {
  unsigned long flags = 0;
  return ioctl(fd, _IOW('f', 2, long), &flags);  // FS_IOC_SETFLAGS
}
static int set_flags(void) { return with_victim(set_flags_of); }
static int set_times_of(int fd) { return futimens(fd, 0); }
static int change_times_open(void) { return with_victim(set_times_of); }
static int cut_by_reading(void) { return open(victim, O_RDONLY | O_TRUNC); }
static int cut_by_mode_3(void) { return open(victim, 3 | O_TRUNC); }
static int cut_at(void) { return openat(AT_FDCWD, victim, O_RDONLY | O_TRUNC); }
static int open_2(void) {
  const unsigned long how[3] = {O_RDONLY | O_TRUNC, 0, 0};
  return (int)syscall(437, AT_FDCWD, victim, how, sizeof how);
}
static int by_handle(void) { return (int)syscall(SYS_open_by_handle_at, AT_FDCWD, 0, O_RDONLY); }

// Other processes.
static int signal_other(void) { return kill(other, 0); }
static int signal_thread(void) { return (int)syscall(SYS_tgkill, other, other, 0); }
static int signal_any_thread(void) { return (int)syscall(SYS_tkill, other, 0); }
static int signal_with_value(void) {
  siginfo_t info = {0};
  info.si_code = SI_QUEUE;
  return (int)syscall(SYS_rt_sigqueueinfo, other, 0, &info);
}
static int signal_group(void) { return kill(0, 0); }
static int signal_by_file(void) {
  const int fd = open("/dev/null", O_RDONLY);
  return fcntl(fd, F_SETOWN, other);
}
static int limit_other(void) {
  const struct rlimit limit = {1000, 1000};
  return (int)syscall(SYS_prlimit64, other, RLIMIT_NOFILE, &limit, 0);
}
static int slow_other(void) { return setpriority(PRIO_PROCESS, (id_t)other, 19); }
static int slow_disk_of_other(void) { return (int)syscall(SYS_ioprio_set, 1, other, 3 << 13); }
static int move_other(void) {
  unsigned long cores = 1;
  return (int)syscall(SYS_sched_setaffinity, other, sizeof cores, &cores);
}
static int schedule_other(void) {
  const struct sched_param parameters = {0};
  return sched_setscheduler(other, SCHED_BATCH, &parameters);
}
static int handle_of_other(void) { return (int)syscall(SYS_pidfd_open, other, 0); }
static int memory_of_other(void) { return (int)syscall(SYS_process_vm_readv, other, 0, 0, 0, 0, 0); }
static int shared_memory(void) {
  const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  return id < 0 ? -1 : shmctl(id, IPC_RMID, 0);
}
static int named_queue(void) { return (int)syscall(SYS_mq_open, "quarkq-escape", O_RDONLY, 0, 0); }
static int own_group(void) { return setpgid(0, 0); }
static int traced_by_anyone(void) { return prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); }
static int terminal_input(void) { return ioctl(0, TIOCSTI, "x"); }
static int terminal_paste(void) { return ioctl(0, 0x541C, "\2"); }  // TIOCLINUX
static int unknown_call(void) { return (int)syscall(600, 0, 0, 0, 0, 0, 0); }

static const struct {
  const char *name;
  int (*attempt)(void);
} kAttempts[] = {{"file_inside", file_inside}, {"reading", reading}, {"create_file", create_file}, {"overwrite", overwrite}, {"cut", cut},
                 {"link_out", link_out}, {"move_out", move_out}, {"move_in", move_in}, {"remove_file", remove_file}, {"make_folder", make_folder},
                 {"symbolic_link", symbolic_link}, {"device", device}, {"change_mode", change_mode}, {"own_memory_file", own_memory_file},
                 {"internet", internet}, {"internet_6", internet_6}, {"local_socket", local_socket}, {"new_process", new_process},
                 {"new_process_by_vfork", new_process_by_vfork}, {"new_process_by_call", new_process_by_call},
                 {"new_process_by_clone3", new_process_by_clone3}, {"signal_parent", signal_parent},
                 {"io_ring", io_ring}, {"other_root", other_root}, {"change_mode_at", change_mode_at}, {"change_owner", change_owner},
                 {"change_times", change_times}, {"change_times_open", change_times_open}, {"set_attribute", set_attribute},
                 {"set_attribute_at", set_attribute_at}, {"remove_attribute", remove_attribute}, {"remove_attribute_at", remove_attribute_at},
                 {"set_flags", set_flags}, {"cut_by_reading", cut_by_reading}, {"cut_by_mode_3", cut_by_mode_3}, {"cut_at", cut_at},
                 {"open_2", open_2}, {"by_handle", by_handle}, {"signal_other", signal_other}, {"signal_thread", signal_thread},
                 {"signal_any_thread", signal_any_thread}, {"signal_with_value", signal_with_value}, {"signal_group", signal_group},
                 {"signal_by_file", signal_by_file}, {"limit_other", limit_other}, {"slow_other", slow_other},
                 {"slow_disk_of_other", slow_disk_of_other}, {"move_other", move_other}, {"schedule_other", schedule_other},
                 {"handle_of_other", handle_of_other}, {"memory_of_other", memory_of_other}, {"shared_memory", shared_memory},
                 {"named_queue", named_queue}, {"own_group", own_group}, {"traced_by_anyone", traced_by_anyone},
                 {"terminal_input", terminal_input}, {"terminal_paste", terminal_paste},
                 {"unknown_call", unknown_call}, {"run_program", run_program}};

static void try_all(void) {
  const char *log = getenv("ESCAPE_LOG"), *target = getenv("ESCAPE_TARGET"), *process = getenv("ESCAPE_OTHER");
  if (!log || !target) return;
  other = process ? atoi(process) : getppid();
  unsetenv("LD_PRELOAD");
  snprintf(victim, sizeof victim, "%s/victim", target);
  snprintf(script, sizeof script, "%s/run.sh", target);
  snprintf(inside, sizeof inside, "%s.file", log);
  FILE *file = fopen(log, "w");
  if (!file) return;
  for (size_t i = 0; i < sizeof kAttempts / sizeof *kAttempts; ++i) {
    snprintf(fresh, sizeof fresh, "%s/new-%s", target, kAttempts[i].name);
    errno = 0;
    const int outcome = kAttempts[i].attempt();
    fprintf(file, "%s %s\n", kAttempts[i].name, outcome >= 0 ? "done" : strerrorname_np(errno));
    fflush(file);
  }
  fclose(file);
}

int rename(const char *from, const char *to) {
  static int is_tried;
  if (!is_tried++) try_all();
  return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}
