// SPDX-License-Identifier: MIT
#include "onnx_io/diagnose.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/strings.h"

namespace quarkq::onnx_io {
namespace {

struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view what;
};

using namespace std::string_view_literals;

/// First bytes of files that people mistake for models.
constexpr std::array<Signature, 10> kSignatures = {{
    {0, "PK\x03\x04"sv, "a zip archive (also PyTorch and Keras models are)"},
    {0, "PK\x05\x06"sv, "an empty zip archive"},
    {0, "\x1f\x8b"sv, "a gzip file; unpack it first"},
    {0, "BZh"sv, "a bzip2 file; unpack it first"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "an xz file; unpack it first"},
    {0, "\x89HDF\r\n"sv, "an HDF5 file"},
    {0, "\x93NUMPY"sv, "a numpy array"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer; fetch the real file with 'git lfs pull'"},
}};

bool is_text(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

bool read_varint(std::string_view bytes, size_t& at, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Walks the outermost fields: a length that leads past the end is what a cut file looks like.
std::string first_damage(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t begin = at;
    uint64_t tag = 0, number = 0;
    if (!read_varint(bytes, at, tag)) return cat("truncated or damaged at byte ", begin);
    size_t length = 0;
    switch (tag & 7) {
      case 0:
        if (!read_varint(bytes, at, number)) return cat("truncated or damaged at byte ", begin);
        break;
      case 1: length = 8; break;
      case 5: length = 4; break;
      case 2:
        if (!read_varint(bytes, at, number)) return cat("truncated or damaged at byte ", begin);
        if (number > bytes.size() - at) {
          return cat("truncated or damaged: field ", tag >> 3, " at byte ", begin, " claims ", number, " bytes, only ",
                     bytes.size() - at, " are there");
        }
        length = static_cast<size_t>(number);
        break;
      default: return cat("damaged at byte ", begin, ": no protobuf field starts so");
    }
    if (length > bytes.size() - at) return cat("truncated at byte ", bytes.size());
    at += length;
  }
  return "damaged: a field inside is malformed or nested too deeply, or this is another kind of protobuf file";
}

}  // namespace

std::string describe_damage(std::string_view bytes) {
  for (const Signature& signature : kSignatures) {
    if (bytes.substr(std::min(signature.offset, bytes.size())).starts_with(signature.bytes)) {
      return cat("not an ONNX model but ", signature.what);
    }
  }
  if (is_text(bytes)) {
    const size_t start = bytes.find_first_not_of(" \t\r\n");
    const bool onnx_text = start != std::string_view::npos && bytes[start] == '<' &&
                           bytes.substr(start, 256).find("ir_version") != std::string_view::npos;
    return onnx_text ? "ONNX text syntax, must be a binary ONNX model" : "a text file, not an ONNX model";
  }
  return cat("not an ONNX model, or ", first_damage(bytes));
}

}  // namespace quarkq::onnx_io
