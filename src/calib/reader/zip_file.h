// SPDX-License-Identifier: MIT
// The entries of a zip archive, as NumPy writes them: stored or deflated, with or without zip64 sizes. Written here on
// zlib and not taken from a package: Debian's libzip brings OpenSSL and bzip2 for encryption and methods that no .npz
// has, and minizip reads through files of its own; what is left to write is the walk over one directory, and every
// number in it is checked against the size of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace quarkq::calib {

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
