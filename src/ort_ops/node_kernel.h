// SPDX-License-Identifier: MIT
// One node of a session of ONNX Runtime: prepared by the executor's own code for each set of input shapes, then
// computed straight from ONNX Runtime's tensors into its output.
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

// The operators that the library brings, one row each: which types they come in, which attributes they have, and which
// prepare function of the executor computes them.

enum class AttributeKind : uint8_t { kInt, kFloat, kString };

struct AttributeRow {
  const char* name;
  AttributeKind kind;
};

/// How inputs and outputs look; see input_type() and output_type().
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

/// The table.
std::span<const Operator> operators();

/// One combination of element types that an operator comes in. ONNX Runtime chooses by the types of the inputs.
struct Variant {
  ElementType real = ElementType::kFloat;  ///< of x (and the scale)
  ElementType code = ElementType::kFloat;  ///< of what is quantized; where nothing is, `real`
};
std::vector<Variant> variants(Signature signature);

size_t input_count(Signature signature);
ElementType input_type(Signature signature, const Variant& variant, size_t input);
/// The input whose element type the output has; nothing: it is FLOAT.
std::optional<size_t> input_with_output_type(Signature signature);
ElementType output_type(Signature signature, const Variant& variant);
/// Whether the output has the shape of input 0, whatever the attributes are.
bool keeps_shape(Signature signature);

class NodeKernel {
 public:
  /// Reads name and attributes. `threads`: what one call uses. Where the model states all shapes, the node is prepared
  /// at once, so that its faults are reported when the session is made.
  static Result<std::unique_ptr<NodeKernel>> make(const OrtApi& api, const Operator& op, const Variant& variant,
                                                  int threads, const OrtKernelInfo& info);

  const OrtApi& api() const { return api_; }
  /// May be called by several threads at once.
  Status compute(OrtKernelContext* context);

 private:
  using Shapes = std::vector<std::optional<ir::Shape>>;  ///< by input; nothing where it is absent

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
  std::string label_;                                      ///< what messages call the node
  std::mutex mutex_;                                       ///< of prepared_
  std::vector<std::shared_ptr<const Prepared>> prepared_;  ///< most recently made first
};

}  // namespace quarkq::ort_ops
