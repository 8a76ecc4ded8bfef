// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

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
  app.add_option("--threads", options.threads, "Threads; 0 takes all cores")->check(CLI::Range(0, 1024));
  app.add_option("--isa", options.isa, "Instruction set: sse41, avx2, avx512 or native");
}

void print_diagnostics(const Diagnostics& diagnostics) {
  for (const Diagnostic& finding : diagnostics.all()) {
    std::fprintf(stderr, "quarkq: %s: %s%s%s\n", finding.severity == Severity::kWarning ? "warning" : "notice",
                 finding.subject.c_str(), finding.subject.empty() ? "" : ": ", finding.text.c_str());
  }
}

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

bool is_interrupted() { return interrupted.load(); }

}  // namespace quarkq::tool
