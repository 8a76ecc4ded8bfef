// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/strings.h"
#include "quarkq/status.h"
#include "quarkq/version.h"

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

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "quarkq: internal error: %s does not hold at %s:%d; please report this\n", condition, file,
               line);
  std::abort();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string shape_text(const std::vector<long>& dims) {
  std::vector<std::string> parts;
  for (const long dim : dims) parts.push_back(dim < 0 ? "?" : std::to_string(dim));
  return "[" + join(parts, ",") + "]";
}

std::string bytes_text(double bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  // What would be printed as 1000 has the next unit.
  for (; bytes >= (unit == 0 ? 999.5 : 999.95) && unit < 4; ++unit) bytes /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
  return text;
}

}  // namespace quarkq
