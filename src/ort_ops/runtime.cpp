// SPDX-License-Identifier: MIT
#include "ort_ops/runtime.h"

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

}  // namespace quarkq::ort_ops
