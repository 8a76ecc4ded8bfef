// SPDX-License-Identifier: MIT
// TensorProto and TypeProto from and to their ir forms. Private to src/onnx_io.
#pragma once

#include "ir/tensor.h"
#include "onnx_io/external_data.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

/// Moves the data out of `proto` and clears shape, type and data there; name and rest stay. Raw data is not copied.
Result<ir::Tensor> take_tensor(onnx::TensorProto& proto, ExternalFiles& external);

/// Writes shape, type and data (raw, strings as strings) over what `proto` has of them.
void put_tensor(const ir::Tensor& tensor, onnx::TensorProto& proto);
/// The same without the data: for tensors whose bytes are written by hand or stored elsewhere.
void put_tensor_head(const ir::Tensor& tensor, onnx::TensorProto& proto);

/// Moves the type out of `info`; what ValueType cannot say (denotations, unknown fields) stays in `info`.
Result<ir::ValueType> take_type(onnx::ValueInfoProto& info);
/// Writes `type` into `info`, which may hold the rest that take_type() left.
void put_type(const ir::ValueType& type, onnx::ValueInfoProto& info);

}  // namespace quarkq::onnx_io
