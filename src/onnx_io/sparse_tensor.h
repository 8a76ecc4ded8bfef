// SPDX-License-Identifier: MIT
// SparseTensorProto to a dense ir::Tensor. Private to src/onnx_io.
#pragma once

#include "onnx_io/tensor_proto.h"

namespace quarkq::onnx_io {

/// Consumes `proto`. Indices may be positions in the flattened tensor ([NNZ]) or coordinates ([NNZ, rank]).
/// kCorruptModel: indices that do not fit shape and values; kUnsupported: elements below 8 bits; kResource: the dense
/// tensor takes more than 256 MiB and 64 times what is stored.
Result<ir::Tensor> take_sparse_tensor(onnx::SparseTensorProto& proto, ExternalFiles& external);

}  // namespace quarkq::onnx_io
