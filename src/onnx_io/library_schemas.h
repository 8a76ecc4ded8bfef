// SPDX-License-Identifier: MIT
// The onnx library's headers, which do not compile under this project's warnings. Only files of this folder that call
// the library include this. Private to src/onnx_io.
#pragma once

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif
#include <onnx/checker.h>
#include <onnx/defs/function.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>
#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <onnx/inliner/inliner.h>
#include <onnx/onnx-data.pb.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace quarkq::onnx_io {

// The library's operator schemas for shape inference and the checker. They are guarded where the library indexes past
// the inputs of a model, and extended by forms that ONNX Runtime accepts. Private to src/onnx_io.

/// Returns the schemas of the library's registry. Schemas in the table of the .cpp file first check ranks and element
/// counts, and fail like the library's own checks. Ranks are known only there, during inference. Contents of long lists
/// are not propagated: a list of 2^40 would need 2^40 messages.
const onnx::ISchemaRegistry& guarded_schemas();

}  // namespace quarkq::onnx_io
