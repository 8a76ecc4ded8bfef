// SPDX-License-Identifier: MIT
#include "calib/npy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/file_system.h"

namespace quarkq::calib {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kMaxHeader = size_t{1} << 20;  // NumPy's own headers are below 64 KiB

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

struct Header {
  ElementType type = ElementType::kUndefined;
  bool swapped = false;  ///< big-endian data
  bool fortran = false;
  ir::Shape shape;
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

Status read_dtype(std::string_view descr, const std::string& name, Header& header) {
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

Status read_shape(std::string_view text, const std::string& name, Header& header) {
  if (text.empty() || text[0] != '(') return bad_data(name, ": the header has no shape");
  const size_t end = text.find(')');
  if (end == std::string_view::npos) return bad_data(name, ": the header's shape is malformed: it has no end");
  const std::string_view list = text.substr(1, end - 1);
  int64_t value = -1;
  for (const char c : std::string(list) + ",") {
    if (c >= '0' && c <= '9') {
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
      if (value > (int64_t{1} << 48)) return bad_data(name, ": the header claims a dimension above 2^48");
    } else if (c == ',') {
      if (value >= 0) header.shape.push_back(value);
      value = -1;
    } else if (c != ' ' && c != 'L') {
      return bad_data(name, ": the header's shape is malformed: (", list, ")");
    }
  }
  return Status();
}

Result<Header> read_header(std::string_view text, const std::string& name) {
  Header header;
  const auto descr = field(text, "descr"), order = field(text, "fortran_order"), shape = field(text, "shape");
  if (!descr || !order || !shape) return bad_data(name, ": the header lacks descr, fortran_order or shape");
  QQ_RETURN_IF_ERROR(read_dtype(*descr, name, header));
  header.fortran = order->starts_with("True");
  QQ_RETURN_IF_ERROR(read_shape(*shape, name, header));
  return header;
}

void reverse_bytes(std::byte* data, int64_t count, size_t size) {
  for (int64_t i = 0; i < count; ++i)
    std::reverse(data + static_cast<size_t>(i) * size, data + static_cast<size_t>(i + 1) * size);
}

/// Copies column-major data into row-major order.
void to_c_order(const std::byte* from, std::byte* to, const ir::Shape& shape, size_t size) {
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * shape[d - 1];
  const int64_t count = ir::checked_count(shape);
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

Result<ir::Tensor> parse_npy(const std::byte* data, size_t bytes, const std::string& name) {
  if (bytes < 10 || std::memcmp(data, kMagic, kMagicBytes) != 0) return bad_data(name, ": not a .npy file");
  const auto* raw = reinterpret_cast<const uint8_t*>(data);
  const int major = raw[6];
  if (major < 1 || major > 3) return bad_data(name, ": .npy format version ", major, ", supported are 1 to 3");
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes < 8 + length_bytes) return bad_data(name, ": truncated header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= static_cast<size_t>(raw[8 + i]) << (8 * i);
  const size_t start = 8 + length_bytes + length;
  if (length > kMaxHeader || start > bytes) return bad_data(name, ": truncated header");
  QQ_TRY(const Header header, read_header({reinterpret_cast<const char*>(data) + 8 + length_bytes, length}, name));
  Result<int64_t> count = ir::element_count(header.shape);
  if (!count.ok()) return bad_data(name, ": ", count.status().message());
  const auto needed = static_cast<size_t>(storage_bytes(header.type, count.value()));
  if (bytes - start != needed) {
    return bad_data(name, ": holds ", bytes - start, " bytes of data, its header ", quarkq::name(header.type),
                    shape_text(header.shape), " needs ", needed);
  }
  ir::Tensor tensor = ir::Tensor::allocate(header.type, header.shape);
  const auto size = static_cast<size_t>(bits(header.type)) / 8;
  if (header.fortran && header.shape.size() > 1) {
    to_c_order(data + start, tensor.mutable_raw(), header.shape, size);
  } else if (needed > 0) {
    std::memcpy(tensor.mutable_raw(), data + start, needed);
  }
  if (header.swapped) reverse_bytes(tensor.mutable_raw(), tensor.size(), size);
  return tensor;
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
  QQ_TRY(AtomicFile file, AtomicFile::create(path));
  QQ_RETURN_IF_ERROR(file.write(head.data(), head.size()));
  QQ_RETURN_IF_ERROR(file.write(header.data(), header.size()));
  QQ_RETURN_IF_ERROR(file.write(tensor.raw(), static_cast<size_t>(tensor.bytes())));
  return file.commit();
}

}  // namespace quarkq::calib
