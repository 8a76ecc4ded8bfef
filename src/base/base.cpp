// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "quarkq/status.h"

namespace quarkq {

const char* version() { return QUARKQ_VERSION; }
const char* build_information() { return QUARKQ_BUILD; }

int exit_code(Code code) {
  switch (code) {
    case Code::kOk: return 0;
    case Code::kInvalidArgument: return 2;
    case Code::kUnsupported:
    case Code::kCorruptModel: return 3;
    case Code::kBadData: return 4;
    case Code::kQualityGate: return 5;
    case Code::kNpuLimit: return 6;
    case Code::kResource: return 7;
    case Code::kIo:
    case Code::kInternal: return 1;
    case Code::kInterrupted: return 130;
  }
  return 1;
}

Status Status::context(const std::string& where) && {
  if (!ok()) message_ = where + ": " + message_;
  return std::move(*this);
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "quarkq: internal error: %s does not hold at %s:%d; please report this\n", condition, file,
               line);
  std::abort();
}

}  // namespace quarkq
