// SPDX-License-Identifier: MIT
// A deflate stream in memory, unpacked piece by piece into memory that the caller has sized.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>

namespace quarkq::calib {

class Inflater {
 public:
  enum class Form { kRaw, kGzip };  ///< as in zip archives, or with gzip's head and checksum

  /// The packed bytes stay valid as long as the object lives.
  Inflater(const std::byte* packed, uint64_t bytes, Form form = Form::kRaw);
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `to` as far as the stream reaches and says how many bytes came.
  size_t fill(std::byte* to, size_t capacity);
  /// The stream ends here, and did so without an error. Consumes a byte when it does not.
  bool is_at_end();
  /// The end of the stream has been read.
  bool is_done() const { return state_ == Z_STREAM_END; }
  /// Packed bytes after what was read.
  uint64_t left() const { return left_; }
  /// Damaged, or cut off before what was asked for.
  bool failed() const { return state_ != Z_OK && state_ != Z_STREAM_END; }

 private:
  z_stream stream_{};
  const std::byte* from_;
  uint64_t left_;
  int state_;
};

}  // namespace quarkq::calib
