// SPDX-License-Identifier: MIT
#include "calib/reader/archives.h"

#include <zlib.h>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "base/strings.h"

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

// Headers of 512 bytes with numbers in octal, each before its data, which is padded to 512 bytes (POSIX.1-2017, pax).

namespace {

constexpr size_t kTarBlock = 512;
constexpr size_t kMaxName = 64 << 10;  ///< bytes that hold a long name, or the records of a pax header
// Every folder above a member is kept under its whole path, so a path of many folders takes the square of its length.
constexpr size_t kMostPath = 4096, kMostFolders = 64;  ///< bytes, as PATH_MAX of Linux; levels
constexpr char kFile = '0', kOldFile = '\0', kContiguous = '7', kLongName = 'L', kPax = 'x';

struct Header {
  std::string path;
  uint64_t bytes = 0;
  char type = kFile;
};

std::string_view tar_field(const std::byte* block, size_t at, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(block) + at, bytes);
  return text.substr(0, text.find('\0'));
}

/// Octal digits between spaces, or 8 bytes big-endian after a set bit (GNU). Nothing when it is neither.
std::optional<uint64_t> tar_number(const std::byte* block, size_t at, size_t bytes) {
  uint64_t value = 0;
  if (block[at] == std::byte{0x80}) {
    for (size_t i = 1; i < bytes; ++i) {
      if (value >> 56 != 0) return std::nullopt;
      value = value << 8 | std::to_integer<uint64_t>(block[at + i]);
    }
    return value;
  }
  std::string_view text = tar_field(block, at, bytes);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  for (const char c : text) {
    if (c < '0' || c > '7' || value >> 60 != 0) return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

bool has_right_checksum(const std::byte* block) {
  constexpr size_t kAt = 148, kBytes = 8;  // counts as spaces
  uint64_t sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i)
    sum += i >= kAt && i < kAt + kBytes ? uint64_t{' '} : std::to_integer<uint64_t>(block[i]);
  return tar_number(block, kAt, kBytes) == sum;
}

std::optional<Header> read_tar_header(const std::byte* block) {
  if (!has_right_checksum(block)) return std::nullopt;
  const std::optional<uint64_t> bytes = tar_number(block, 124, 12);
  if (!bytes) return std::nullopt;
  Header header{std::string(tar_field(block, 0, 100)), *bytes, static_cast<char>(block[156])};
  const std::string_view prefix = tar_field(block, 345, 155);
  const bool is_ustar = std::memcmp(block + 257, "ustar\0", 6) == 0;  // GNU's own header has other fields there
  if (is_ustar && !prefix.empty()) header.path = cat(prefix, "/", header.path);
  return header;
}

/// The value of "path" among records "<length> <key>=<value>\n"; nothing when there is none.
std::optional<std::string> pax_path(std::string_view records) {
  std::optional<std::string> path;
  while (!records.empty()) {
    size_t length = 0, at = 0;
    while (at < records.size() && at < 8 && records[at] >= '0' && records[at] <= '9')
      length = 10 * length + static_cast<size_t>(records[at++] - '0');
    if (length <= at || length > records.size()) return path;
    const std::string_view record = records.substr(at, length - at);
    constexpr std::string_view kKey = " path=";
    if (record.starts_with(kKey) && record.ends_with('\n'))
      path = std::string(record.substr(kKey.size(), record.size() - kKey.size() - 1));
    records.remove_prefix(length);
  }
  return path;
}

/// Returns `path` without "./", or an empty string if it leads out of the archive, is not text or exceeds the bounds.
std::string clean_path(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  const bool is_long =
      path.size() > kMostPath || std::ranges::count(path, '/') > static_cast<std::ptrdiff_t>(kMostFolders);
  const bool is_bad = is_long || path.starts_with('/') || cat("/", path, "/").find("/../") != std::string::npos ||
                      path.find("//") != std::string::npos ||
                      std::any_of(path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) < 32; });
  return is_bad ? std::string() : path;
}

bool is_end(const std::byte* block) {
  return std::all_of(block, block + kTarBlock, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<std::map<std::string, TarMember>> read_tar(const std::byte* data, size_t bytes, const std::string& name) {
  std::map<std::string, TarMember> members;
  std::optional<std::string> long_path;
  for (size_t at = 0; at < bytes;) {
    if (bytes - at < kTarBlock) return bad_data(name, ": truncated tar archive");
    if (is_end(data + at)) break;
    const std::optional<Header> header = read_tar_header(data + at);
    if (!header) return bad_data(name, at == 0 ? ": not a tar archive" : cat(": damaged tar archive, at byte ", at));
    at += kTarBlock;
    if (header->bytes > bytes - at) return bad_data(name, ": truncated tar archive, in ", header->path);
    const auto size = static_cast<size_t>(header->bytes);
    const std::string_view text(reinterpret_cast<const char*>(data) + at, std::min(size, kMaxName));
    if (header->type == kLongName) long_path = std::string(text.substr(0, text.find('\0')));
    if (header->type == kPax && pax_path(text)) long_path = pax_path(text);
    if (header->type == kFile || header->type == kOldFile || header->type == kContiguous) {
      const std::string asked = long_path.value_or(header->path), path = clean_path(asked);
      if (path.empty())
        return bad_data(name, ": tar archive with the path '", asked.substr(0, 100), "', which no sample has");
      members[path] = {at, size};
    }
    if (header->type != kLongName && header->type != kPax) long_path.reset();
    const size_t padded = size + (kTarBlock - size % kTarBlock) % kTarBlock;
    at += std::min(padded, bytes - at);
  }
  return members;
}

// From APPNOTE.TXT, the published description of the format: 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to 4.3.16
// (ends), 4.5.3 (zip64 sizes).

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
  if (reader.u32() != kEnd64Mark)
    return bad_data(name, ": damaged zip archive, the zip64 end is missing at the position it specifies");
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
  if (local.u32() != kLocalMark)
    return bad_data(called(entry), ": damaged, no entry begins at the position in the directory");
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
    return bad_data(called(entry), ": ", entry.packed_bytes, " packed bytes claim to contain ", entry.bytes,
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
    return bad_data(called(entry), ": contains ", bytes.size(), " bytes, the directory specifies ", entry.bytes);
  }
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != entry.crc) return bad_data(called(entry), ": damaged, its checksum is wrong");
  return bytes;
}

}  // namespace quarkq::calib
