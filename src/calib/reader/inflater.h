// SPDX-License-Identifier: MIT
// A raw deflate stream in memory, unpacked piece by piece into memory that the caller has sized.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>

namespace quarkq::calib {

class Inflater {
 public:
  /// The packed bytes stay valid as long as the object lives.
  Inflater(const std::byte* packed, uint64_t bytes);
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `to` as far as the stream goes and says how many bytes came.
  size_t fill(std::byte* to, size_t capacity);
  /// The stream ends here, and did so without an error. Consumes a byte when it does not.
  bool is_at_end();
  /// Damaged, or cut off before what was asked for.
  bool failed() const { return state_ != Z_OK && state_ != Z_STREAM_END; }

 private:
  z_stream stream_{};
  const std::byte* from_;
  uint64_t left_;
  int state_;
};

}  // namespace quarkq::calib
