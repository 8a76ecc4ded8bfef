// SPDX-License-Identifier: MIT
// The seam to stb_image. A file's claims are checked before the library decodes it, and the library's memory is limited
// to what the claimed size can need, so that a small file cannot exhaust the machine.
#include "calib/image/decode_image.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/file_system.h"
#include "calib/image/image_formats.h"

namespace quarkq::calib {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 28;
constexpr size_t kSmallImage = size_t{64} << 20;  ///< decoded bytes below which no ratio is suspicious
constexpr size_t kMaxRatio = 2000;                ///< decoded bytes per byte of the file

thread_local size_t allocation_limit = 0;  ///< bytes of one block of the decoder

/// Zeroed, because a damaged file can make the decoder read a table that it never filled.
void* allocate_limited(size_t bytes) { return bytes > allocation_limit ? nullptr : std::calloc(bytes, 1); }
void* reallocate_limited(void* block, size_t bytes) {
  return bytes > allocation_limit ? nullptr : std::realloc(block, bytes);
}

}  // namespace
}  // namespace quarkq::calib

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS (1 << 20)
#define STBI_ASSERT(condition) static_cast<void>(0)
#define STBI_MALLOC(bytes) quarkq::calib::allocate_limited(bytes)
#define STBI_REALLOC(block, bytes) quarkq::calib::reallocate_limited(block, bytes)
#define STBI_FREE(block) std::free(block)
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace quarkq::calib {
namespace {

struct Claim {
  int width = 0, height = 0;
};

bool starts_with(const std::byte* data, size_t bytes, std::string_view magic) {
  return bytes >= magic.size() && std::memcmp(data, magic.data(), magic.size()) == 0;
}

/// The decoder's reason, reworded where it would mislead.
Status undecodable(const std::string& name, std::string_view why) {
  if (why == "outofmem") why = "more data than its header claims";
  if (why == "unknown image type") why = "its header is damaged, claims too many pixels, or is of a kind not supported";
  return bad_data(name, ": cannot be decoded: ", why);
}

/// Refuses files that are not images, and JPEG files that would crash the decoder or that it would wrongly accept.
Status check_format(const std::byte* data, size_t bytes, const std::string& name) {
  if (bytes > kMaxFileBytes) {
    return bad_data(name, ": ", bytes_text(static_cast<double>(bytes)), ", allowed for an image file are ",
                    bytes_text(static_cast<double>(kMaxFileBytes)));
  }
  if (starts_with(data, bytes, "\x89PNG\r\n\x1A\n")) return {};
  if (starts_with(data, bytes, "BM")) return {};
  if (!starts_with(data, bytes, "\xFF\xD8")) return bad_data(name, ": neither a JPEG, a PNG nor a BMP image");
  const char* damage = find_jpeg_damage(data, bytes);
  return damage == nullptr ? Status() : undecodable(name, damage);
}

Result<Claim> read_claim(const std::byte* data, size_t bytes, const std::string& name, int64_t channels) {
  Claim claim;
  int file_channels = 0;
  allocation_limit = kSmallImage;
  const auto* raw = reinterpret_cast<const stbi_uc*>(data);
  if (stbi_info_from_memory(raw, static_cast<int>(bytes), &claim.width, &claim.height, &file_channels) == 0) {
    return undecodable(name, stbi_failure_reason());
  }
  const int64_t pixels = int64_t{claim.width} * claim.height;
  if (pixels > kMaxPixels) {
    return bad_data(name, ": ", claim.width, "x", claim.height, " pixels, allowed are ", kMaxPixels);
  }
  const size_t decoded = static_cast<size_t>(pixels * channels);
  if (decoded > kSmallImage && decoded / kMaxRatio > bytes) {
    return bad_data(name, ": claims ", claim.width, "x", claim.height, " pixels in ", bytes,
                    " bytes, more than any photo can hold");
  }
  return claim;
}

/// The largest block that a file of this size and claim can make the decoder allocate: 16-bit RGBA, or coefficients in
/// blocks of up to 32 x 32 pixels, or compressed data in a buffer that grows by doubling.
size_t limit_for(const Claim& claim, size_t bytes) {
  const size_t area = (static_cast<size_t>(claim.width) + 64) * (static_cast<size_t>(claim.height) + 64);
  return 8 * area + 2 * bytes + (size_t{1} << 20);
}

/// ITU-R 601-2 luma in 16-bit fixed point, as Pillow's mode "L".
std::vector<uint8_t> luma(const std::vector<uint8_t>& rgb) {
  std::vector<uint8_t> grey(rgb.size() / 3);
  for (size_t i = 0; i < grey.size(); ++i) {
    const uint32_t sum = 19595u * rgb[3 * i] + 38470u * rgb[3 * i + 1] + 7471u * rgb[3 * i + 2];
    grey[i] = static_cast<uint8_t>((sum + 0x8000) >> 16);
  }
  return grey;
}

}  // namespace

Status check_image(const std::byte* data, size_t bytes, const std::string& name) {
  QQ_RETURN_IF_ERROR(check_format(data, bytes, name));
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  if (text[1] == 'P' && text.rfind("IEND") == std::string_view::npos)
    return undecodable(name, "it ends before its last chunk");
  return read_claim(data, bytes, name, 4).status();
}

Result<Image> parse_image(const std::byte* data, size_t bytes, const std::string& name, int64_t channels) {
  QQ_RETURN_IF_ERROR(check_format(data, bytes, name));
  QQ_TRY(const Claim claim, read_claim(data, bytes, name, channels));
  allocation_limit = limit_for(claim, bytes);
  const int wanted = channels == 4 ? 4 : 3;
  int width = 0, height = 0, file_channels = 0;
  const auto* raw = reinterpret_cast<const stbi_uc*>(data);
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(raw, static_cast<int>(bytes), &width, &height, &file_channels, wanted), std::free);
  if (pixels == nullptr) return undecodable(name, stbi_failure_reason());
  Image image{height, width, wanted, {}};
  image.pixels.assign(pixels.get(), pixels.get() + static_cast<size_t>(int64_t{height} * width * wanted));
  if (channels == 1) {
    image.pixels = luma(image.pixels);
    image.channels = 1;
  }
  return image;
}

Result<Image> read_image_size(const std::string& path) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok()) return bad_data(file.status().message());
  QQ_RETURN_IF_ERROR(check_format(file.value()->data(), file.value()->size(), path));
  QQ_TRY(const Claim claim, read_claim(file.value()->data(), file.value()->size(), path, 3));
  return Image{claim.height, claim.width, 0, {}};
}

Result<Image> decode_image(const std::string& path, int64_t channels) {
  const Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok()) return bad_data(file.status().message());
  return parse_image(file.value()->data(), file.value()->size(), path, channels);
}

}  // namespace quarkq::calib
