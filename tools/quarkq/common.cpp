// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/file_system.h"
#include "config/preprocess.h"
#include "config/preprocess_recipes.h"
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
  app.add_option("--threads", options.threads,
                 "Threads; auto (the default, also 0) takes the cores that are free, no more than a container grants")
      ->type_name("N|auto")
      ->transform([](const std::string& text) { return text == "auto" ? std::string("0") : text; })
      ->check(CLI::Range(0, 1024));
  app.add_option("--isa", options.isa, "Instruction set: sse41, avx2, avx512 or native");
}

void add_preprocess_option(CLI::App& app, std::vector<std::string>& settings) {
  app.add_option_function<std::string>(
      "--preprocess",
      [&settings](const std::string& name) {
        const Result<config::Preprocess> block = config::read_recipe(name);
        if (!block.ok()) throw CLI::ValidationError("--preprocess", block.status().message());
        settings.insert(settings.begin(), "preprocess=" + name);  // --set changes single keys of it
      },
      cat("How photos become what the model takes: ", config::recipe_names(), " (quarkq list recipes)"));
}

void add_requantize_option(CLI::App& app, bool& requantize) {
  app.add_flag("--requantize", requantize,
               "A quantized model: remove its Q/DQ nodes and block formats, and quantize what remains anew");
}

void bound_spinning(char** argv) {
  constexpr const char kSpins[] = "1000";  // 0.02 to 0.05 ms: longer than the gaps between most kernels (ADR 0003)
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv("GOMP_SPINCOUNT", kSpins, /*overwrite=*/1);
  ::execv("/proc/self/exe", argv);  // returns only on failure; then the default stays in force
}

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

bool is_interrupted() { return interrupted.load(); }

}  // namespace quarkq::tool
