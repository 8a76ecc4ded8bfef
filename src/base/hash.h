// SPDX-License-Identifier: MIT
// Content hashes (XXH3, 128 bits). They identify files and models, and do not protect against tampering.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace quarkq {

class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;

  void add(const void* data, size_t bytes);
  /// Adds text with its length, so that "ab", "c" and "a", "bc" differ.
  void add(std::string_view text);

  /// Returns 32 lower-case hexadecimal digits for everything added so far.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarkq
