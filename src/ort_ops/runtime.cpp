// SPDX-License-Identifier: MIT
#include "ort_ops/runtime.h"

#include <algorithm>

namespace quarkq::ort_ops {

namespace {

OrtErrorCode error_code(Code code) {
  switch (code) {
    case Code::kUnsupported: return ORT_NOT_IMPLEMENTED;
    case Code::kCorruptModel:
    case Code::kInvalidArgument:
    case Code::kBadData: return ORT_INVALID_ARGUMENT;
    default: return ORT_FAIL;
  }
}

}  // namespace

OrtStatus* to_ort(const OrtApi& api, const Status& status) {
  return status.ok() ? nullptr : api.CreateStatus(error_code(status.code()), status.message().c_str());
}

Status from_ort(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return Status();
  Status own = internal_error("ONNX Runtime: ", api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  return own;
}

namespace {

constexpr size_t kAlignment = 64;

}  // namespace

Result<ir::Shape> read_dims(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info) {
  size_t rank = 0;
  QQ_ORT(api.GetDimensionsCount(&info, &rank));
  ir::Shape dims(rank);
  QQ_ORT(api.GetDimensions(&info, dims.data(), rank));
  return dims;
}

Result<ir::Shape> read_dims(const OrtApi& api, const OrtValue& value) {
  OrtTensorTypeAndShapeInfo* made = nullptr;
  QQ_ORT(api.GetTensorTypeAndShape(&value, &made));
  const TypeAndShape info(made, api.ReleaseTensorTypeAndShapeInfo);
  return read_dims(api, *info);
}

Result<std::optional<ir::Shape>> stated_shape(const OrtApi& api, const OrtKernelInfo& info, size_t input) {
  int is_constant = 0;
  const OrtValue* constant = nullptr;
  QQ_ORT(api.KernelInfoGetConstantInput_tensor(&info, input, &is_constant, &constant));
  if (is_constant != 0 && constant != nullptr) {
    QQ_TRY(ir::Shape dims, read_dims(api, *constant));
    return std::optional(std::move(dims));
  }
  OrtTypeInfo* made = nullptr;
  QQ_ORT(api.KernelInfo_GetInputTypeInfo(&info, input, &made));
  const std::unique_ptr<OrtTypeInfo, decltype(api.ReleaseTypeInfo)> type(made, api.ReleaseTypeInfo);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  QQ_ORT(api.CastTypeInfoToTensorInfo(type.get(), &tensor));
  if (tensor == nullptr) return std::optional<ir::Shape>();
  QQ_TRY(ir::Shape dims, read_dims(api, *tensor));
  // No dims: a scalar or nothing known.
  const bool is_known = !dims.empty() && std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
  return is_known ? std::optional(std::move(dims)) : std::nullopt;
}

Result<std::optional<TypeAndShape>> with_type(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info,
                                              ONNXTensorElementDataType type) {
  QQ_TRY(const ir::Shape dims, read_dims(api, info));
  std::vector<const char*> symbols(dims.size());
  QQ_ORT(api.GetSymbolicDimensions(&info, symbols.data(), symbols.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_named = symbols[i] != nullptr && *symbols[i] != '\0';
    if (dims[i] < 0 && !is_named) return std::optional<TypeAndShape>();
  }
  OrtTensorTypeAndShapeInfo* made = nullptr;
  QQ_ORT(api.CreateTensorTypeAndShapeInfo(&made));
  TypeAndShape copy(made, api.ReleaseTensorTypeAndShapeInfo);
  QQ_ORT(api.SetTensorElementType(made, type));
  QQ_ORT(api.SetDimensions(made, dims.data(), dims.size()));
  QQ_ORT(api.SetSymbolicDimensions(made, symbols.data(), symbols.size()));
  return std::optional(std::move(copy));
}

Result<std::byte*> tensor_data(const OrtApi& api, const OrtValue* value) {
  void* data = nullptr;
  QQ_ORT(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data));
  return static_cast<std::byte*>(data);
}

Result<Scratch> Scratch::of(const OrtApi& api, OrtKernelContext* context, size_t bytes) {
  Scratch scratch;
  if (bytes == 0) return scratch;
  OrtMemoryInfo* place = nullptr;
  QQ_ORT(api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &place));
  const std::unique_ptr<OrtMemoryInfo, decltype(api.ReleaseMemoryInfo)> info(place, api.ReleaseMemoryInfo);
  OrtAllocator* made = nullptr;
  QQ_ORT(api.KernelContext_GetAllocator(context, info.get(), &made));
  const std::shared_ptr<OrtAllocator> allocator(made, api.ReleaseAllocator);
  size_t size = bytes + kAlignment;
  void* memory = nullptr;
  QQ_ORT(api.AllocatorAlloc(allocator.get(), size, &memory));
  scratch.memory_ = std::shared_ptr<void>(memory, [&api, allocator](void* own) {
    if (OrtStatus* status = api.AllocatorFree(allocator.get(), own); status != nullptr) api.ReleaseStatus(status);
  });
  scratch.aligned_ = static_cast<std::byte*>(std::align(kAlignment, bytes, memory, size));
  return scratch;
}

}  // namespace quarkq::ort_ops
