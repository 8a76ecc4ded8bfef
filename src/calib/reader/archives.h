// SPDX-License-Identifier: MIT
// A deflate stream in memory, unpacked piece by piece into memory that the caller has sized.
#pragma once

#include <zlib.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

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

/// The members of a tar archive: ustar, the long names of GNU tar and pax, nothing else of them.
struct TarMember {
  size_t start = 0, bytes = 0;  ///< of the data in the archive
};

/// The regular files of the archive by their paths, without "./" in front; of equal paths the last counts, as tar has
/// it. Links and special files are left out. `name` is its name in messages. kBadData: damaged, truncated, a path that
/// leads out of the archive.
Result<std::map<std::string, TarMember>> read_tar(const std::byte* data, size_t bytes, const std::string& name);

/// The entries of a zip archive, as NumPy writes them: stored or deflated, with or without zip64 sizes. Written here on
/// zlib and not taken from a package: Debian's libzip brings OpenSSL and bzip2 for encryption and methods that no .npz
/// has, and minizip reads through files of its own; what is left to write is the walk over one directory, and every
/// number in it is checked against the size of the file.
struct ZipEntry {
  std::string name;
  bool is_deflated = false;
  uint32_t crc = 0;
  uint64_t packed_bytes = 0, bytes = 0;
  size_t start = 0;  ///< of the packed data in the file; packed_bytes of them are there
};

/// kBadData for any fault; messages name the file, and the entry where there is one.
class ZipFile {
 public:
  /// The archive in memory, which stays valid as long as the object is used; `name` is its name in messages.
  static Result<ZipFile> parse(const std::byte* data, size_t bytes, const std::string& name);

  /// Files only, in the order of the directory; names are unique and hold no control characters.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The first bytes of an entry, at most `limit`, unchecked.
  Result<std::vector<std::byte>> read_start(const ZipEntry& entry, size_t limit) const;
  /// All of an entry, its checksum tried. Allocates entry.bytes: compare that with what is expected before.
  Result<std::vector<std::byte>> read(const ZipEntry& entry) const;

 private:
  ZipFile(const std::byte* data, size_t bytes, std::string name) : data_(data), bytes_(bytes), name_(std::move(name)) {}
  Status read_directory();
  Status place_entry(ZipEntry& entry, uint64_t offset, uint16_t flags, uint16_t method) const;
  std::string called(const ZipEntry& entry) const { return cat(name_, ": entry ", entry.name); }

  const std::byte* data_;
  size_t bytes_;
  std::string name_;
  std::vector<ZipEntry> entries_;
};

}  // namespace quarkq::calib
