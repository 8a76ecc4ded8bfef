// SPDX-License-Identifier: MIT
// A deflate stream in memory, unpacked piece by piece into memory of the caller.
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
  enum class Form { kRaw, kGzip };  ///< The form in zip archives, or with gzip's header and checksum.

  /// The packed bytes must stay valid as long as the object exists.
  Inflater(const std::byte* packed, uint64_t bytes, Form form = Form::kRaw);
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `to` up to the end of the stream and returns the number of bytes.
  size_t fill(std::byte* to, size_t capacity);
  /// Returns whether the stream ends here without an error. Consumes a byte if it does not.
  bool is_at_end();
  /// Returns whether the end of the stream has been read.
  bool is_done() const { return state_ == Z_STREAM_END; }
  /// Returns the number of packed bytes that were not read.
  uint64_t left() const { return left_; }
  /// Returns whether the stream is damaged, or ended before the requested bytes.
  bool failed() const { return state_ != Z_OK && state_ != Z_STREAM_END; }

 private:
  z_stream stream_{};
  const std::byte* from_;
  uint64_t left_;
  int state_;
};

/// The members of a tar archive: ustar, and the long names of GNU tar and pax; no other extensions.
struct TarMember {
  size_t start = 0, bytes = 0;  ///< Position and size of the data in the archive.
};

/// Returns the regular files of the archive by their paths, without a leading "./". Of equal paths the last counts, as
/// in tar. Links and special files are ignored. Messages refer to the archive as `name`. Fails with kBadData if it is
/// damaged or truncated, or if a path leads out of the archive.
Result<std::map<std::string, TarMember>> read_tar(const std::byte* data, size_t bytes, const std::string& name);

/// The entries of a zip archive as written by NumPy: stored or deflated, with or without zip64 sizes. Implemented here
/// on zlib instead of a package: Debian's libzip depends on OpenSSL and bzip2 for encryption and methods that no .npz
/// uses, and minizip reads only files. Every number in the directory is checked against the size of the file.
struct ZipEntry {
  std::string name;
  bool is_deflated = false;
  uint32_t crc = 0;
  uint64_t packed_bytes = 0, bytes = 0;
  size_t start = 0;  ///< Position of the packed data in the file; packed_bytes of them exist.
};

/// Fails with kBadData for any fault; messages name the file and, if known, the entry.
class ZipFile {
 public:
  /// Parses the archive in memory, which must stay valid as long as the object is used. Messages refer to it as `name`.
  static Result<ZipFile> parse(const std::byte* data, size_t bytes, const std::string& name);

  /// Returns only files, in the order of the directory. Names are unique and contain no control characters.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// Returns the first bytes of an entry, at most `limit`, without checking its checksum.
  Result<std::vector<std::byte>> read_start(const ZipEntry& entry, size_t limit) const;
  /// Returns the whole entry after checking its checksum. Allocates entry.bytes, so check that size first.
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
