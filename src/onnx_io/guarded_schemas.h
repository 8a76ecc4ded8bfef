// SPDX-License-Identifier: MIT
// The library's operator schemas for shape inference and the checker: guarded where they index past what a model gave
// them, and extended by forms that ONNX Runtime accepts. Private to src/onnx_io.
#pragma once

#include "onnx_io/onnx_headers.h"

namespace quarkq::onnx_io {

/// The schemas of the library's registry; those of the table in the .cpp check ranks and numbers of elements first, and
/// fail as the library's own checks do. Ranks are known there only: inference finds them on its way. Numbers of long
/// lists are not propagated: a list of 2^40 would take 2^40 messages.
const onnx::ISchemaRegistry& guarded_schemas();

}  // namespace quarkq::onnx_io
