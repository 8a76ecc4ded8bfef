// SPDX-License-Identifier: MIT
#include "calib/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/file_system.h"

namespace quarkq::calib {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kMaxRank = 64;  // as NumPy 2

struct DtypeRow {
  const char* code;  ///< without the byte order character
  ElementType type;
};
constexpr DtypeRow kDtypes[] = {
    {"f4", ElementType::kFloat},  {"f8", ElementType::kDouble}, {"f2", ElementType::kFloat16},
    {"i1", ElementType::kInt8},   {"u1", ElementType::kUInt8},  {"i2", ElementType::kInt16},
    {"u2", ElementType::kUInt16}, {"i4", ElementType::kInt32},  {"u4", ElementType::kUInt32},
    {"i8", ElementType::kInt64},  {"u8", ElementType::kUInt64}, {"b1", ElementType::kBool},
};

/// The text after 'key': in the header's dictionary, or nothing.
std::optional<std::string_view> field(std::string_view header, const std::string& key) {
  const size_t at = header.find("'" + key + "'");
  if (at == std::string_view::npos) return std::nullopt;
  const size_t colon = header.find(':', at);
  if (colon == std::string_view::npos) return std::nullopt;
  const size_t begin = header.find_first_not_of(" \t", colon + 1);
  return begin == std::string_view::npos ? std::nullopt : std::optional(header.substr(begin));
}

Status read_dtype(std::string_view descr, const std::string& name, NpyHeader& header) {
  if (descr.empty() || (descr[0] != '\'' && descr[0] != '"')) {
    return bad_data(name, ": a structured array, plain numeric arrays are needed");
  }
  const std::string text(descr.substr(1, descr.find(descr[0], 1) - 1));
  if (text.find('O') != std::string::npos) return bad_data(name, ": an object array, plain numeric arrays are needed");
  const bool has_order = !text.empty() && std::strchr("<>|=", text[0]) != nullptr;
  header.swapped = has_order && text[0] == '>';
  for (const DtypeRow& row : kDtypes) {
    if (text.substr(has_order ? 1 : 0) == row.code) header.type = row.type;
  }
  if (header.type == ElementType::kUndefined) return bad_data(name, ": dtype '", text, "' is not supported");
  return Status();
}

Result<ir::Shape> read_shape(std::string_view text, const std::string& name) {
  if (text.empty() || text[0] != '(') return bad_data(name, ": the header has no shape");
  const size_t end = text.find(')');
  if (end == std::string_view::npos) return bad_data(name, ": the header's shape is malformed: it has no end");
  const std::string list(text.substr(1, end - 1));
  ir::Shape dims;
  for (const std::string& part : split(list, ',')) {
    const size_t begin = part.find_first_not_of(' ');
    if (begin == std::string::npos) continue;  // after the last comma
    std::string digits = part.substr(begin, part.find_last_not_of(' ') + 1 - begin);
    if (digits.size() > 1 && digits.back() == 'L') digits.pop_back();  // Python 2
    if (digits.find_first_not_of("0123456789") != std::string::npos) {
      return bad_data(name, ": the header's shape is malformed: (", list.substr(0, 100), ")");
    }
    if (digits.size() > 15) return bad_data(name, ": the header claims a dimension above 2^48");
    dims.push_back(std::stoll(digits));
    if (dims.size() > kMaxRank) return bad_data(name, ": more than ", kMaxRank, " dimensions");
  }
  return dims;
}

Status read_order(std::string_view text, const std::string& name, NpyHeader& header) {
  header.fortran = text.starts_with("True");
  if (header.fortran || text.starts_with("False")) return Status();
  return bad_data(name, ": fortran_order is neither True nor False");
}

Status read_dictionary(std::string_view text, const std::string& name, NpyHeader& header) {
  const auto descr = field(text, "descr"), order = field(text, "fortran_order"), shape = field(text, "shape");
  if (!descr || !order || !shape) return bad_data(name, ": the header lacks descr, fortran_order or shape");
  QQ_RETURN_IF_ERROR(read_dtype(*descr, name, header));
  QQ_RETURN_IF_ERROR(read_order(*order, name, header));
  QQ_TRY(header.dims, read_shape(*shape, name));
  return Status();
}

void reverse_bytes(std::byte* data, int64_t count, size_t size) {
  for (int64_t i = 0; i < count; ++i)
    std::reverse(data + static_cast<size_t>(i) * size, data + static_cast<size_t>(i + 1) * size);
}

/// Copies column-major data into row-major order.
void to_c_order(const std::byte* from, std::byte* to, const ir::Shape& shape, size_t size) {
  const size_t rank = shape.size();
  const int64_t count = ir::checked_count(shape);
  if (count == 0) return;  // the product of the other dimensions may be anything
  std::array<int64_t, kMaxRank> index{}, stride{1};
  for (size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * shape[d - 1];
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset += index[d] * stride[d];
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(offset) * size, size);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

Result<NpyHeader> read_npy_header(const std::byte* data, size_t bytes, const std::string& name) {
  if (bytes < 10 || std::memcmp(data, kMagic, kMagicBytes) != 0) return bad_data(name, ": not a .npy file");
  const auto* raw = reinterpret_cast<const uint8_t*>(data);
  const int major = raw[6];
  if (major < 1 || major > 3) return bad_data(name, ": .npy format version ", major, ", supported are 1 to 3");
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes < 8 + length_bytes) return bad_data(name, ": truncated header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= static_cast<size_t>(raw[8 + i]) << (8 * i);
  NpyHeader header;
  header.data_start = 8 + length_bytes + length;
  if (header.data_start > std::min(bytes, kMaxNpyHeader)) return bad_data(name, ": truncated header");
  QQ_RETURN_IF_ERROR(read_dictionary({reinterpret_cast<const char*>(data) + 8 + length_bytes, length}, name, header));
  const Result<int64_t> count = ir::element_count(header.dims);
  if (!count.ok()) return bad_data(name, ": ", count.status().message());
  header.total_bytes = header.data_start + static_cast<size_t>(storage_bytes(header.type, count.value()));
  return header;
}

Result<ir::Tensor> parse_npy(const std::byte* data, size_t bytes, const std::string& name) {
  QQ_TRY(const NpyHeader header, read_npy_header(data, bytes, name));
  if (bytes != header.total_bytes) {
    return bad_data(name, ": holds ", bytes - header.data_start, " bytes of data, its header ",
                    quarkq::name(header.type), shape_text(header.dims), " needs ",
                    header.total_bytes - header.data_start);
  }
  ir::Tensor tensor = ir::Tensor::allocate(header.type, header.dims);
  const auto size = static_cast<size_t>(bits(header.type)) / 8;
  const std::byte* values = data + header.data_start;
  if (header.fortran && header.dims.size() > 1) {
    to_c_order(values, tensor.mutable_raw(), header.dims, size);
  } else if (tensor.bytes() > 0) {
    std::memcpy(tensor.mutable_raw(), values, static_cast<size_t>(tensor.bytes()));
  }
  if (header.swapped) reverse_bytes(tensor.mutable_raw(), tensor.size(), size);
  return tensor;
}

Result<ir::Tensor> adopt_npy(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                             const std::string& name) {
  QQ_TRY(const NpyHeader header, read_npy_header(bytes.data(), bytes.size(), name));
  const bool is_aligned = header.data_start % std::max(1, bits(header.type) / 8) == 0;
  if (header.swapped || header.fortran || !is_aligned || bytes.size() != header.total_bytes)
    return parse_npy(bytes.data(), bytes.size(), name);
  return ir::Tensor::adopt(header.type, header.dims, owner, bytes.data() + header.data_start);
}

Result<ir::Tensor> read_npy(const std::string& path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok()) return bad_data(file.status().message());
  return parse_npy(file.value()->data(), file.value()->size(), path);
}

Status write_npy(const std::string& path, const ir::Tensor& tensor) {
  std::string code;
  for (const DtypeRow& row : kDtypes) {
    if (row.type == tensor.type()) code = row.code;
  }
  if (code.empty()) return unsupported(path, ": NumPy has no dtype for ", name(tensor.type()));
  std::string shape;
  for (const int64_t dim : tensor.dims()) shape += cat(dim, ", ");
  if (tensor.rank() > 1) shape.erase(shape.size() - 2);
  if (tensor.rank() == 1) shape.pop_back();
  std::string header = cat("{'descr': '", bits(tensor.type()) == 8 ? '|' : '<', code,
                           "', 'fortran_order': False, 'shape': (", shape, "), }");
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';  // NumPy aligns the data to 64 bytes
  header += '\n';
  std::string head(kMagic, kMagicBytes);
  head += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  QQ_TRY(AtomicFile file, AtomicFile::create(path, AtomicFile::Kind::kOneOfMany));
  QQ_RETURN_IF_ERROR(file.write(head.data(), head.size()));
  QQ_RETURN_IF_ERROR(file.write(header.data(), header.size()));
  QQ_RETURN_IF_ERROR(file.write(tensor.raw(), static_cast<size_t>(tensor.bytes())));
  return file.commit();
}

}  // namespace quarkq::calib
