// SPDX-License-Identifier: MIT
// From the array in a file to what a model input takes.
#include "calib/data_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "exec/environment.h"
#include "numeric/element_type.h"

namespace quarkq::calib {

namespace {

template <typename T>
Result<ir::Tensor> cast_integers(const ir::Tensor& tensor, ElementType type, const std::string& file) {
  QQ_TRY(const std::vector<int64_t> values, ir::to_int64(tensor));
  ir::Tensor out = ir::Tensor::allocate(type, tensor.dims());
  auto data = out.mutable_data<T>();
  const bool wraps = tensor.type() == ElementType::kUInt64;  // values above 2^63 - 1 come as negative ones
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_large = wraps && values[i] < 0;
    if (is_large || values[i] < static_cast<int64_t>(std::numeric_limits<T>::lowest()) ||
        (sizeof(T) < 8 && values[i] > static_cast<int64_t>(std::numeric_limits<T>::max()))) {
      return bad_data(file, ": value ", is_large ? "above 2^63" : cat(values[i]), " does not fit the input's type ",
                      name(type));
    }
    data[i] = static_cast<T>(values[i]);
  }
  return out;
}

template <typename T, typename Encode>
void store(const std::vector<double>& values, ir::Tensor& out, Encode encode) {
  const auto data = out.mutable_data<T>();
  for (size_t i = 0; i < values.size(); ++i) data[i] = encode(values[i]);
}

/// REQUIRES: `type` is a plain float.
ir::Tensor floats_of(const std::vector<double>& values, ElementType type, const ir::Shape& dims) {
  ir::Tensor out = ir::Tensor::allocate(type, dims);
  switch (type) {
    case ElementType::kFloat: store<float>(values, out, [](double x) { return static_cast<float>(x); }); break;
    case ElementType::kDouble: store<double>(values, out, [](double x) { return x; }); break;
    case ElementType::kFloat16:
      store<uint16_t>(values, out, [](double x) { return float16_from_float(static_cast<float>(x)); });
      break;
    default: store<uint16_t>(values, out, [](double x) { return bfloat16_from_float(static_cast<float>(x)); });
  }
  return out;
}

/// A number without a fraction, of at most 64 bits.
std::string whole_number_text(double number) {
  char digits[32];
  return {digits, std::to_chars(digits, std::end(digits), number, std::chars_format::fixed, 0).ptr};
}

/// Integers must be exact as floats: one that a narrow float would round is an error in the file.
Result<ir::Tensor> cast_to_float(const ir::Tensor& tensor, ElementType type, const std::string& file) {
  QQ_TRY(const std::vector<double> values, ir::to_double(tensor));
  ir::Tensor out = floats_of(values, type, tensor.dims());
  const bool is_exact = bits(tensor.type()) <= (type == ElementType::kFloat    ? 16
                                                : type == ElementType::kDouble ? 32
                                                                               : 0);
  if (is_floating(tensor.type()) || is_exact) return out;
  QQ_TRY(const std::vector<double> stored, ir::to_double(out));
  for (size_t i = 0; i < values.size(); ++i) {
    if (stored[i] == values[i]) continue;
    return bad_data(file, ": value ", whole_number_text(values[i]), " does not fit the input's type ", name(type));
  }
  return out;
}

bool is_plain_float(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kDouble || type == ElementType::kFloat16 ||
         type == ElementType::kBFloat16;
}

Result<ir::Tensor> cast_to(ir::Tensor tensor, ElementType type, const std::string& input, const std::string& file) {
  if (tensor.type() == type) return tensor;
  const bool is_integral = is_integer(tensor.type()) || tensor.type() == ElementType::kBool;
  if ((is_plain_float(tensor.type()) || is_integral) && is_plain_float(type)) return cast_to_float(tensor, type, file);
  if (is_integral) {
    switch (type) {
      case ElementType::kInt8: return cast_integers<int8_t>(tensor, type, file);
      case ElementType::kUInt8: return cast_integers<uint8_t>(tensor, type, file);
      case ElementType::kInt16: return cast_integers<int16_t>(tensor, type, file);
      case ElementType::kUInt16: return cast_integers<uint16_t>(tensor, type, file);
      case ElementType::kInt32: return cast_integers<int32_t>(tensor, type, file);
      case ElementType::kUInt32: return cast_integers<uint32_t>(tensor, type, file);
      case ElementType::kInt64: return cast_integers<int64_t>(tensor, type, file);
      case ElementType::kUInt64: return cast_integers<uint64_t>(tensor, type, file);
      default: break;
    }
  }
  return bad_data(file, ": holds ", name(tensor.type()), ", input ", input, " takes ", name(type));
}

/// Files may hold any byte for a bool; kernels count on 0 and 1.
void make_bools_valid(ir::Tensor& tensor) {
  if (tensor.type() != ElementType::kBool) return;
  for (uint8_t& value : tensor.mutable_data<uint8_t>()) value = value != 0;
}

/// Returns advice if `found` is an image in the other order of axes, and an empty string otherwise.
std::string layout_hint(const ir::Shape& found, const ir::Shape& wanted) {
  const auto matches = [&](std::initializer_list<size_t> order) {
    size_t i = 0;
    return std::ranges::all_of(order, [&](size_t axis) {
      const int64_t dim = wanted[i++];
      return dim < 0 || dim == found[axis];
    });
  };
  if (found.size() != 4 || wanted.size() != 4) return "";
  if (matches({0, 3, 1, 2})) return "; it looks like NHWC: transpose it with numpy.transpose(array, (0, 3, 1, 2))";
  if (matches({0, 2, 3, 1})) return "; it looks like NCHW: transpose it with numpy.transpose(array, (0, 2, 3, 1))";
  return "";
}

/// The shape that an array of `dims` is fitted to.
Result<ir::Shape> fitted_dims(ir::Shape dims, const InputSpec& spec, const std::string& file) {
  if (!spec.has_shape) return dims;
  const size_t rank = spec.dims.size();
  const Result<int64_t> fixed = ir::element_count(spec.dims);  // an error when a dimension is unknown
  if (dims.size() == 1 && rank != 1 && fixed.ok() && fixed.value() == dims[0]) return spec.dims;
  if (dims.size() + 1 == rank) dims.insert(dims.begin(), 1);
  bool fits = dims.size() == rank;
  for (size_t i = 0; fits && i < rank; ++i) fits = spec.dims[i] < 0 || spec.dims[i] == dims[i];
  if (!fits)
    return bad_data(file, ": shape ", shape_text(dims), ", input ", spec.name, " takes ", shape_text(spec.dims),
                    layout_hint(dims, spec.dims));
  return dims;
}

Status check_memory_for(double bytes, const ir::Shape& dims, const std::string& place) {
  if (bytes <= static_cast<double>(exec::allowed_memory(0))) return Status();
  return resource_error(place, ": a sample of ", shape_text(dims), " takes ", bytes_text(bytes),
                        ", more than this machine has");
}

}  // namespace

