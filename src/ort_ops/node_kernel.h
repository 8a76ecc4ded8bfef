// SPDX-License-Identifier: MIT
// One node of an ONNX Runtime session. The executor's code prepares it for each set of input shapes; it then computes
// directly from ONNX Runtime's tensors to its output.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/op_def.h"
#include "ort_ops/runtime.h"

namespace quarkq::ort_ops {

// The operators of the library, one row each: their types, their attributes, and the executor's prepare function that
// computes them.

enum class AttributeKind : uint8_t { kInt, kFloat, kString };

struct AttributeRow {
  const char* name;
  AttributeKind kind;
};

/// Types of inputs and outputs; see input_type() and output_type().
enum class Signature : uint8_t {
  kQuantize,    ///< x, scale, zero point -> codes of the zero point's type
  kDequantize,  ///< codes, scale, zero point of the codes' type -> FLOAT
  kConvert,     ///< x -> the same type
  kNormalize,   ///< X, scale, B -> Y, all FLOAT
  kLstm,        ///< X, W, R, B -> Y, all FLOAT
};

struct Operator {
  const char* domain;
  const char* name;
  Signature signature;
  std::span<const AttributeRow> attributes;
  Result<exec::Kernel> (*prepare)(exec::Prepare&);
};

/// Returns the table.
std::span<const Operator> operators();

/// One combination of element types of an operator. ONNX Runtime selects it by the types of the inputs.
struct Variant {
  ElementType real = ElementType::kFloat;  ///< Type of x (and of the scale).
  ElementType code = ElementType::kFloat;  ///< Type of the quantized tensor; equal to `real` if nothing is quantized.
};
std::vector<Variant> variants(Signature signature);

size_t input_count(Signature signature);
ElementType input_type(Signature signature, const Variant& variant, size_t input);
/// Returns the input whose element type the output has, or nullopt if the output is FLOAT.
std::optional<size_t> input_with_output_type(Signature signature);
ElementType output_type(Signature signature, const Variant& variant);
/// Returns whether the output always has the shape of input 0, regardless of the attributes.
bool keeps_shape(Signature signature);

class NodeKernel {
 public:
  /// Reads name and attributes. `threads` is the number of threads of one call. If the model specifies all shapes, the
  /// node is prepared immediately, so that faults are reported when the session is created.
  static Result<std::unique_ptr<NodeKernel>> make(const OrtApi& api, const Operator& op, const Variant& variant,
                                                  int threads, const OrtKernelInfo& info);

  const OrtApi& api() const { return api_; }
  /// Several threads may call it concurrently.
  Status compute(OrtKernelContext* context);

 private:
  using Shapes = std::vector<std::optional<ir::Shape>>;  ///< Shapes by input index; nullopt if the input is omitted.

  struct Prepared {
    Shapes shapes;
    exec::Kernel kernel;
    ir::Shape output;
    size_t scratch_bytes = 0;
    bool copies_input = false;
  };
  struct Inputs {
    Shapes shapes;
    std::vector<const std::byte*> data;
  };

  NodeKernel(const OrtApi& api, const Operator& op, const Variant& variant, int threads)
      : api_(api), op_(op), variant_(variant), threads_(threads) {}
  Status read_node(const OrtKernelInfo& info);
  Status prepare_known_shapes(const OrtKernelInfo& info);
  Result<Inputs> read_inputs(OrtKernelContext* context) const;
  Result<std::shared_ptr<const Prepared>> prepared_for(const Shapes& shapes);
  Result<std::shared_ptr<const Prepared>> prepare(const Shapes& shapes) const;

  const OrtApi& api_;
  const Operator& op_;
  Variant variant_;
  int threads_;
  ir::Node node_;
  std::string label_;                                      ///< Name of the node in messages.
  std::mutex mutex_;                                       ///< Guards prepared_.
  std::vector<std::shared_ptr<const Prepared>> prepared_;  ///< Most recently created first.
};

}  // namespace quarkq::ort_ops
