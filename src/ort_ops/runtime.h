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

/// The oldest API version with all functions used here. The library therefore loads in ONNX Runtime 1.17 and later,
/// regardless of the headers it was built with.
constexpr uint32_t kApiVersion = 17;
static_assert(ORT_API_VERSION >= kApiVersion, "the headers of ONNX Runtime 1.17 or newer are needed");

/// Converts a Status to an OrtStatus; null for success.
OrtStatus* to_ort(const OrtApi& api, const Status& status);
/// Converts an OrtStatus to a Status and releases it.
Status from_ort(const OrtApi& api, OrtStatus* status);

/// Runs `body`, which returns a Status, and catches all exceptions.
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

// Readers of ONNX Runtime's objects for kernels, and memory from its allocator.

using TypeAndShape = std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)>;

/// Returns the dimensions of a type or value; -1 for unknown dimensions.
Result<ir::Shape> read_dims(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info);
Result<ir::Shape> read_dims(const OrtApi& api, const OrtValue& value);
/// Returns the shape of an input as specified in the model, or the shape of a constant input. Returns nullopt if it is
/// not fully known.
Result<std::optional<ir::Shape>> stated_shape(const OrtApi& api, const OrtKernelInfo& info, size_t input);

/// Returns `info` with another element type and the same symbols. Returns nullopt if a dimension has neither a size nor
/// a symbol, because a new type cannot express that.
Result<std::optional<TypeAndShape>> with_type(const OrtApi& api, const OrtTensorTypeAndShapeInfo& info,
                                              ONNXTensorElementDataType type);

/// Returns the memory of a tensor. Inputs are never written.
Result<std::byte*> tensor_data(const OrtApi& api, const OrtValue* value);

/// Temporary memory of one call, 64-byte aligned, from the session's allocator, which reuses it in later calls.
class Scratch {
 public:
  static Result<Scratch> of(const OrtApi& api, OrtKernelContext* context, size_t bytes);
  std::byte* data() const { return aligned_; }

 private:
  std::shared_ptr<void> memory_;
  std::byte* aligned_ = nullptr;
};

}  // namespace quarkq::ort_ops
