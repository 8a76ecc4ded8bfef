// SPDX-License-Identifier: MIT
// Preloaded by run.py: makes one operation of a program fail. Environment:
//   FAULT_KIND  eio, enospc (also: full, from then on), eintr, short: operations on files; memory: allocations; threads:
//               allocations where several threads run, in a parallel region of OpenMP or in another thread than the first,
//               but for those that oneDNN makes: when one of them fails, its cache keeps a lock or an entry of what is
//               gone (2.7), and another thread that makes a primitive then waits for ever or crashes;
//               kill, term, hup, pipe: instead of failing an operation on files, this signal comes before it, and
//               when it has made a file
//   FAULT_AT    the number of the operation that fails, from 1; 0: none
//   FAULT_LOG   a file that gets "NUMBER NAME" of what failed, and the count of operations at the end
//   FAULT_SITES a file that gets the address of the caller of each allocation, 8 bytes each, relative to its module
// Counted are operations on files that the program itself opens outside of the system's folders, and allocations made
// after main() began. What removes files is never failed: nothing could then remove them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FILES 4096
static char is_counted[MOST_FILES];  // by descriptor
static int armed, log_fd = -1, sites_fd = -1;
static long fault_at, count;
static enum { kNone, kEio, kEnospc, kFull, kEintr, kShort, kMemory, kThreads, kKill, kTerm, kHup, kPipe } kind;
static uintptr_t program_base, onednn_begin, onednn_end;

static void say(const char *name) {
  char text[128];
  const int size = snprintf(text, sizeof text, "%ld %s\n", count, name);
  if (log_fd >= 0) syscall(SYS_write, log_fd, text, size);
}

static int note_modules(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  int *is_first = data;
  if (*is_first) program_base = info->dlpi_addr;  // the program is the first
  *is_first = 0;
  if (!info->dlpi_name || !strstr(info->dlpi_name, "libdnnl")) return 0;
  onednn_begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && end > onednn_end) onednn_end = end;
  }
  return 0;
}

static void begin(void) {
  static const char *const kNames[] = {"none", "eio", "enospc", "full", "eintr", "short", "memory", "threads", "kill", "term", "hup", "pipe"};
  const char *asked = getenv("FAULT_KIND"), *at = getenv("FAULT_AT"), *log = getenv("FAULT_LOG"), *sites = getenv("FAULT_SITES");
  for (int i = 0; asked && i < (int)(sizeof kNames / sizeof *kNames); ++i)
    if (strcmp(asked, kNames[i]) == 0) kind = i;
  fault_at = at ? atol(at) : 0;
  if (log) log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (sites) sites_fd = (int)syscall(SYS_openat, AT_FDCWD, sites, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int is_first = 1;
  dl_iterate_phdr(note_modules, &is_first);
  armed = 1;
}

__attribute__((destructor)) static void finish(void) {
  armed = 0;
  say("operations");
}

static int (*real_main)(int, char **, char **);
static int wrapped_main(int argc, char **argv, char **environment) {
  begin();
  return real_main(argc, argv, environment);
}
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld)(void), void *stack) {
  int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return next(wrapped_main, argc, argv, init, fini, rtld, stack);
}

// ---- files

enum { kMaySpace = 1, kMayInterrupt = 2, kMayShort = 4 };  // which kinds an operation can meet, beside EIO

// The error of this operation; 0: it goes on.
static int fault_of(const char *name, int may) {
  if (!armed || kind == kNone || kind == kMemory || kind == kThreads) return 0;
  if ((kind == kEnospc || kind == kFull) && !(may & kMaySpace)) return 0;
  if (kind == kEintr && !(may & kMayInterrupt)) return 0;
  if (kind == kShort && !(may & kMayShort)) return 0;
  const long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  if (fault_at == 0 || (kind == kFull ? number < fault_at : number != fault_at)) return 0;
  say(name);
  if (kind >= kKill) {
    static const int kSignals[] = {SIGKILL, SIGTERM, SIGHUP, SIGPIPE};
    raise(kSignals[kind - kKill]);
    return 0;
  }
  return kind == kEio ? EIO : kind == kEintr ? EINTR : kind == kShort ? -1 : ENOSPC;
}

