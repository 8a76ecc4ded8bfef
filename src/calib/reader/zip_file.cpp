// SPDX-License-Identifier: MIT
// From APPNOTE.TXT, the published description of the format: 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to 4.3.16
// (ends), 4.5.3 (zip64 sizes).
#include "calib/reader/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <set>

#include "calib/reader/inflater.h"

namespace quarkq::calib {
namespace {

constexpr uint32_t kEndMark = 0x06054B50, kEnd64Mark = 0x06064B50, kLocator64Mark = 0x07064B50;
constexpr uint32_t kDirectoryMark = 0x02014B50, kLocalMark = 0x04034B50;
constexpr size_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20, kDirectoryBytes = 46, kLocalBytes = 30;
constexpr size_t kMaxComment = 65535;
constexpr uint16_t kIsEncrypted = 1, kExtra64 = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  ///< "see the zip64 field"
// Deflate packs zeros a thousand to one; honest arrays that large do not consist of zeros.
constexpr uint64_t kBombBytes = uint64_t{64} << 20, kBombRatio = 1000;

/// Little-endian numbers from bytes whose number is known. Reads past the end give 0 and are remembered.
class ByteReader {
 public:
  ByteReader(const std::byte* data, size_t bytes) : data_(data), bytes_(bytes) {}
  uint64_t number(size_t bytes) {
    if (!skip(bytes)) return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= std::to_integer<uint64_t>(data_[at_ - bytes + i]) << (8 * i);
    return value;
  }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  bool skip(size_t bytes) {
    if (bytes > bytes_ - at_) return failed_ = true, false;
    at_ += bytes;
    return true;
  }
  std::string text(size_t bytes) {
    return skip(bytes) ? std::string(reinterpret_cast<const char*>(data_) + at_ - bytes, bytes) : std::string();
  }
  ByteReader part(size_t bytes) { return skip(bytes) ? ByteReader(data_ + at_ - bytes, bytes) : ByteReader(data_, 0); }
  size_t left() const { return bytes_ - at_; }
  bool failed() const { return failed_; }

 private:
  const std::byte* data_;
  size_t bytes_, at_ = 0;
  bool failed_ = false;
};

struct DirectoryPlace {
  uint64_t entries = 0, bytes = 0, offset = 0;
};

/// Where the last "end of central directory" begins that reaches exactly to the end of the file.
std::optional<size_t> find_end(const std::byte* data, size_t bytes) {
  if (bytes < kEndBytes) return std::nullopt;
  for (size_t comment = 0; comment <= std::min(kMaxComment, bytes - kEndBytes); ++comment) {
    const size_t at = bytes - kEndBytes - comment;
    ByteReader reader(data + at, kEndBytes);
    if (reader.u32() != kEndMark) continue;
    reader.skip(16);
    if (reader.u16() == comment) return at;
  }
  return std::nullopt;
}

/// The zip64 form of `place`, when the end at `end` has one.
Status read_end_64(const std::byte* data, size_t end, const std::string& name, DirectoryPlace& place) {
  if (end < kLocator64Bytes) return Status();
  ByteReader locator(data + end - kLocator64Bytes, kLocator64Bytes);
  if (locator.u32() != kLocator64Mark) return Status();
  locator.skip(4);
  const uint64_t at = locator.u64();
  if (at > end || end - at < kEnd64Bytes)
    return bad_data(name, ": damaged zip archive, its zip64 end is outside the file");
  ByteReader reader(data + at, kEnd64Bytes);
  if (reader.u32() != kEnd64Mark) return bad_data(name, ": damaged zip archive, it has no zip64 end where it says");
  reader.skip(28);
  place = {reader.u64(), reader.u64(), reader.u64()};
  return Status();
}

Result<DirectoryPlace> find_directory(const std::byte* data, size_t bytes, const std::string& name) {
  const std::optional<size_t> end = find_end(data, bytes);
  if (!end) return bad_data(name, ": not a zip archive, or a truncated one");
  ByteReader reader(data + *end, kEndBytes);
  reader.skip(4);
  const uint16_t disk = reader.u16(), first_disk = reader.u16();
  if ((disk != 0 && disk != 0xFFFF) || (first_disk != 0 && first_disk != 0xFFFF)) {
    return bad_data(name, ": an archive of several parts, one file is allowed");
  }
  reader.skip(2);
  DirectoryPlace place;
  place.entries = reader.u16();
  place.bytes = reader.u32();
  place.offset = reader.u32();
  QQ_RETURN_IF_ERROR(read_end_64(data, *end, name, place));
  if (place.offset > *end || place.bytes > *end - place.offset) {
    return bad_data(name, ": damaged zip archive, its directory of ", place.bytes, " bytes at ", place.offset,
                    " is outside the file");
  }
  if (place.entries > place.bytes / kDirectoryBytes) {
    return bad_data(name, ": damaged zip archive, ", place.entries, " entries in a directory of ", place.bytes,
                    " bytes");
  }
  return place;
}

/// Sizes and offset that do not fit 32 bits, from the extra fields: there in this order, each only when needed.
bool read_extra_64(ByteReader extra, ZipEntry& entry, uint64_t& offset) {
  while (extra.left() >= 4) {
    const uint16_t id = extra.u16(), size = extra.u16();
    ByteReader field = extra.part(size);
    if (extra.failed()) return false;
    if (id != kExtra64) continue;
    if (entry.bytes == kIn64) entry.bytes = field.u64();
    if (entry.packed_bytes == kIn64) entry.packed_bytes = field.u64();
    if (offset == kIn64) offset = field.u64();
    return !field.failed();
  }
  return true;
}

bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
}

/// Inflates or copies the first `capacity` bytes, all when that is entry.bytes, and says how many came.
Result<size_t> unpack(const ZipEntry& entry, const std::byte* from, std::byte* to, size_t capacity,
                      const std::string& what) {
  if (!entry.is_deflated) {
    std::copy(from, from + capacity, to);
    return capacity;
  }
  Inflater inflater(from, entry.packed_bytes);
  const size_t written = inflater.fill(to, capacity);
  const bool is_bad = capacity == entry.bytes ? !inflater.is_at_end() : inflater.failed();
  if (is_bad) return bad_data(what, ": damaged, it does not inflate to the ", entry.bytes, " bytes it claims");
  return written;
}

}  // namespace

