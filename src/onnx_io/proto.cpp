// SPDX-License-Identifier: MIT
#include "onnx_io/proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <algorithm>
#include <bit>
#include <charconv>
#include <climits>
#include <cstring>

#include "base/error.h"
#include "numeric/small_floats.h"

namespace quarkq::onnx_io {

namespace {

// A nested graph takes three levels of messages (graph, node, attribute); type protos may nest some more inside.
constexpr int kRecursionLimit = 3 * kMaxGraphDepth + 100;

bool merge_bytes(const void* data, size_t size, google::protobuf::MessageLite& message) {
  google::protobuf::io::ArrayInputStream array(data, static_cast<int>(size));
  google::protobuf::io::CodedInputStream coded(&array);
  coded.SetTotalBytesLimit(INT_MAX);
  coded.SetRecursionLimit(kRecursionLimit);
  return message.MergeFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

}  // namespace

bool parse_proto(const void* data, size_t size, google::protobuf::MessageLite& message) {
  QQ_CHECK(size <= static_cast<size_t>(INT_MAX));
  message.Clear();
  return merge_bytes(data, size, message);
}

void merge_rest(const std::string& rest, google::protobuf::MessageLite& message) {
  if (rest.empty()) return;
  const bool merged = merge_bytes(rest.data(), rest.size(), message);
  QQ_CHECK(merged);
}

std::vector<const onnx::GraphProto*> nested_graphs(const onnx::NodeProto& node) {
  std::vector<const onnx::GraphProto*> graphs;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) graphs.push_back(&attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs()) graphs.push_back(&graph);
  }
  return graphs;
}

std::vector<onnx::GraphProto*> nested_graphs(onnx::NodeProto& node) {
  std::vector<onnx::GraphProto*> graphs;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) graphs.push_back(attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) graphs.push_back(&graph);
  }
  return graphs;
}

// Data of a TensorProto: raw bytes, one of six typed fields, or external. Which field holds which type, and how small
// types are packed into int32_data, is defined by the comments of onnx.proto.

namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and read in place");

/// Entries in all data fields together: tells whether a tensor holds data anywhere else than in one field.
int64_t typed_entries(const onnx::TensorProto& proto) {
  return int64_t{proto.float_data_size()} + proto.int32_data_size() + proto.int64_data_size() +
         proto.double_data_size() + proto.uint64_data_size() + proto.string_data_size();
}

void clear_data(onnx::TensorProto& proto) {
  proto.clear_dims();
  proto.clear_data_type();
  proto.clear_raw_data();
  proto.clear_float_data();
  proto.clear_int32_data();
  proto.clear_int64_data();
  proto.clear_double_data();
  proto.clear_uint64_data();
  proto.clear_string_data();
  proto.clear_external_data();
  proto.clear_data_location();
}

Status wrong_count(int64_t found, int64_t needed, ElementType type) {
  return corrupt_model("holds ", found, " data entries, its shape and type ", name(type), " need ", needed);
}

Result<ir::Tensor> take_raw(onnx::TensorProto& proto, ElementType type, ir::Shape dims) {
  const int64_t needed = storage_bytes(type, ir::checked_count(dims));
  const auto found = static_cast<int64_t>(proto.raw_data().size());
  if (found != needed) {
    return corrupt_model("holds ", found, " bytes of raw data, its shape and type ", name(type), " need ", needed);
  }
  if (needed == 0) return ir::Tensor::zeros(type, std::move(dims));
  const std::shared_ptr<const std::string> bytes(proto.release_raw_data());
  return adopt_or_copy(type, std::move(dims), bytes, reinterpret_cast<const std::byte*>(bytes->data()));
}

/// Fields whose entries are the elements themselves (complex numbers: two entries each).
template <typename Stored, typename Field>
Result<ir::Tensor> take_wide(const Field& field, ElementType type, ir::Shape dims) {
  ir::Tensor tensor;
  const int64_t needed = storage_bytes(type, ir::checked_count(dims)) / static_cast<int64_t>(sizeof(Stored));
  if (field.size() != needed) return wrong_count(field.size(), needed, type);
  tensor = ir::Tensor::allocate(type, std::move(dims));
  std::byte* out = tensor.mutable_raw();
  for (const auto entry : field) {
    if constexpr (sizeof(entry) > sizeof(Stored)) {
      if (entry > static_cast<std::remove_cv_t<decltype(entry)>>(static_cast<Stored>(-1))) {
        return corrupt_model("holds ", entry, ", which does not fit ", name(type));
      }
    }
    const auto stored = static_cast<Stored>(entry);
    std::memcpy(out, &stored, sizeof stored);
    out += sizeof stored;
  }
  return tensor;
}

