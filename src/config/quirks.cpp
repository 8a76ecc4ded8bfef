// SPDX-License-Identifier: MIT
#include "config/quirks.h"

#include <cctype>

namespace quarkq::config {

std::string quirk_name(const QuirkInfo& quirk) {
  std::string name;
  for (const char* c = quirk.id; *c != '\0'; ++c) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(*c)) != 0;
    if (is_upper && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  return name;
}

}  // namespace quarkq::config
