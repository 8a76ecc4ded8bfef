// SPDX-License-Identifier: MIT
// The seam to ONNX Runtime's C API: the version in use, and its statuses from and to ours.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstdint>
#include <exception>

#include "base/error.h"

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
