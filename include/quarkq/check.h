// SPDX-License-Identifier: MIT
// check(): does a written model respect the limits of an NPU?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quarkq/export.h"
#include "quarkq/status.h"

namespace quarkq {

/// One violated limit. docs/check.md describes the rules.
struct LimitViolation {
  std::string rule;     ///< "adjust_shift_cut", ..., or "power_of_two"
  std::string node;     ///< "node conv_12 (Conv)"; empty when it is about a tensor alone
  std::string tensor;   ///< whose scale would have to change
  std::string measure;  ///< "shift_cut", "position", "scale"
  double found = 0;
  bool has_limits = true;  ///< false for scales, which have to be powers of two
  int low = 0, high = 0;   ///< both allowed
  std::string remedy;
};

struct CheckReport {
  std::string model_path, target;
  size_t nodes = 0;              ///< without Q/DQ
  size_t quantized_tensors = 0;  ///< whose limits were checked
  std::vector<LimitViolation> violations;
};

/// Reads the quantized model at `path` and checks every limit of `target` ("xint8"). Fails as loading does, and with
/// kInvalidArgument for another target or a model without quantized tensors. Violations are no failure.
QUARKQ_EXPORT Result<CheckReport> check(const std::string& path, const std::string& target = "xint8");

/// The same for a serialized model; messages call it `name`.
QUARKQ_EXPORT Result<CheckReport> check_bytes(const std::string& model, const std::string& name,
                                              const std::string& target = "xint8");

/// The report as JSON, keys in a fixed order.
QUARKQ_EXPORT std::string to_json(const CheckReport& report);

}  // namespace quarkq
