// SPDX-License-Identifier: MIT
// The quantizing operators of the written file (ref:writing#domains). A small value that the plan carries, so that
// writing and simulating the plan use the same operators: they differ in how out-of-range values overflow.
#pragma once

#include <string>

#include "config/settings.h"
#include "plan/stage.h"

namespace quarkq::plan {

struct OperatorName {
  std::string op, domain;
};

class QdqOperators {
 public:
  /// Those of ai.onnx for every type.
  QdqOperators() = default;
  /// Chosen by quantizer, settings and opset. REQUIRES: settings.inserts_qdq().
  QdqOperators(const config::Settings& settings, int64_t opset);

  OperatorName quantize(const Stage& stage) const;
  /// `zero_at_zero`: every zero point is 0.
  OperatorName dequantize(const Stage& stage, bool zero_at_zero) const;
  /// Both are QuantizeLinear and DequantizeLinear, of whatever domain. REQUIRES: no block stage.
  bool is_standard(const Stage& stage) const;

 private:
  /// Of ai.onnx where it has the type, when legalize.qdq_in_ai_onnx asks, and by quantizer otherwise.
  std::string domain_of(const Stage& stage) const;

  bool by_type_ = false;  ///< the extended quantizer: com.microsoft for what it has, com.amd.quark for the rest
  std::string domain_;    ///< of all others, stored ones aside
  std::string stored_domain_;
  bool prefers_standard_ = false;  ///< legalize.qdq_in_ai_onnx
  bool keeps_valid_ = false;  ///< single 16-bit tensors among others of 8 bits; the reference writes what ONNX refuses
  bool has_16_bits_ = false;  ///< the opset's Q/DQ take 16 bits
};

}  // namespace quarkq::plan
