// SPDX-License-Identifier: MIT
#include "calib/reader/inflater.h"

#include <algorithm>

namespace quarkq::calib {
namespace {

constexpr uInt kStep = uInt{1} << 30;  // zlib counts in 32 bits

}  // namespace

Inflater::Inflater(const std::byte* packed, uint64_t bytes, Form form) : from_(packed), left_(bytes) {
  state_ = inflateInit2(&stream_, form == Form::kRaw ? -MAX_WBITS : MAX_WBITS + 16);
}

size_t Inflater::fill(std::byte* to, size_t capacity) {
  size_t written = 0;
  while (state_ == Z_OK && written < capacity) {
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(from_));
    stream_.avail_in = static_cast<uInt>(std::min<uint64_t>(kStep, left_));
    stream_.next_out = reinterpret_cast<Bytef*>(to + written);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(kStep, capacity - written));
    const uInt in = stream_.avail_in, out = stream_.avail_out;
    state_ = inflate(&stream_, Z_NO_FLUSH);
    from_ += in - stream_.avail_in;
    left_ -= in - stream_.avail_in;
    written += out - stream_.avail_out;
  }
  return written;
}

bool Inflater::is_at_end() {
  std::byte rest{};
  return state_ == Z_STREAM_END || (fill(&rest, 1) == 0 && state_ == Z_STREAM_END);
}

}  // namespace quarkq::calib
