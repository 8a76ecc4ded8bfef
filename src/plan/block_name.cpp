// SPDX-License-Identifier: MIT
#include "plan/block_name.h"

#include <cctype>

namespace quarkq::plan {

std::string block_name(const std::string& op, const std::vector<ir::Attribute>& attributes) {
  constexpr int64_t kPrimeBits = 7;  // of a block with sub-blocks, BFP of 13 bits is MX6
  int64_t bit_width = 16;
  std::string element = "int8";
  bool is_prime = false;
  for (const ir::Attribute& attribute : attributes) {
    const auto* text = std::get_if<std::string>(&attribute.value);
    const auto* integer = std::get_if<int64_t>(&attribute.value);
    if (attribute.name == "bit_width" && integer != nullptr) bit_width = *integer;
    if (attribute.name == "element_dtype" && text != nullptr) element = *text;
    if (attribute.name == "bfp_method" && text != nullptr) is_prime = *text == "to_bfp_prime";
  }
  if (op.starts_with("BFP")) return is_prime ? cat("MX", bit_width - kPrimeBits) : cat("BFP", bit_width);
  for (char& letter : element) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return "MX" + element;
}

}  // namespace quarkq::plan
