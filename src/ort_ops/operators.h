// SPDX-License-Identifier: MIT
// The operators that the library brings, one row each: which types they come in, which attributes they have, and which
// prepare function of the executor computes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exec/op_def.h"

namespace quarkq::ort_ops {

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

}  // namespace quarkq::ort_ops
