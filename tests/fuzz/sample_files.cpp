// SPDX-License-Identifier: MIT
#include "fuzz/sample_files.h"

#include <atomic>
#include <random>

#include "calib/data_reader.h"
#include "calib/image/image_formats.h"
#include "calib/npy.h"
#include "calib/reader/archives.h"
#include "calib/reader/file_formats.h"
#include "calib/reader/sample_files.h"
#include "fuzz/memory_file.h"
#include "unit/calib/file_bytes.h"

namespace quarkq::fuzz {
namespace {

/// The inputs that the seeds are for, and some that they are not for.
const std::vector<calib::InputSpec>& inputs() {
  static const std::vector<calib::InputSpec> specs = {
      {"x", ElementType::kFloat, true, {1, 3, 4, 4}},
      {"any", ElementType::kFloat, true, {-1, 3, -1, -1}},
      {"ids", ElementType::kInt64, true, {1, 4}},
      {"half", ElementType::kFloat16, false, {}},
  };
  return specs;
}

void use(Result<ir::Tensor> tensor, const calib::InputSpec& input) {
  if (!tensor.ok()) return;
  Result<ir::Tensor> fitted = calib::fit_to_input(std::move(tensor).value(), input, "fuzz");
  if (!fitted.ok()) return;
  calib::Sample sample;
  sample.inputs.push_back(std::move(fitted).value());
  (void)calib::check_finite(sample, {input}).ok();
}

void read_as(const char* kind, const uint8_t* data, size_t size, const calib::DataOptions& options = {}) {
  const calib::FileBytes bytes{nullptr, reinterpret_cast<const std::byte*>(data), size};
  for (const calib::FileFormat& format : calib::file_formats()) {
    if (std::string_view(format.kind) != kind) continue;
    for (const calib::InputSpec& input : inputs()) use(format.read({"fuzz", bytes, input, options, true}), input);
  }
}

std::string small_npy(const std::string& descr, const std::string& shape, size_t bytes, int major = 1) {
  return test::npy_bytes(test::npy_header(descr, shape), std::string(bytes, '\1'), major);
}

}  // namespace

void run_npy(const uint8_t* data, size_t size) {
  for (const calib::InputSpec& input : inputs()) {
    use(calib::parse_npy(reinterpret_cast<const std::byte*>(data), size, "fuzz"), input);
  }
}

void run_mask(const uint8_t* data, size_t size) {
  (void)calib::parse_stored_numbers(reinterpret_cast<const std::byte*>(data), size, "fuzz").ok();
}

void run_npz(const uint8_t* data, size_t size) { read_as("npz", data, size); }
void run_operand(const uint8_t* data, size_t size) { read_as("pb", data, size); }

void run_image(const uint8_t* data, size_t size) {
  read_as("image", data, size);
  calib::DataOptions options;
  config::Preprocess& preprocess = options.preprocess.emplace();
  preprocess.resize.emplace().mode = config::ResizeMode::kLetterbox;
  preprocess.resize->height = preprocess.resize->width = 6;
  preprocess.crop = {4, 4};
  read_as("image", data, size, options);
}

void run_list(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  calib::DataOptions options;
  options.list_file = file.path();
  (void)calib::read_list_file(options, inputs()).ok();
  (void)calib::read_list_file(options, {inputs()[0]}).ok();
}

void run_tar(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const auto members = calib::read_tar(bytes, size, "fuzz");
  if (!members.ok()) return;
  uint64_t sum = 0;
  for (const auto& [path, member] : members.value()) {
    for (size_t i = 0; i < member.bytes; ++i) sum += std::to_integer<uint64_t>(bytes[member.start + i]);
  }
  static std::atomic<uint64_t> seen;  // so that the bytes are read
  seen.store(sum, std::memory_order_relaxed);
}

std::vector<std::string> tar_seeds() {
  const std::string array = npy_seeds()[0];
  return {test::tar_bytes({{"./calib/a.npy", array}, {"calib/b.npy", array}}),
          test::tar_bytes({{std::string(180, 'd') + "/a.npy", array}}),
          test::tar_member("././@LongLink", "some/long/path.npy", 'L') + test::tar_bytes({{"short", "x"}})};
}

std::vector<std::string> npy_seeds() {
  return {small_npy("<f4", "(1, 3, 4, 4)", 192), small_npy("<i8", "(4,)", 32), small_npy("|u1", "(3, 4, 4)", 48, 2),
          small_npy(">f8", "(48,)", 384, 3),
          test::npy_bytes(test::npy_header("<f2", "(3, 4, 4)", "True"), std::string(96, '\2'))};
}

std::vector<std::string> npz_seeds() {
  const std::string array = npy_seeds()[0], ids = npy_seeds()[1];
  test::ZipPart large = test::deflated("half.npy", array);
  large.is_64 = true;
  return {test::zip_bytes({test::stored("x.npy", array)}),
          test::zip_bytes({test::deflated("x.npy", array), test::stored("ids.npy", ids), large}),
          test::zip_bytes({test::stored("folder/", ""), test::deflated("any.npy", array)}, -1, "comment")};
}

std::vector<std::string> operand_seeds() {
  const std::string dims("\x08\x01\x08\x03\x08\x04\x08\x04", 8);
  return {dims + std::string("\x10\x01\x4A\xC0\x01", 5) + std::string(192, '\1'),
          std::string("\x08\x04\x10\x07\x3A\x04\1\2\3\4", 10)};
}

std::vector<std::string> list_seeds() {
  return {"# samples\nx=a.npy any='b c.npy' ids=d.npz half=\"e.pb\"\n", "a.npy\nb.npz # last\r\n\n\"c d.png\"\n"};
}

std::vector<std::string> mask_seeds() {
  // 3 x 1 indices of 2 bits, with a palette and its transparency.
  const std::string hex =
      "89504e470d0a1a0a0000000d4948445200000003000000010203000000668efc270000000c504c5445"
      "000102030405060708090a0bdc4c389c0000000374524e5300ffff4450d6210000000a4944415478"
      "da63900600001d001c237c8fac0000000049454e44ae426082";
  std::string palette;
  for (size_t at = 0; at < hex.size(); at += 2) palette += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  return {palette, test::png_bytes(1, 1, 0, 0, 0)};
}

std::vector<std::string> image_seeds() {
  // The smallest baseline JPEG: 1 x 1, grey, one Huffman code of each kind.
  std::string jpeg("\xFF\xD8\xFF\xDB\x00\x43\x00", 7);
  jpeg += std::string(64, '\1') + std::string("\xFF\xC0\x00\x0B\x08\x00\x01\x00\x01\x01\x01\x11\x00", 13);
  jpeg += std::string("\xFF\xC4\x00\x14\x00\x01", 6) + std::string(15, '\0') + '\3';
  jpeg += std::string("\xFF\xC4\x00\x14\x10\x01", 6) + std::string(15, '\0') + '\0';
  jpeg += std::string("\xFF\xDA\x00\x08\x01\x01\x00\x00\x3F\x00\x37\xFF\xD9", 13);
  return {test::png_bytes(4, 4, 200, 100, 50), test::png_bytes(1, 1, 0, 0, 0), jpeg};
}

std::string mutate_bytes(const uint8_t* data, size_t size, uint32_t seed) {
  constexpr uint64_t kEdges[] = {0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, ~uint64_t{0}};
  std::mt19937 random(seed);
  auto below = [&](size_t count) { return count == 0 ? size_t{0} : random() % count; };
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 2: bytes.erase(at, 1 + below(8)); break;
      case 3: bytes.insert(at, bytes.substr(below(bytes.size()), below(16))); break;
      case 4: {
        const std::string edge = test::number(kEdges[below(std::size(kEdges))], size_t{1} << below(4));
        bytes.replace(at, edge.size(), edge);
        break;
      }
      default: bytes[at] = "0123456789,()-'LTF=\"# "[below(22)];
    }
  }
  if (below(30) == 0) bytes.resize(below(bytes.size()));
  return bytes;
}

}  // namespace quarkq::fuzz
