// SPDX-License-Identifier: MIT
// Which operators do the quantizing in the file (spec 02 B.3).
#pragma once

#include <string>

#include "passes/context.h"

namespace quarkq::passes {

struct OperatorName {
  std::string op, domain;
};

constexpr const char kMicrosoftDomain[] = "com.microsoft";
constexpr const char kQuarkDomain[] = "com.amd.quark";

/// Chooses by quantizer, settings and opset once, then by element type.
class QdqOperators {
 public:
  explicit QdqOperators(const PassContext& context);

  OperatorName quantize(const plan::Stage& stage) const;
  /// `zero_at_zero`: every zero point is 0.
  OperatorName dequantize(const plan::Stage& stage, bool zero_at_zero) const;

 private:
  bool by_type_ = false;  ///< the extended quantizer: com.microsoft for what it has, com.amd.quark for the rest
  std::string domain_;    ///< of all others, stored ones aside
  std::string stored_domain_;
};

}  // namespace quarkq::passes
