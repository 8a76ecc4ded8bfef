// SPDX-License-Identifier: MIT
#include "pass/pass_info.h"

namespace quarkq::pass {

const char* name(Phase phase) {
  static constexpr const char* kNames[] = {"select",    "convert",     "prepare",   "equalize", "adapt", "mark",
                                           "calibrate", "restructure", "constrain", "tune",     "write", "legalize"};
  return kNames[static_cast<size_t>(phase)];
}

}  // namespace quarkq::pass
