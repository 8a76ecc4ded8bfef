// SPDX-License-Identifier: MIT
// The onnx seam: files of this folder access protobuf messages only through this header. Private to src/onnx_io. A
// "rest" is a message from which the known fields were removed. It is kept serialized and merged back on save, so that
// fields unknown to quarkq are preserved.
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
constexpr int64_t kNewestIrVersion = 14;
constexpr int64_t kNewestOpset = 28;  ///< Newest supported opset of ai.onnx.
constexpr int kMaxGraphDepth = 64;    ///< Upper bound on the nesting of graphs in attributes.

/// Replaces `message` by the serialized message at `data`. Returns false if the bytes are not such a message. REQUIRES:
/// `size` is below 2^31.
bool parse_proto(const void* data, size_t size, google::protobuf::MessageLite& message);

/// Returns the graphs in the attributes of `node`, in order, without deeper ones.
std::vector<const onnx::GraphProto*> nested_graphs(const onnx::NodeProto& node);
std::vector<onnx::GraphProto*> nested_graphs(onnx::NodeProto& node);

/// Merges a rest created by this program into `message`.
void merge_rest(const std::string& rest, google::protobuf::MessageLite& message);

// Conversion of TensorProto and TypeProto to and from their ir forms. Private to src/onnx_io.

/// Moves the data out of `proto` and clears shape, type and data there. Name and rest stay. Raw data is not copied.
Result<ir::Tensor> take_tensor(onnx::TensorProto& proto, ExternalFiles& external);

/// Replaces shape, type and data (raw; strings as strings) of `proto`.
void put_tensor(const ir::Tensor& tensor, onnx::TensorProto& proto);
/// Replaces shape and type without data, for tensors whose bytes are written separately.
void put_tensor_head(const ir::Tensor& tensor, onnx::TensorProto& proto);

/// Moves the type out of `info`. Parts that ValueType cannot represent (denotations, unknown fields) stay in `info`.
Result<ir::ValueType> take_type(onnx::ValueInfoProto& info);
/// Writes `type` into `info`, which may contain the rest left by take_type().
void put_type(const ir::ValueType& type, onnx::ValueInfoProto& info);

// Conversion of SparseTensorProto to a dense ir::Tensor. Private to src/onnx_io.

/// Consumes `proto`. Indices may be positions in the flattened tensor ([NNZ]) or coordinates ([NNZ, rank]). Fails with
/// kCorruptModel if indices do not match shape and values, kUnsupported for elements below 8 bits, kResource if the
/// dense tensor needs more than 256 MiB and 64 times the stored size.
Result<ir::Tensor> take_sparse_tensor(onnx::SparseTensorProto& proto, ExternalFiles& external);

}  // namespace quarkq::onnx_io
