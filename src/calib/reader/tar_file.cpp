// SPDX-License-Identifier: MIT
// Headers of 512 bytes with numbers in octal, each before its data, which is padded to 512 bytes (POSIX.1-2017, pax).
#include "calib/reader/tar_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/strings.h"

namespace quarkq::calib {
namespace {

constexpr size_t kBlock = 512;
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
  for (size_t i = 0; i < kBlock; ++i)
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
  return std::all_of(block, block + kBlock, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<std::map<std::string, TarMember>> read_tar(const std::byte* data, size_t bytes, const std::string& name) {
  std::map<std::string, TarMember> members;
  std::optional<std::string> long_path;
  for (size_t at = 0; at < bytes;) {
    if (bytes - at < kBlock) return bad_data(name, ": truncated tar archive");
    if (is_end(data + at)) break;
    const std::optional<Header> header = read_tar_header(data + at);
    if (!header) return bad_data(name, at == 0 ? ": not a tar archive" : cat(": damaged tar archive, at byte ", at));
    at += kBlock;
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
    const size_t padded = size + (kBlock - size % kBlock) % kBlock;
    at += std::min(padded, bytes - at);
  }
  return members;
}

}  // namespace quarkq::calib
