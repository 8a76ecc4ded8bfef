// SPDX-License-Identifier: MIT
// Part of the program, not of the libraries: bounds the spinning of OpenMP's threads (ADR 0003). libgomp reads its
// environment before main(), and Windows cannot replace a process, so this runs before the constructors of libgomp.
#include <cstdlib>
#include <initializer_list>

namespace {

constexpr int kFirst = 101;  // Smaller priorities are reserved for the implementation.

__attribute__((constructor(kFirst))) void bound_spinning() {
  for (const char* set : {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})
    if (std::getenv(set) != nullptr) return;
  _putenv_s("GOMP_SPINCOUNT", "1000");
}

}  // namespace
