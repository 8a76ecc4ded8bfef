// SPDX-License-Identifier: MIT
// Forward and backward through a unit in float32 for inputs of one shape (ADR 0011): its operators in order, one buffer
// per value and one for its gradient. The same bits for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/parallel.h"
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

// The operators of a tape: the table of what a block may consist of, each with its forward and backward function.

/// What one pass of a tape computes with.
struct TapePass {
  const std::vector<LayerValues>& layers;
  Mixing mixing;
  Gradients* gradients = nullptr;  ///< backward only
};

/// Reads its inputs and fills its output; both are given when it is made.
class TapeOp {
 public:
  virtual ~TapeOp() = default;
  virtual void forward(const TapePass& pass) = 0;
  /// From the gradient at the output, which it may overwrite, to those at the inputs that need one.
  virtual void backward(const TapePass& pass) = 0;
};

/// A node as an operator is made from it.
struct TapeNode {
  const ir::Graph& graph;
  const ir::Node& node;
  std::vector<TapeValue*> inputs;                    ///< null: a constant, or none
  std::vector<std::optional<ir::Tensor>> constants;  ///< what the node reads there
  TapeValue& output;                                 ///< dims, size and storage are set by the operator
  bool channels_last = false;
  size_t place = 0;              ///< among the operators of the tape
  const Layer* layer = nullptr;  ///< of a layer, and which of the unit it is
  size_t layer_index = 0;
  bool only_clips = false;  ///< the quantizer at the end

  Status cannot(const char* why) const;
};

using MakeTapeOp = Result<std::unique_ptr<TapeOp>> (*)(const TapeNode& node);

/// How the node is made into an operator; null: it ends a block. Whether its shapes fit only making it tells.
MakeTapeOp find_tape_op(const ir::Graph& graph, const ir::Node& node);
/// Whether it is computed by a Layer.
bool is_layer_op(const ir::Node& node);
/// Whether it is elementwise with one input: an activation or a quantizer.
bool is_unary_op(const ir::Graph& graph, const ir::Node& node);

Result<std::unique_ptr<TapeOp>> make_layer_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_activation_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_sum_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_scaling_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_mean_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_quantize_op(const TapeNode& node);

/// Gives the output its shape, and whether it needs a gradient. With `has_storage` false its data are set elsewhere.
void shape_output(const TapeNode& node, const ir::Shape& dims, bool has_storage = true);

/// Where an operator writes the gradient at an input: the place itself for its first reader, else a buffer that is
/// added to it at the end.
class GradientPlace {
 public:
  explicit GradientPlace(TapeValue& value);
  ~GradientPlace();
  GradientPlace(const GradientPlace&) = delete;
  float* data() { return sum_.empty() ? value_.gradient.data() : sum_.data(); }

 private:
  TapeValue& value_;
  std::vector<float> sum_;
};

/// `to` gets the gradient of `from`, which has as many elements and is no longer used in this pass.
void hand_over(TapeValue& from, TapeValue& to);

/// f(begin, end) for fixed chunks of [0, count), by any number of threads. For loops without sums.
template <typename F>
void in_chunks(int64_t count, const F& f) {
  constexpr int64_t kElements = 16384;
  parallel_pieces(count, kElements, {}, f);
}

}  // namespace quarkq::planning::finetune
