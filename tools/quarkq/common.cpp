// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/file_system.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

std::atomic<bool> interrupted{false};

void on_interrupt(int) {
  if (interrupted.exchange(true)) {
    remove_unfinished_files();
    _exit(130);
  }
}

}  // namespace

void add_compute_options(CLI::App& app, ComputeOptions& options) {
  app.add_option("--threads", options.threads, "Threads; 0 (the default) takes the cores that are free")
      ->check(CLI::Range(0, 1024));
  app.add_option("--isa", options.isa, "Instruction set: sse41, avx2, avx512 or native");
}

void bound_spinning(char** argv) {
  constexpr const char kSpins[] = "1000";  // 0.02 to 0.05 ms: longer than the gaps between most kernels (ADR 0003)
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("GOMP_SPINCOUNT", kSpins, /*overwrite=*/1);
  ::execv("/proc/self/exe", argv);  // comes back only when it failed; then the default stays in force
}

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

bool is_interrupted() { return interrupted.load(); }

}  // namespace quarkq::tool