static int is_own(const char *path) {
  static const char *const kSystem[] = {"/proc/", "/sys/", "/dev/", "/usr/", "/etc/", "/lib"};
  for (size_t i = 0; i < sizeof kSystem / sizeof *kSystem; ++i)
    if (strncmp(path, kSystem[i], strlen(kSystem[i])) == 0) return 0;
  return 1;
}
static int is_own_file(int fd) { return fd >= 0 && fd < MOST_FILES && is_counted[fd]; }

#define REAL(type, name, ...)              \
  static type (*real)(__VA_ARGS__);        \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)
#define FAIL(name, may)                \
  do {                                 \
    const int error = fault_of(name, may); \
    if (error > 0) {                   \
      errno = error;                   \
      return -1;                       \
    }                                  \
  } while (0)

static int open_counted(int folder, const char *path, int flags, mode_t mode) {
  const int own = is_own(path);
  if (own) FAIL("open", kMayInterrupt | ((flags & O_CREAT) ? kMaySpace : 0));
  const int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (fd >= 0 && fd < MOST_FILES) is_counted[fd] = (char)own;
  if (own && (flags & O_CREAT) && kind >= kKill) fault_of("created", 0);
  return fd;
}
static mode_t mode_of(int flags, va_list list) { return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0; }
#define OPEN(name)                                      \
  int name(const char *path, int flags, ...) {          \
    va_list list;                                       \
    va_start(list, flags);                              \
    const mode_t mode = mode_of(flags, list);           \
    va_end(list);                                       \
    return open_counted(AT_FDCWD, path, flags, mode);   \
  }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                       \
  int name(int folder, const char *path, int flags, ...) { \
    va_list list;                                          \
    va_start(list, flags);                                 \
    const mode_t mode = mode_of(flags, list);              \
    va_end(list);                                          \
    return open_counted(folder, path, flags, mode);        \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                             \
  FILE *name(const char *path, const char *mode) {              \
    REAL(FILE *, name, const char *, const char *);             \
    const int own = is_own(path);                               \
    const int error = own ? fault_of("fopen", mode[0] == 'w' ? kMaySpace : 0) : 0; \
    if (error > 0) {                                            \
      errno = error;                                            \
      return 0;                                                 \
    }                                                           \
    FILE *file = real(path, mode);                              \
    if (file && fileno(file) < MOST_FILES) is_counted[fileno(file)] = (char)own; \
    return file;                                                \
  }
FOPEN(fopen)
FOPEN(fopen64)

int close(int fd) {
  const int own = is_own_file(fd);
  if (own) is_counted[fd] = 0;
  const int error = own ? fault_of("close", kMaySpace | kMayInterrupt) : 0;
  const int done = (int)syscall(SYS_close, fd);  // Linux closes it whatever it says
  if (error > 0) {
    errno = error;
    return -1;
  }
  return done;
}

int fcntl64(int fd, int what, ...) {
  va_list list;
  va_start(list, what);
  const long argument = va_arg(list, long);
  va_end(list);
  const int done = (int)syscall(SYS_fcntl, fd, what, argument);
  const int is_second = what == F_DUPFD || what == F_DUPFD_CLOEXEC;
  if (is_second && done >= 0 && done < MOST_FILES) is_counted[done] = (char)is_own_file(fd);
  return done;
}
int fcntl(int fd, int what, ...) {
  va_list list;
  va_start(list, what);
  const long argument = va_arg(list, long);
  va_end(list);
  return fcntl64(fd, what, argument);
}

ssize_t write(int fd, const void *data, size_t size) {
  if (is_own_file(fd)) {
    const int error = fault_of("write", kMaySpace | kMayInterrupt | kMayShort);
    if (error == -1 && size > 1) size /= 2;
    if (error > 0) {
      errno = error;
      return -1;
    }
  }
  return syscall(SYS_write, fd, data, size);
}
#define PWRITE(name)                                                   \
  ssize_t name(int fd, const void *data, size_t size, off_t offset) {  \
    if (is_own_file(fd)) {                                             \
      const int error = fault_of("pwrite", kMaySpace | kMayInterrupt | kMayShort); \
      if (error == -1 && size > 1) size /= 2;                          \
      if (error > 0) {                                                 \
        errno = error;                                                 \
        return -1;                                                     \
      }                                                                \
    }                                                                  \
    return syscall(SYS_pwrite64, fd, data, size, offset);              \
  }
PWRITE(pwrite)
PWRITE(pwrite64)
ssize_t read(int fd, void *data, size_t size) {
  if (is_own_file(fd)) {
    const int error = fault_of("read", kMayInterrupt | kMayShort);
    if (error == -1 && size > 1) size /= 2;
    if (error > 0) {
      errno = error;
      return -1;
    }
  }
  return syscall(SYS_read, fd, data, size);
}
int fsync(int fd) {
  if (is_own_file(fd)) FAIL("fsync", kMaySpace | kMayInterrupt);
  return (int)syscall(SYS_fsync, fd);
}
int flock(int fd, int what) {
  if (is_own_file(fd)) FAIL("flock", kMayInterrupt);
  return (int)syscall(SYS_flock, fd, what);
}
#define TRUNCATE(name)                          \
  int name(int fd, off_t size) {                \
    if (is_own_file(fd)) FAIL("ftruncate", kMaySpace | kMayInterrupt); \
    return (int)syscall(SYS_ftruncate, fd, size); \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)
int rename(const char *from, const char *to) {
  FAIL("rename", kMaySpace);
  return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}
int link(const char *from, const char *to) {
  FAIL("link", kMaySpace);
  return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int mkdir(const char *path, mode_t mode) {
  FAIL("mkdir", kMaySpace);
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
#define MMAP(name)                                                                    \
  void *name(void *at, size_t size, int rights, int flags, int fd, off_t offset) {    \
    if (is_own_file(fd)) {                                                            \
      const int error = fault_of("mmap", 0);                                          \
      if (error > 0) {                                                                \
        errno = error == EIO ? ENOMEM : error;                                        \
        return MAP_FAILED;                                                            \
      }                                                                               \
    }                                                                                 \
    return (void *)syscall(SYS_mmap, at, size, rights, flags, fd, offset);            \
  }
MMAP(mmap)
MMAP(mmap64)

// ---- memory

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

// In a parallel region of several threads, or in a thread that is not the first.
static int is_in_threads(void) {
  static int (*in_parallel)(void);
  static int is_known;
  if (!is_known) {
    *(void **)&in_parallel = dlsym(RTLD_DEFAULT, "omp_in_parallel");
    is_known = 1;
  }
  return gettid() != getpid() || (in_parallel && in_parallel());
}

static int is_in_onednn(void *caller) { return (uintptr_t)caller >= onednn_begin && (uintptr_t)caller < onednn_end; }

static int is_refused(const char *name, void *caller) {
  if (!armed || (kind != kMemory && (kind != kThreads || is_in_onednn(caller) || !is_in_threads()))) return 0;
  const long number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  if (sites_fd >= 0) {
    const uint64_t site = (uint64_t)((uintptr_t)caller - program_base);
    syscall(SYS_write, sites_fd, &site, sizeof site);
  }
  if (number != fault_at) return 0;
  say(name);
  return 1;
}
#define CALLER __builtin_return_address(0)
void *malloc(size_t size) { return is_refused("malloc", CALLER) ? (errno = ENOMEM, (void *)0) : __libc_malloc(size); }
void *calloc(size_t items, size_t size) { return is_refused("calloc", CALLER) ? (errno = ENOMEM, (void *)0) : __libc_calloc(items, size); }
void *realloc(void *old, size_t size) { return is_refused("realloc", CALLER) ? (errno = ENOMEM, (void *)0) : __libc_realloc(old, size); }
void *memalign(size_t by, size_t size) { return is_refused("memalign", CALLER) ? (errno = ENOMEM, (void *)0) : __libc_memalign(by, size); }
void *aligned_alloc(size_t by, size_t size) { return is_refused("aligned_alloc", CALLER) ? (errno = ENOMEM, (void *)0) : __libc_memalign(by, size); }
int posix_memalign(void **result, size_t by, size_t size) {
  if (is_refused("posix_memalign", CALLER)) return ENOMEM;
  *result = __libc_memalign(by, size);
  return *result ? 0 : ENOMEM;
}

// operator new: its callers are the program's own places, where those of malloc() would all be the C++ library. The library's
// operator throws when malloc() finds nothing.
static void *new_of(const char *name, size_t size, void *caller) {
  typedef void *New(size_t);
  static New *real;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "_Znwm");
  const int refused = is_refused(name, caller);
  if (!refused) {
    void *got = __libc_malloc(size ? size : 1);
    if (got) return got;
  }
  return real((size_t)1 << 62);  // throws
}
void *_Znwm(size_t size) { return new_of("new", size, CALLER); }
void *_Znam(size_t size) { return new_of("new[]", size, CALLER); }