Result<ir::Tensor> fit_to_input(ir::Tensor tensor, const InputSpec& spec, const std::string& file) {
  QQ_TRY(ir::Shape dims, fitted_dims(tensor.dims(), spec, file));
  ir::Tensor shaped = dims == tensor.dims() ? std::move(tensor) : tensor.reshaped(std::move(dims));
  make_bools_valid(shaped);
  return cast_to(std::move(shaped), spec.type, spec.name, file);
}

Status check_fit(ElementType type, const ir::Shape& dims, const InputSpec& spec, const std::string& file) {
  QQ_RETURN_IF_ERROR(fitted_dims(dims, spec, file).status());
  QQ_TRY(const int64_t count, Result<int64_t>(ir::element_count(dims)).context(file));
  double bytes = static_cast<double>(storage_bytes(type, count));
  if (type != spec.type) bytes += static_cast<double>(storage_bytes(ElementType::kDouble, count));  // to convert them
  return check_memory_for(bytes, dims, file);
}

Result<ir::Tensor> zeros_for_input(const InputSpec& spec, ElementType type, const ir::Shape& dims) {
  QQ_TRY(const int64_t count, Result<int64_t>(ir::element_count(dims)).context("input " + spec.name));
  QQ_RETURN_IF_ERROR(check_memory_for(static_cast<double>(storage_bytes(type, count)), dims, "input " + spec.name));
  return ir::Tensor::zeros(type, dims);
}

