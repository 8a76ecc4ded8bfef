// SPDX-License-Identifier: MIT
// Forward and backward through a unit in float32 for inputs of one shape (ADR 0011): its operators in order, one buffer
// per value and one for its gradient. The same bits for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "planning/tune/unit.h"

namespace quarkq::planning::finetune {

/// Of one layer: values that it computes with, or their gradients.
struct LayerValues {
  std::vector<float> weights, bias;  ///< no bias: empty
};
struct Gradients {
  std::vector<LayerValues> layers;
  std::vector<bool> of_bias;  ///< by layer: the bias is learned, too
};

/// Which elements are rounded where a quantizer inside a block is passed (QDrop).
struct Mixing {
  double rounded = 1;  ///< share of them; 1: all
  uint32_t seed = 0;   ///< of one pass
};

class TapeOp;

/// A value between two operators.
struct TapeValue {
  ir::Shape dims;               ///< ONNX order
  int64_t size = 0;             ///< elements
  const float* data = nullptr;  ///< in the order of the unit; valid until the next forward pass
  std::vector<float> storage;   ///< what `data` points at, unless an operator has its own
  std::vector<float> gradient;
  bool needs_gradient = false;  ///< a layer comes before
  bool has_gradient = false;    ///< a reader has written one in this pass

  int64_t channels(bool channels_last) const {
    return dims.empty() ? 1 : channels_last && dims.size() > 1 ? dims[1] : dims.back();
  }
};

class Tape {
 public:
  /// `model`: the simulated one, whose graph has the nodes of `unit`; both outlive the tape. kUnsupported: an operator
  /// cannot be computed for these shapes.
  static Result<std::unique_ptr<Tape>> make(const Unit& unit, const ir::Model& model, const ir::Shape& input);
  ~Tape();

  const ir::Shape& input() const { return values_.front()->dims; }
  int64_t result_size() const { return values_.back()->size; }
  /// Of the values between input and result, and of all gradients.
  int64_t inner_bytes() const;

  /// One entry of `layers` per layer of the unit. The result, of result_size(), stays valid until the next call.
  const float* forward(const float* x, const std::vector<LayerValues>& layers, const Mixing& mixing);
  /// Where the caller writes the gradient at the result, between forward() and backward().
  std::vector<float>& result_gradient() { return values_.back()->gradient; }
  /// Adds to `gradients`. After forward() on the same values, which must not have changed.
  void backward(const std::vector<LayerValues>& layers, Gradients& gradients);

 private:
  Tape() = default;
  Status add_layer(const Unit& unit, const ir::Model& model);
  Status add_nodes(const Unit& unit, const ir::Model& model);
  TapeValue* add_value();

  std::vector<std::unique_ptr<TapeValue>> values_;  ///< the input first, the result last
  std::vector<std::unique_ptr<TapeOp>> ops_;
};

}  // namespace quarkq::planning::finetune