Result<ZipFile> ZipFile::parse(const std::byte* data, size_t bytes, const std::string& name) {
  ZipFile zip(data, bytes, name);
  QQ_RETURN_IF_ERROR(zip.read_directory());
  return zip;
}

Status ZipFile::read_directory() {
  QQ_TRY(const DirectoryPlace place, find_directory(data_, bytes_, name_));
  ByteReader reader(data_ + place.offset, static_cast<size_t>(place.bytes));
  std::set<std::string> names;
  for (uint64_t i = 0; i < place.entries; ++i) {
    ZipEntry entry;
    if (reader.u32() != kDirectoryMark) return bad_data(name_, ": damaged zip archive, entry ", i, " is none");
    reader.skip(4);
    const uint16_t flags = reader.u16(), method = reader.u16();
    reader.skip(4);
    entry.crc = reader.u32();
    entry.packed_bytes = reader.u32();
    entry.bytes = reader.u32();
    const uint16_t name_bytes = reader.u16(), extra_bytes = reader.u16(), comment_bytes = reader.u16();
    reader.skip(8);
    uint64_t offset = reader.u32();
    entry.name = reader.text(name_bytes);
    const bool is_whole = read_extra_64(reader.part(extra_bytes), entry, offset);
    reader.skip(comment_bytes);
    if (!is_whole || reader.failed()) return bad_data(name_, ": damaged zip archive, entry ", i, " is cut off");
    if (entry.name.empty() || has_control_character(entry.name) || !names.insert(entry.name).second) {
      return bad_data(name_, ": damaged zip archive, the name of entry ", i, " is empty, repeated or not text");
    }
    if (entry.name.back() == '/') continue;  // a folder
    QQ_RETURN_IF_ERROR(place_entry(entry, offset, flags, method));
    entries_.push_back(std::move(entry));
  }
  return Status();
}

Status ZipFile::place_entry(ZipEntry& entry, uint64_t offset, uint16_t flags, uint16_t method) const {
  if ((flags & kIsEncrypted) != 0) return bad_data(called(entry), ": encrypted, which is not supported");
  if (method != kStored && method != kDeflated) {
    return bad_data(called(entry), ": compression method ", method, ", supported are 0 (stored) and 8 (deflated)");
  }
  entry.is_deflated = method == kDeflated;
  if (offset > bytes_ || bytes_ - offset < kLocalBytes) return bad_data(called(entry), ": begins outside the file");
  ByteReader local(data_ + offset, kLocalBytes);
  if (local.u32() != kLocalMark) return bad_data(called(entry), ": damaged, no entry begins where the directory says");
  local.skip(22);
  const size_t name_bytes = local.u16(), extra_bytes = local.u16();
  const uint64_t start = offset + kLocalBytes + name_bytes + extra_bytes;
  if (start > bytes_ || entry.packed_bytes > bytes_ - start) {
    return bad_data(called(entry), ": ", entry.packed_bytes, " packed bytes, the file ends before");
  }
  if (!entry.is_deflated && entry.packed_bytes != entry.bytes) {
    return bad_data(called(entry), ": stored as ", entry.packed_bytes, " bytes, it claims ", entry.bytes);
  }
  if (entry.bytes > kBombBytes && entry.bytes / kBombRatio > entry.packed_bytes) {
    return bad_data(called(entry), ": ", entry.packed_bytes, " packed bytes claim to hold ", entry.bytes,
                    ", allowed is ", kBombRatio, " times as much");
  }
  entry.start = static_cast<size_t>(start);
  return Status();
}

Result<std::vector<std::byte>> ZipFile::read_start(const ZipEntry& entry, size_t limit) const {
  std::vector<std::byte> bytes(static_cast<size_t>(std::min<uint64_t>(entry.bytes, limit)));
  QQ_TRY(const size_t count, unpack(entry, data_ + entry.start, bytes.data(), bytes.size(), called(entry)));
  bytes.resize(count);
  return bytes;
}

Result<std::vector<std::byte>> ZipFile::read(const ZipEntry& entry) const {
  QQ_TRY(std::vector<std::byte> bytes, read_start(entry, static_cast<size_t>(entry.bytes)));
  if (bytes.size() != entry.bytes) {
    return bad_data(called(entry), ": holds ", bytes.size(), " bytes, the directory says ", entry.bytes);
  }
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != entry.crc) return bad_data(called(entry), ": damaged, its checksum is wrong");
  return bytes;
}

}  // namespace quarkq::calib
