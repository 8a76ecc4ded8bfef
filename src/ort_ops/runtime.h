// SPDX-License-Identifier: MIT
// The seam to ONNX Runtime's C API: the version in use, and its statuses from and to ours.
#pragma once

#include <onnxruntime_c_api.h>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "ir/shape.h"

namespace quarkq::ort_ops {

/// The oldest API that has what is used here, so that the library runs in every ONNX Runtime from 1.17 on, whatever
/// headers it was built with.
constexpr uint32_t kApiVersion = 17;
static_assert(ORT_API_VERSION >= kApiVersion, "the headers of ONNX Runtime 1.17 or newer are needed");

/// Our error as theirs, null for success.
OrtStatus* to_ort(const OrtApi& api, const Status& status);
/// Their error as ours; releases it.
Status from_ort(const OrtApi& api, OrtStatus* status);

/// The result of `body`, which returns a Status; no exception escapes.
template <typename Body>
OrtStatus* guarded(const OrtApi& api, const Body& body) {
  try {
    return to_ort(api, body());
  } catch (const std::bad_alloc&) {
    return to_ort(api, resource_error("quarkq operators: not enough memory"));
  } catch (const std::exception& error) {
    return to_ort(api, internal_error("quarkq operators: ", error.what()));
  }
}

}  // namespace quarkq::ort_ops

/// Returns an error of an OrtApi call from the calling function.
#define QQ_ORT(call) QQ_RETURN_IF_ERROR(::quarkq::ort_ops::from_ort(api, call))

namespace quarkq::ort_ops {

// What kernels read of ONNX Runtime's objects, and memory of its allocator.

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
