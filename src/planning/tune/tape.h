// SPDX-License-Identifier: MIT
// Forward and backward pass through a unit in float32 for inputs of one shape (ADR 0011): its operators in order, one
// buffer per value and one per gradient. The bits do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "planning/tune/unit.h"

namespace quarkq::planning::finetune {

/// Values that a layer computes with, or their gradients.
struct LayerValues {
  std::vector<float> weights, bias;  ///< An empty bias means no bias.
};
struct Gradients {
  std::vector<LayerValues> layers;
  std::vector<bool> of_bias;  ///< Whether the bias is learned as well, by layer.
};

/// The elements that are rounded when they pass a quantizer inside a block (QDrop).
struct Mixing {
  double rounded = 1;  ///< Share of rounded elements; 1: all.
  uint32_t seed = 0;   ///< Random seed of one pass.
};

class TapeOp;

/// A value between two operators.
struct TapeValue {
  ir::Shape dims;               ///< In ONNX order.
  int64_t size = 0;             ///< Number of elements.
  const float* data = nullptr;  ///< In the layout of the unit; valid until the next forward pass.
  std::vector<float> storage;   ///< The memory of `data`, unless an operator provides its own.
  std::vector<float> gradient;
  bool needs_gradient = false;  ///< A layer precedes the value.
  bool has_gradient = false;    ///< A reader has written the gradient in this pass.

  int64_t channels(bool channels_last) const {
    return dims.empty() ? 1 : channels_last && dims.size() > 1 ? dims[1] : dims.back();
  }
};

class Tape {
 public:
  /// `model` is the simulated model that contains the nodes of `unit`. Both must outlive the tape. Fails with
  /// kUnsupported if an operator cannot be computed for these shapes.
  static Result<std::unique_ptr<Tape>> make(const Unit& unit, const ir::Model& model, const ir::Shape& input);
  ~Tape();

  const ir::Shape& input() const { return values_.front()->dims; }
  int64_t result_size() const { return values_.back()->size; }
  /// Returns the bytes of the values between input and result, and of all gradients.
  int64_t inner_bytes() const;

  /// `layers` has one entry per layer of the unit. The result has result_size() elements and is valid until the next
  /// call.
  const float* forward(const float* x, const std::vector<LayerValues>& layers, const Mixing& mixing);
  /// Returns the buffer into which the caller writes the gradient at the result, between forward() and backward().
  std::vector<float>& result_gradient() { return values_.back()->gradient; }
  /// Adds to `gradients`. Call it after forward() with the same, unchanged values.
  void backward(const std::vector<LayerValues>& layers, Gradients& gradients);

 private:
  Tape() = default;
  Status add_layer(const Unit& unit, const ir::Model& model);
  Status add_nodes(const Unit& unit, const ir::Model& model);
  TapeValue* add_value();

  std::vector<std::unique_ptr<TapeValue>> values_;  ///< The input first, the result last.
  std::vector<std::unique_ptr<TapeOp>> ops_;
};

// The operators of a tape: the table of operators allowed in a block, with their forward and backward functions.

/// Inputs of one pass over a tape.
struct TapePass {
  const std::vector<LayerValues>& layers;
  Mixing mixing;
  Gradients* gradients = nullptr;  ///< Only for the backward pass.
};

/// Reads its inputs and fills its output; both are set on construction.
class TapeOp {
 public:
  virtual ~TapeOp() = default;
  virtual void forward(const TapePass& pass) = 0;
  /// Propagates the gradient at the output, which it may overwrite, to the inputs that need one.
  virtual void backward(const TapePass& pass) = 0;
};

/// A node from which an operator is created.
struct TapeNode {
  const ir::Graph& graph;
  const ir::Node& node;
  std::vector<TapeValue*> inputs;                    ///< Entries are null for constants and omitted inputs.
  std::vector<std::optional<ir::Tensor>> constants;  ///< The constants that the node reads.
  TapeValue& output;                                 ///< The operator sets dims, size and storage.
  bool channels_last = false;
  size_t place = 0;              ///< Index among the operators of the tape.
  const Layer* layer = nullptr;  ///< The layer of the node, and its index in the unit.
  size_t layer_index = 0;
  bool only_clips = false;  ///< The quantizer at the end only clips.

  Status cannot(const char* why) const;
};

using MakeTapeOp = Result<std::unique_ptr<TapeOp>> (*)(const TapeNode& node);

/// Returns the function that creates the node's operator, or null if the node ends a block. Only the creation itself
/// checks the shapes.
MakeTapeOp find_tape_op(const ir::Graph& graph, const ir::Node& node);
/// Returns whether a Layer computes the node.
bool is_layer_op(const ir::Node& node);
/// Returns whether the node is elementwise with one input: an activation or a quantizer.
bool is_unary_op(const ir::Graph& graph, const ir::Node& node);

Result<std::unique_ptr<TapeOp>> make_layer_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_activation_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_sum_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_scaling_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_mean_op(const TapeNode& node);
Result<std::unique_ptr<TapeOp>> make_quantize_op(const TapeNode& node);

/// Sets the shape of the output, and whether it needs a gradient. If `has_storage` is false, its data are set
/// elsewhere.
void shape_output(const TapeNode& node, const ir::Shape& dims, bool has_storage = true);

/// Destination of an operator's gradient at an input: the input's own buffer for its first reader, otherwise a
/// temporary buffer that is added at the end.
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

/// Moves the gradient of `from` to `to`. Both have the same number of elements, and `from` is not used in this pass any
/// more.
void hand_over(TapeValue& from, TapeValue& to);

/// Calls f(begin, end) for fixed chunks of [0, count) on any number of threads. For loops without sums.
template <typename F>
void in_chunks(int64_t count, const F& f) {
  constexpr int64_t kElements = 16384;
  parallel_pieces(count, kElements, {}, f);
}

}  // namespace quarkq::planning::finetune