Result<ir::Tensor> take_6_bits(const google::protobuf::RepeatedField<int32_t>& field, ElementType type,
                               ir::Shape dims) {
  const int64_t count = ir::checked_count(dims);
  if (field.size() != count) return wrong_count(field.size(), count, type);
  std::vector<uint8_t> codes;
  for (const int32_t entry : field) {
    if (entry < 0 || entry > 63) return corrupt_model("holds ", entry, ", which does not fit ", name(type));
    codes.push_back(static_cast<uint8_t>(entry));
  }
  ir::Tensor tensor = ir::Tensor::allocate(type, std::move(dims));
  numeric::pack_codes(codes.data(), reinterpret_cast<uint8_t*>(tensor.mutable_raw()), count, 6);
  return tensor;
}

/// int32_data of types up to 32 bits. Each entry has one element, or the elements of one byte: two of 4 bits, four of 2
/// bits. An element of 6 bits has an entry of its own.
Result<ir::Tensor> take_narrow(const google::protobuf::RepeatedField<int32_t>& field, ElementType type,
                               ir::Shape dims) {
  if (bits(type) == 6) return take_6_bits(field, type, std::move(dims));
  const int64_t count = ir::checked_count(dims);
  const int width = bits(type) < 8 ? 8 : bits(type);
  const int64_t needed = bits(type) < 8 ? storage_bytes(type, count) : count;
  if (field.size() != needed) return wrong_count(field.size(), needed, type);
  ir::Tensor tensor = ir::Tensor::allocate(type, std::move(dims));
  std::byte* out = tensor.mutable_raw();
  const int64_t lowest = -(int64_t{1} << (width - 1));
  // Bit patterns are stored signed by some writers, unsigned by others.
  const int64_t highest = (int64_t{1} << width) - 1;
  for (const int32_t entry : field) {
    if (entry < lowest || entry > highest) return corrupt_model("holds ", entry, ", which does not fit ", name(type));
    const int32_t stored = type == ElementType::kBool ? static_cast<int32_t>(entry != 0) : entry;
    std::memcpy(out, &stored, static_cast<size_t>(width / 8));
    out += width / 8;
  }
  return tensor;
}

Result<ir::Tensor> take_strings(onnx::TensorProto& proto, ir::Shape dims) {
  const int64_t count = ir::checked_count(dims);
  if (proto.string_data_size() != count) return wrong_count(proto.string_data_size(), count, ElementType::kString);
  std::vector<std::string> strings;
  for (std::string& text : *proto.mutable_string_data()) strings.push_back(std::move(text));
  return ir::Tensor::of_strings(std::move(dims), std::move(strings));
}

Result<ir::Tensor> take_typed(onnx::TensorProto& proto, ElementType type, ir::Shape dims) {
  switch (type) {
    case ElementType::kString: return take_strings(proto, std::move(dims));
    case ElementType::kFloat:
    case ElementType::kComplex64: return take_wide<float>(proto.float_data(), type, std::move(dims));
    case ElementType::kDouble:
    case ElementType::kComplex128: return take_wide<double>(proto.double_data(), type, std::move(dims));
    case ElementType::kInt64: return take_wide<int64_t>(proto.int64_data(), type, std::move(dims));
    case ElementType::kUInt32: return take_wide<uint32_t>(proto.uint64_data(), type, std::move(dims));
    case ElementType::kUInt64: return take_wide<uint64_t>(proto.uint64_data(), type, std::move(dims));
    default: return take_narrow(proto.int32_data(), type, std::move(dims));
  }
}

