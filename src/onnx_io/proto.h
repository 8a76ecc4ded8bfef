// SPDX-License-Identifier: MIT
// The onnx seam: the only way in which files of this folder get at protobuf messages. Private to src/onnx_io.
// "Rest" means a message whose known fields were taken out and cleared: it is kept serialized and merged back on save,
// so that fields quarkq does not know survive.
#pragma once

#include "ir/tensor.h"
#include "onnx_io/external_data.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif
#include <onnx/onnx_pb.h>
#include <cstdint>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <cstddef>
#include <string>
#include <vector>

namespace quarkq::onnx_io {

constexpr int64_t kOldestIrVersion = 3;
constexpr int64_t kNewestIrVersion = 13;
constexpr int64_t kNewestOpset = 24;  ///< of ai.onnx
constexpr int kMaxGraphDepth = 64;    ///< graphs nested in attributes

/// Replaces `message` by the serialized one at `data`. False when the bytes are no such message.
/// REQUIRES: `size` is below 2^31.
bool parse_proto(const void* data, size_t size, google::protobuf::MessageLite& message);

/// Returns the graphs that the attributes of `node` hold, in their order; not those nested deeper.
std::vector<const onnx::GraphProto*> nested_graphs(const onnx::NodeProto& node);
std::vector<onnx::GraphProto*> nested_graphs(onnx::NodeProto& node);

/// Merges a rest made by this program into `message`.
void merge_rest(const std::string& rest, google::protobuf::MessageLite& message);

// TensorProto and TypeProto from and to their ir forms. Private to src/onnx_io.

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

// SparseTensorProto to a dense ir::Tensor. Private to src/onnx_io.

/// Consumes `proto`. Indices may be positions in the flattened tensor ([NNZ]) or coordinates ([NNZ, rank]).
/// kCorruptModel: indices that do not fit shape and values; kUnsupported: elements below 8 bits; kResource: the dense
/// tensor takes more than 256 MiB and 64 times what is stored.
Result<ir::Tensor> take_sparse_tensor(onnx::SparseTensorProto& proto, ExternalFiles& external);

}  // namespace quarkq::onnx_io
