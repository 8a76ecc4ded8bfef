// SPDX-License-Identifier: MIT
// The libFuzzer binary; QUARKQ_FUZZ_TARGET names the target, else what follows "quarkq_fuzz_" in the program's own
// name. tests/fuzz/README.md says how to build and run it.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/targets.h"

namespace {

std::string chosen_name() {
  const char* given = std::getenv("QUARKQ_FUZZ_TARGET");
  if (given != nullptr) return given;
  constexpr std::string_view kPrefix = "quarkq_fuzz_";
  const std::string_view program = program_invocation_short_name;
  return program.starts_with(kPrefix) ? std::string(program.substr(kPrefix.size())) : "model";
}

const quarkq::fuzz::Target& chosen() {
  static const quarkq::fuzz::Target* const target = [] {
    const std::string name = chosen_name();
    const auto* found = quarkq::fuzz::find_target(name);
    if (found == nullptr) {
      std::fprintf(stderr, "%s is no target\n", name.c_str());
      std::exit(2);
    }
    return found;
  }();
  return *target;
}

}  // namespace

/// Memory that packages keep until the process ends, as scripts/lsan.supp: who runs the program elsewhere has no options.
extern "C" const char* __lsan_default_suppressions() { return "leak:libomp\nleak:libdnnl\nleak:libprotobuf\n"; }

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (const auto status = quarkq::fuzz::answer_about_targets(*argc, *argv)) std::exit(*status);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen().run(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

/// Every other time libFuzzer's own mutation, which knows what was compared with what.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string mutated = chosen().mutate(data, size, seed);
  if (mutated.size() > max_size) return size;
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}
