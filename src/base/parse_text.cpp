// SPDX-License-Identifier: MIT
#include "base/parse_text.h"

namespace quarkq {

Result<std::vector<std::string>> quoted_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (quote != 0) word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else if (static_cast<unsigned char>(c) < 32) {
      return bad_data("contains control characters, a text is needed");
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return bad_data("a quote ", quote, " without its end");
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace quarkq
