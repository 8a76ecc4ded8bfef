// SPDX-License-Identifier: MIT
// The bytes of .npy files and zip archives, made by hand so that tests and fuzz seeds can also make wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace quarkq::test {

/// A .npy file of format version `major` with this header text, padded as NumPy pads.
inline std::string npy_bytes(std::string header, const std::string& data, int major = 1) {
  const size_t length_bytes = major == 1 ? 2 : 4;
  while ((8 + length_bytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (size_t i = 0; i < length_bytes; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + data;
}

inline std::string npy_header(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// `value` in `bytes` little-endian bytes.
inline std::string number(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out += i < 8 ? static_cast<char>(value >> (8 * i) & 0xFF) : '\0';
  return out;
}

/// An entry as written, valid or not.
struct ZipPart {
  std::string name, packed;
  uint16_t method = 0, flags = 0;
  uint32_t crc = 0;
  uint64_t bytes = 0;
  bool is_64 = false;  ///< sizes and offset in the zip64 field
};

inline uint32_t crc_of(const std::string& data) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

inline ZipPart stored(const std::string& name, const std::string& data) {
  return {name, data, 0, 0, crc_of(data), data.size(), false};
}

/// A deflate stream that is not smaller: blocks of the kind "stored".
inline std::string deflate_stream(const std::string& data) {
  std::string packed;
  for (size_t at = 0; at == 0 || at < data.size(); at += 65535) {
    const std::string block = data.substr(at, 65535);
    packed += at + 65535 >= data.size() ? '\1' : '\0';
    packed += number(block.size(), 2) + number(~block.size(), 2) + block;
  }
  return packed;
}

inline ZipPart deflated(const std::string& name, const std::string& data) {
  return {name, deflate_stream(data), 8, 0, crc_of(data), data.size(), false};
}

inline std::string zip_head(const ZipPart& part, bool is_directory, uint64_t offset) {
  const uint64_t none = 0xFFFFFFFF;
  const std::string extra = !part.is_64 ? ""
                                        : number(1, 2) + number(24, 2) + number(part.bytes, 8) +
                                              number(part.packed.size(), 8) + number(offset, 8);
  std::string head = is_directory ? "PK\1\2" + number(20, 2) : "PK\3\4";
  head += number(20, 2) + number(part.flags, 2) + number(part.method, 2) + number(0, 4) + number(part.crc, 4);
  head += number(part.is_64 ? none : part.packed.size(), 4) + number(part.is_64 ? none : part.bytes, 4);
  head += number(part.name.size(), 2) + number(extra.size(), 2);
  if (is_directory) head += number(0, 10) + number(part.is_64 ? none : offset, 4);
  return head + part.name + extra;
}

/// The archive. `claimed`: entries that its end claims to have, if not -1.
inline std::string zip_bytes(const std::vector<ZipPart>& parts, int claimed = -1, const std::string& comment = "") {
  std::string file, directory;
  for (const ZipPart& part : parts) {
    directory += zip_head(part, /*is_directory=*/true, file.size());
    file += zip_head(part, /*is_directory=*/false, file.size()) + part.packed;
  }
  const uint64_t count = claimed >= 0 ? static_cast<uint64_t>(claimed) : parts.size();
  return file + directory + "PK\5\6" + number(0, 4) + number(count, 2) + number(count, 2) +
         number(directory.size(), 4) + number(file.size(), 4) + number(comment.size(), 2) + comment;
}

/// One member of a tar archive: ustar header with the right checksum, data, padding. A path above 100 bytes is split at
/// its first '/' into prefix and name.
inline std::string tar_member(const std::string& path, const std::string& data, char type = '0') {
  const size_t slash = path.size() > 100 ? path.find('/') : std::string::npos;
  const std::string prefix = slash == std::string::npos ? "" : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string head(512, '\0');
  head.replace(0, name.size(), name);
  char octal[16];
  std::snprintf(octal, sizeof octal, "%011zo", data.size());
  head.replace(124, 11, octal);
  head[156] = type;
  head.replace(257, 8,
               std::string("ustar\0"
                           "00",
                           8));
  head.replace(345, prefix.size(), prefix);
  unsigned sum = 8 * ' ';
  for (const char c : head) sum += static_cast<uint8_t>(c);
  std::snprintf(octal, sizeof octal, "%06o", sum);
  head.replace(148, 8, std::string(octal, 6) + std::string("\0 ", 2));
  return head + data + std::string((512 - data.size() % 512) % 512, '\0');
}

struct TarPart {
  std::string path, data;
};

inline std::string tar_bytes(const std::vector<TarPart>& parts) {
  std::string file;
  for (const TarPart& part : parts) file += tar_member(part.path, part.data);
  return file + std::string(1024, '\0');
}

/// The same bytes as a gzip file.
inline std::string gzip_bytes(const std::string& data) {
  return std::string("\x1F\x8B\x08\0\0\0\0\0\0\xFF", 10) + deflate_stream(data) + number(crc_of(data), 4) +
         number(data.size(), 4);
}

inline std::string big_endian(uint32_t value) {
  std::string bytes = number(value, 4);
  return {bytes.rbegin(), bytes.rend()};
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  return big_endian(static_cast<uint32_t>(data.size())) + type + data + big_endian(crc_of(type + data));
}

/// An 8-bit RGB image of one colour.
inline std::string png_bytes(uint32_t width, uint32_t height, uint8_t red, uint8_t green, uint8_t blue) {
  std::string rows;
  for (uint32_t y = 0; y < height; ++y) {
    rows += '\0';  // filter "none"
    for (uint32_t x = 0; x < width; ++x)
      rows += {static_cast<char>(red), static_cast<char>(green), static_cast<char>(blue)};
  }
  uint32_t a = 1, b = 0;  // Adler-32
  for (const char c : rows) {
    a = (a + static_cast<uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  const std::string head = big_endian(width) + big_endian(height) + std::string("\x08\x02\0\0\0", 5);
  return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", head) +
         png_chunk("IDAT", "\x78\x01" + deflate_stream(rows) + big_endian(b << 16 | a)) + png_chunk("IEND", "");
}

}  // namespace quarkq::test