Result<Sample> with_values(Sample sample) {
  const auto has_values = [](const ir::Tensor& tensor) { return tensor.size() > 0; };
  if (sample.inputs.empty() || std::ranges::any_of(sample.inputs, has_values)) return sample;
  const std::string place = sample.files.empty() ? cat("sample ", sample.name) : sample.files[0];
  return bad_data(place, ": contains no values, shape ", shape_text(sample.inputs[0].dims()), "; remove it");
}

namespace {

/// Names the container type by the field of the serialized TypeProto that stores it. Returns "" for tensors.
std::string container_of(const ir::ValueType& type) {
  if (type.other_type.empty()) return "";
  constexpr char kSequence = 0x22, kMap = 0x2A, kOptional = 0x4A;
  switch (type.other_type[0]) {
    case kSequence: return "sequence";
    case kMap: return "map";
    case kOptional: return "optional";
    default: return "type other than a tensor";
  }
}

}  // namespace

std::vector<DataNote> DataReader::notes() const { return {}; }

std::vector<InputSpec> input_specs(const ir::Graph& graph) {
  std::vector<InputSpec> specs;
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::Value& value = graph.value(id);
    specs.push_back({value.name, value.type.element, value.type.has_shape, value.type.shape()});
    specs.back().container = container_of(value.type);
  }
  return specs;
}

namespace {

constexpr int64_t kCheckedAtOnce = 4096;  ///< values checked before a branch

/// Index of the first value whose exponent bits are all set, or `count`. Blocks first, without a branch: vectorizable.
template <typename Bits>
int64_t first_non_finite(const Bits* values, int64_t count, Bits exponent) {
  for (int64_t begin = 0; begin < count; begin += kCheckedAtOnce) {
    const int64_t end = std::min(begin + kCheckedAtOnce, count);
    Bits found = 0;
    for (int64_t i = begin; i < end; ++i) found |= static_cast<Bits>((values[i] & exponent) == exponent);
    if (found == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      if ((values[i] & exponent) == exponent) return i;
    }
  }
  return count;
}

int64_t first_non_finite(const ir::Tensor& tensor) {
  const int64_t count = tensor.size();
  const std::byte* raw = tensor.raw();
  switch (tensor.type()) {
    case ElementType::kFloat:
      return first_non_finite<uint32_t>(reinterpret_cast<const uint32_t*>(raw), count, 0x7F800000u);
    case ElementType::kDouble:
      return first_non_finite<uint64_t>(reinterpret_cast<const uint64_t*>(raw), count, 0x7FF0000000000000u);
    case ElementType::kFloat16:
      return first_non_finite<uint16_t>(reinterpret_cast<const uint16_t*>(raw), count, 0x7C00);
    case ElementType::kBFloat16:
      return first_non_finite<uint16_t>(reinterpret_cast<const uint16_t*>(raw), count, 0x7F80);
    default: return count;
  }
}

/// "[0,2,17]"
std::string position_text(int64_t index, const ir::Shape& dims) {
  ir::Shape position(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    position[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return shape_text(position);
}

bool is_nan_at(const ir::Tensor& tensor, int64_t index) {
  const Result<std::vector<double>> values = ir::to_double(tensor);
  return values.ok() && std::isnan(values.value()[static_cast<size_t>(index)]);
}

}  // namespace

Status check_finite(const Sample& sample, const std::vector<InputSpec>& inputs) {
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const ir::Tensor& tensor = sample.inputs[i];
    const int64_t index = first_non_finite(tensor);
    if (index == tensor.size()) continue;
    return bad_data(i < sample.files.size() ? sample.files[i] : cat("sample ", sample.name), ": input ",
                    i < inputs.size() ? inputs[i].name : cat(i), " has ",
                    is_nan_at(tensor, index) ? "a NaN" : "an infinity", " at ", position_text(index, tensor.dims()),
                    ", only finite values are allowed; calibration.allow_non_finite: true accepts all");
  }
  return Status();
}

}  // namespace quarkq::calib
