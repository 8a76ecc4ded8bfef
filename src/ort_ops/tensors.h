// SPDX-License-Identifier: MIT
// What kernels read of ONNX Runtime's objects, and memory of its allocator.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ir/shape.h"
#include "ort_ops/runtime.h"

namespace quarkq::ort_ops {

using TypeAndShape = std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)>;

/// Dims of a type or value; unknown ones are -1.
Result<ir::Shape> read_dims(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info);
Result<ir::Shape> read_dims(const OrtApi& api, const OrtValue& value);
/// The shape of an input as the model states it, or of the constant it is; nothing when it is not fully known.
Result<std::optional<ir::Shape>> stated_shape(const OrtApi& api, const OrtKernelInfo& info, size_t input);

/// `info` with another element type; symbols of its dims included. Nothing when a dim has neither a size nor a symbol:
/// a type that is made here cannot say that.
Result<std::optional<TypeAndShape>> with_type(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info,
                                              ONNXTensorElementDataType type);

/// The memory of a tensor. Inputs are not written to.
Result<std::byte*> tensor_data(const OrtApi& api, const OrtValue* value);

/// Temporary memory of one call, 64-byte aligned, from the session's allocator: it is reused from call to call.
class Scratch {
 public:
  static Result<Scratch> of(const OrtApi& api, OrtKernelContext* context, size_t bytes);
  std::byte* data() const { return aligned_; }

 private:
  std::shared_ptr<void> memory_;
  std::byte* aligned_ = nullptr;
};

}  // namespace quarkq::ort_ops
