// SPDX-License-Identifier: MIT
#if __has_include(<onnxruntime_c_api.h>)

#include "ort_runtime/tensors.h"

#include <algorithm>

namespace quarkq::ort_runtime {
namespace {

ONNXTensorElementDataType wire_type(ElementType type) { return static_cast<ONNXTensorElementDataType>(type); }

/// Keeps `value` for as long as its memory is used.
Result<ir::Tensor> to_tensor(const OrtApi& api, Owned<OrtValue> value) {
  int is_there = 0, is_tensor = 0;
  QQ_ORT_CALL(api, HasValue(value.get(), &is_there));
  if (is_there != 0) QQ_ORT_CALL(api, IsTensor(value.get(), &is_tensor));
  if (is_tensor == 0) return unsupported("is a sequence or an empty optional, not a tensor");
  OrtTensorTypeAndShapeInfo* made = nullptr;
  QQ_ORT_CALL(api, GetTensorTypeAndShape(value.get(), &made));
  const Owned<OrtTensorTypeAndShapeInfo> info(made, api.ReleaseTensorTypeAndShapeInfo);
  QQ_TRY(const ir::ValueType type, to_type(api, *info));
  if (type.element == ElementType::kUndefined || type.element == ElementType::kString)
    return unsupported("has a type that quarkq cannot take from ONNX Runtime");
  ir::Shape dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.size);
  QQ_TRY(const int64_t count, ir::element_count(dims));
  if (count == 0) return ir::Tensor::zeros(type.element, dims);
  void* data = nullptr;
  QQ_ORT_CALL(api, GetTensorMutableData(value.get(), &data));
  if (data == nullptr) return unsupported("has no data");
  const std::shared_ptr<OrtValue> owner(value.release(), api.ReleaseValue);
  return ir::Tensor::adopt(type.element, dims, owner, static_cast<const std::byte*>(data));
}

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.push_back(name.c_str());
  return all;
}

}  // namespace

Result<Owned<OrtValue>> to_value(const Runtime& runtime, const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kString) return unsupported("texts cannot be given to ONNX Runtime");
  OrtValue* value = nullptr;
  // The runtime does not write to inputs and initializers.
  QQ_ORT_CALL(runtime.api, CreateTensorWithDataAsOrtValue(runtime.memory, const_cast<std::byte*>(tensor.raw()),
                                                          static_cast<size_t>(tensor.bytes()), tensor.dims().data(),
                                                          tensor.dims().size(), wire_type(tensor.type()), &value));
  return Owned<OrtValue>(value, runtime.api.ReleaseValue);
}

Result<ir::ValueType> to_type(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info) {
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  size_t rank = 0;
  QQ_ORT_CALL(api, GetTensorElementType(&info, &element));
  QQ_ORT_CALL(api, GetDimensionsCount(&info, &rank));
  std::vector<int64_t> dims(rank);
  QQ_ORT_CALL(api, GetDimensions(&info, dims.data(), rank));
  ir::ValueType type;
  type.element = element_type_from_wire(static_cast<int32_t>(element)).value_or(ElementType::kUndefined);
  type.has_shape = rank > 0;
  for (const int64_t dim : dims) type.dims.push_back(ir::Dim{std::max<int64_t>(dim, -1), ""});
  return type;
}

Result<std::vector<ir::Tensor>> run(const Runtime& runtime, OrtSession& session, const Ports& ports,
                                    const std::vector<const ir::Tensor*>& inputs) {
  std::vector<Owned<OrtValue>> held, owned;
  std::vector<const OrtValue*> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<Owned<OrtValue>> value = to_value(runtime, *inputs[i]);
    if (!value.ok()) return std::move(value).status().context(cat("input ", ports.inputs[i]));
    held.push_back(std::move(value).value());
    given.push_back(held.back().get());
  }
  const std::vector<const char*> names = pointers(ports.inputs), results = pointers(ports.outputs);
  std::vector<OrtValue*> made(results.size(), nullptr);
  OrtStatus* const status = runtime.api.Run(&session, nullptr, names.data(), given.data(), given.size(), results.data(),
                                            results.size(), made.data());
  for (OrtValue* value : made) owned.emplace_back(value, runtime.api.ReleaseValue);
  QQ_RETURN_IF_ERROR(from_ort(runtime.api, status));
  std::vector<ir::Tensor> tensors;
  for (size_t i = 0; i < owned.size(); ++i) {
    if (owned[i] == nullptr) return unsupported("output ", ports.outputs[i], " was not computed by ONNX Runtime");
    QQ_TRY(ir::Tensor tensor, to_tensor(runtime.api, std::move(owned[i])).context(cat("output ", ports.outputs[i])));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace quarkq::ort_runtime

#endif
