// SPDX-License-Identifier: MIT
// Preloaded by tests/e2e/test_sandbox.py: what a fault that lets a model run code of its own could try. When the program first renames a
// file, each attempt is made once; ESCAPE_LOG, a file inside the folder of outputs, gets "NAME done" or "NAME ERRNO" lines.
// ESCAPE_TARGET is a folder outside, with files "victim" and "run.sh".
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char victim[4096], fresh[4096], script[4096], inside[4096];

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

static const struct {
  const char *name;
  int (*attempt)(void);
} kAttempts[] = {{"file_inside", file_inside}, {"reading", reading}, {"create_file", create_file}, {"overwrite", overwrite}, {"cut", cut},
                 {"link_out", link_out}, {"move_out", move_out}, {"move_in", move_in}, {"remove_file", remove_file}, {"make_folder", make_folder},
                 {"symbolic_link", symbolic_link}, {"device", device}, {"change_mode", change_mode}, {"own_memory_file", own_memory_file},
                 {"internet", internet}, {"internet_6", internet_6}, {"local_socket", local_socket}, {"new_process", new_process},
                 {"new_process_by_vfork", new_process_by_vfork}, {"new_process_by_call", new_process_by_call},
                 {"new_process_by_clone3", new_process_by_clone3}, {"signal_parent", signal_parent},
                 {"io_ring", io_ring}, {"other_root", other_root}, {"run_program", run_program}};

static void try_all(void) {
  const char *log = getenv("ESCAPE_LOG"), *target = getenv("ESCAPE_TARGET");
  if (!log || !target) return;
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
