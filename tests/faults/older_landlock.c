// SPDX-License-Identifier: MIT
// Preloaded by tests/e2e/test_sandbox.py: the kernel says that its Landlock is version LANDLOCK_VERSION, as an older one would. The program
// then asks for the rights that this version has, and nothing else is restricted.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { kVersionFlag = 1, kArguments = 6 };

long syscall(long number, ...) {
  static long (*next)(long, ...);
  long given[kArguments];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < kArguments; ++i) given[i] = va_arg(list, long);
  va_end(list);
  const char *version = getenv("LANDLOCK_VERSION");
  const int asks_version = number == SYS_landlock_create_ruleset && given[0] == 0 && (int)given[2] == kVersionFlag;
  if (version && asks_version) return atoi(version);
  if (!next) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return next(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
