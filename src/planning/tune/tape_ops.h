// SPDX-License-Identifier: MIT
// The operators of a tape: the table of what a block may consist of, each with its forward and backward function.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "planning/tune/tape.h"

namespace quarkq::planning::finetune {

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
