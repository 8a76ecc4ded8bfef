// SPDX-License-Identifier: MIT
// The libFuzzer binary; QUARKQ_FUZZ_TARGET names the target. tests/fuzz/README.md says how to build and run it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/targets.h"

namespace {

const quarkq::fuzz::Target& chosen() {
  static const quarkq::fuzz::Target* const target = [] {
    const char* name = std::getenv("QUARKQ_FUZZ_TARGET");
    const auto* found = quarkq::fuzz::find_target(name == nullptr ? "model" : name);
    if (found == nullptr) {
      std::fprintf(stderr, "QUARKQ_FUZZ_TARGET=%s is no target\n", name);
      std::exit(2);
    }
    return found;
  }();
  return *target;
}

}  // namespace

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
