// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <cstdint>
#include <cstdio>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#define XXH_INLINE_ALL  // header only: no library to link
#include <xxhash.h>
#pragma GCC diagnostic pop

namespace quarkq {

struct alignas(64) ContentHash::State {
  XXH3_state_t hash;
};

ContentHash::ContentHash() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }
ContentHash::~ContentHash() = default;

void ContentHash::add(const void* data, size_t bytes) { XXH3_128bits_update(&state_->hash, data, bytes); }

void ContentHash::add(std::string_view text) {
  const uint64_t size = text.size();
  add(&size, sizeof(size));
  add(text.data(), text.size());
}

std::string ContentHash::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  char digits[33];
  std::snprintf(digits, sizeof(digits), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return digits;
}

}  // namespace quarkq
