// SPDX-License-Identifier: MIT
// The libFuzzer target. tests/fuzz/README.md says how to build and run it.
#include <algorithm>
#include <cstring>

#include "fuzz/fuzz_run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  quarkq::fuzz::run_once(data, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::string mutated = quarkq::fuzz::mutate(data, size, seed);
  if (mutated.size() > max_size) return size;
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}