bool parse_number(const std::string& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

Result<ExternalRef> external_ref(const onnx::TensorProto& proto) {
  ExternalRef ref;
  for (const auto& entry : proto.external_data()) {
    int64_t number = 0;
    const bool is_number = entry.key() == "offset" || entry.key() == "length";
    if (is_number && !parse_number(entry.value(), number)) {
      return corrupt_model("external data ", entry.key(), " '", entry.value(), "' is not a number of bytes");
    }
    if (entry.key() == "location") ref.location = entry.value();
    if (entry.key() == "offset") ref.offset = number;
    if (entry.key() == "length") ref.length = number;
  }
  return ref;
}

Result<ElementType> checked_type(int32_t number) {
  if (number == 0) return corrupt_model("element type is undefined");
  const std::optional<ElementType> type = element_type_from_wire(number);
  if (!type) return unsupported("element type number ", number, ", known are 1 to 28");
  return *type;
}

Result<ir::Tensor> take_data(onnx::TensorProto& proto, ExternalFiles& external) {
  QQ_TRY(const ElementType type, checked_type(proto.data_type()));
  if (proto.has_segment()) return unsupported("stored in segments, must be whole");
  ir::Shape dims(proto.dims().begin(), proto.dims().end());
  if (const Result<int64_t> count = ir::element_count(dims); !count.ok()) {
    return corrupt_model(count.status().message());
  }
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    if (type == ElementType::kString) return corrupt_model("strings cannot be external data");
    QQ_TRY(const ExternalRef ref, external_ref(proto));
    return external.read(ref, type, std::move(dims));
  }
  if (proto.has_raw_data() && type != ElementType::kString) {
    if (typed_entries(proto) == 0) return take_raw(proto, type, std::move(dims));
    if (!proto.raw_data().empty()) return corrupt_model("contains both raw and typed data");
  }
  const int64_t entries = typed_entries(proto);
  Result<ir::Tensor> tensor = take_typed(proto, type, std::move(dims));
  if (tensor.ok() && tensor.value().size() == 0 && entries != 0) return wrong_count(entries, 0, type);
  return tensor;
}

}  // namespace

Result<ir::Tensor> take_tensor(onnx::TensorProto& proto, ExternalFiles& external) {
  Result<ir::Tensor> tensor = take_data(proto, external);
  if (!tensor.ok()) return std::move(tensor).context(cat("tensor '", proto.name(), "'"));
  clear_data(proto);
  return tensor;
}

void put_tensor_head(const ir::Tensor& tensor, onnx::TensorProto& proto) {
  clear_data(proto);
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  proto.set_data_type(static_cast<int32_t>(tensor.type()));
}

void put_tensor(const ir::Tensor& tensor, onnx::TensorProto& proto) {
  put_tensor_head(tensor, proto);
  if (tensor.type() == ElementType::kString) {
    for (const std::string& text : tensor.strings()) proto.add_string_data(text);
    return;
  }
  proto.set_raw_data(reinterpret_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes()));
}

Result<ir::ValueType> take_type(onnx::ValueInfoProto& info) {
  ir::ValueType out;
  if (!info.has_type()) return out;
  onnx::TypeProto& type = *info.mutable_type();
  if (!type.has_tensor_type()) {
    if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) return out;
    out.other_type = type.SerializeAsString();
    info.clear_type();
    return out;
  }
  onnx::TypeProto_Tensor& tensor = *type.mutable_tensor_type();
  if (tensor.elem_type() != 0) {
    Result<ElementType> element = checked_type(tensor.elem_type());
    if (!element.ok()) return std::move(element).context(cat("value '", info.name(), "'")).status();
    out.element = element.value();
  }
  tensor.clear_elem_type();
  out.has_shape = tensor.has_shape();
  bool plain_dims = true;
  if (out.has_shape) {
    for (onnx::TensorShapeProto_Dimension& dim : *tensor.mutable_shape()->mutable_dim()) {
      // Some writers store "unknown" as a negative size.
      const bool known = dim.has_dim_value() && dim.dim_value() >= 0;
      out.dims.push_back({known ? dim.dim_value() : -1, dim.dim_param()});
      dim.clear_value();
      plain_dims = plain_dims && dim.ByteSizeLong() == 0;
    }
    if (plain_dims) tensor.mutable_shape()->clear_dim();
    if (tensor.shape().ByteSizeLong() == 0) tensor.clear_shape();
  }
  if (tensor.ByteSizeLong() == 0) type.clear_tensor_type();
  if (type.ByteSizeLong() == 0) info.clear_type();
  return out;
}

void put_type(const ir::ValueType& type, onnx::ValueInfoProto& info) {
  if (!type.other_type.empty()) {
    info.clear_type();
    merge_rest(type.other_type, *info.mutable_type());
    return;
  }
  if (type.element == ElementType::kUndefined && !type.has_shape) return;
  onnx::TypeProto_Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  if (type.element != ElementType::kUndefined) tensor.set_elem_type(static_cast<int32_t>(type.element));
  if (!type.has_shape) {
    tensor.clear_shape();
    return;
  }
  onnx::TensorShapeProto& shape = *tensor.mutable_shape();
  if (static_cast<size_t>(shape.dim_size()) != type.dims.size()) shape.clear_dim();
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const int at = static_cast<int>(i);
    onnx::TensorShapeProto_Dimension& dim = at < shape.dim_size() ? *shape.mutable_dim(at) : *shape.add_dim();
    if (type.dims[i].known())
      dim.set_dim_value(type.dims[i].size);
    else if (!type.dims[i].symbol.empty())
      dim.set_dim_param(type.dims[i].symbol);
  }
}

namespace {

/// Bytes up to which any tensor is made dense. Larger ones may be at most kTimesStored times the size of the stored
/// data.
constexpr int64_t kAlwaysDense = int64_t{256} << 20, kTimesStored = 64;

/// Positions of the values in the flattened dense tensor.
Result<std::vector<int64_t>> positions_of(const ir::Tensor& indices, const ir::Shape& dims, int64_t values) {
  const auto rank = static_cast<int64_t>(dims.size());
  const bool is_flat = indices.rank() == 1;
  const ir::Shape wanted = is_flat ? ir::Shape{values} : ir::Shape{values, rank};
  if (indices.type() != ElementType::kInt64 || indices.dims() != wanted) {
    return corrupt_model("sparse indices ", shape_text(indices.dims()), " of ", name(indices.type()),
                         ", must be INT64 ", shape_text({values}), " or ", shape_text({values, rank}));
  }
  if (is_flat) return ir::to_int64(indices);
  const auto coordinates = indices.data<int64_t>();
  std::vector<int64_t> positions(static_cast<size_t>(values), 0);
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const auto axis = i % static_cast<size_t>(rank);
    if (coordinates[i] < 0 || coordinates[i] >= dims[axis])
      return corrupt_model("sparse index ", coordinates[i], " of axis ", axis, ", which has ", dims[axis], " elements");
    int64_t& position = positions[i / static_cast<size_t>(rank)];
    position = position * dims[axis] + coordinates[i];
  }
  return positions;
}

Status check_size(const ir::Tensor& values, const ir::Shape& dims, int64_t stored) {
  QQ_TRY(const int64_t count, ir::element_count(dims));
  if (values.type() == ElementType::kString || bits(values.type()) < 8)
    return unsupported("sparse values of type ", name(values.type()), "; store the tensor dense");
  const int64_t element = bits(values.type()) / 8;
  const int64_t allowed = std::max(kAlwaysDense, kTimesStored * stored);
  if (count <= allowed / element) return Status();
  return resource_error("a sparse tensor of shape ", shape_text(dims), " stores ", stored,
                        " bytes, its dense form may require ", allowed, "; store it dense");
}

}  // namespace

Result<ir::Tensor> take_sparse_tensor(onnx::SparseTensorProto& proto, ExternalFiles& external) {
  QQ_TRY(const ir::Tensor values, take_tensor(*proto.mutable_values(), external));
  QQ_TRY(const ir::Tensor indices, take_tensor(*proto.mutable_indices(), external));
  ir::Shape dims(proto.dims().begin(), proto.dims().end());
  if (values.rank() != 1)
    return corrupt_model("sparse values of shape ", shape_text(values.dims()), ", must be a list");
  QQ_RETURN_IF_ERROR(check_size(values, dims, values.bytes() + indices.bytes()));
  QQ_TRY(const std::vector<int64_t> positions, positions_of(indices, dims, values.size()));
  ir::Tensor dense = ir::Tensor::zeros(values.type(), std::move(dims));
  const auto element = static_cast<size_t>(bits(values.type())) / 8;
  std::byte* out = dense.mutable_raw();
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= dense.size())
      return corrupt_model("sparse index ", positions[i], ", the tensor has ", dense.size(), " elements");
    std::memcpy(out + static_cast<size_t>(positions[i]) * element, values.raw() + i * element, element);
  }
  return dense;
}

}  // namespace quarkq::onnx_io
