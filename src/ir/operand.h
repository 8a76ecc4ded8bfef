// SPDX-License-Identifier: MIT
// What a graph value holds while a model runs.
#pragma once

#include <utility>
#include <vector>

#include "ir/tensor.h"

namespace quarkq::ir {

/// A tensor, a sequence of tensors, or nothing (an optional without a value). An optional with a value is that value.
struct Operand {
  enum class Kind { kNone, kTensor, kSequence };

  Operand() = default;
  Operand(Tensor value) : kind(Kind::kTensor), tensor(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  static Operand of_sequence(std::vector<Tensor> elements) {
    Operand operand;
    operand.kind = Kind::kSequence;
    operand.sequence = std::move(elements);
    return operand;
  }

  /// As assignment, but keeps the memory of the dims there are.
  void set(const Tensor& value) {
    kind = Kind::kTensor;
    tensor = value;
    sequence.clear();
  }

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool is_sequence() const { return kind == Kind::kSequence; }

  Kind kind = Kind::kNone;
  Tensor tensor;
  std::vector<Tensor> sequence;
};

}  // namespace quarkq::ir
