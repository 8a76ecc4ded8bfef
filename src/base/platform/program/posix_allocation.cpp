// SPDX-License-Identifier: MIT
// Part of the program, not of the libraries: replaces posix_memalign() for the whole process.
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>

#include "base/error.h"
#include "base/file_system.h"
#include "base/platform/console.h"
#include "base/platform/process.h"

#ifndef __SANITIZE_ADDRESS__
/// For the whole program: oneDNN makes its objects in memory of this function without looking whether there is any, and
/// ends with signal 11. Where so little is missing the run ends here. Buffers, which are larger, may fail: callers
/// look.
extern "C" __attribute__((visibility("default"))) int posix_memalign(void** result, size_t alignment,
                                                                     size_t size) noexcept {
  using Function = int(void**, size_t, size_t);
  constexpr size_t kLargestObject = size_t{1} << 20;
  static Function* const real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "posix_memalign"));
  const int failed = real == nullptr ? ENOMEM : real(result, alignment, size);
  if (failed == ENOMEM && size <= kLargestObject) {
    quarkq::platform::write_error("quarkq: error: out of memory\n");
    quarkq::remove_unfinished_files();
    quarkq::platform::end_process(quarkq::exit_code(quarkq::Code::kResource));
  }
  return failed;
}
#endif
