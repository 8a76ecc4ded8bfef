// SPDX-License-Identifier: MIT
// The operators of a tape: the table of operators allowed in a region, with their forward and backward functions.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "planning/tune/tape.h"

namespace quarkq::planning::finetune {

/// Place of a value or node in lists by id. REQUIRES: the id is valid.
inline size_t index_of(ir::ValueId id) { return static_cast<size_t>(id.index); }
inline size_t index_of(ir::NodeId id) { return static_cast<size_t>(id.index); }

/// Inputs of one pass over a tape.
struct TapePass {
  const std::vector<LayerValues>& layers;
  Mixing mixing;
  FloatPool& pool;
  Gradients* gradients = nullptr;  ///< Only for the backward pass.
};

/// Reads its inputs and fills its outputs; all are set on construction.
class TapeOp {
 public:
  virtual ~TapeOp() = default;
  /// The storage of the outputs has memory.
  virtual void forward(const TapePass& pass) = 0;
  /// Propagates the gradients at the outputs, which it may overwrite, to the inputs that need one. Called only if all
  /// outputs have a gradient.
  virtual void backward(const TapePass& pass) = 0;
};

/// A node from which an operator is created.
struct TapeNode {
  const ir::Model& model;
  const ir::Graph& graph;
  const ir::Node& node;
  std::vector<TapeValue*> inputs;                    ///< Entries are null for constants and omitted inputs.
  std::vector<std::optional<ir::Tensor>> constants;  ///< The constants that the node reads.
  std::vector<TapeValue*> outputs;                   ///< The operator sets dims, size and layout.
  bool channels_last = false;                        ///< Layout of the inputs.
  size_t place = 0;                                  ///< Index among the operators of the tape.
  const Layer* layer = nullptr;                      ///< The layer of the node, and its index in the region.
  size_t layer_index = 0;
  bool only_clips = false;        ///< The quantizer at the end only clips.
  bool has_fixed_layers = false;  ///< A layer that is not learned is computed with its constants.

  TapeValue& output() const { return *outputs[0]; }
  Status cannot(const char* why) const;
};

using TapeOpResult = Result<std::unique_ptr<TapeOp>>;
using MakeTapeOp = TapeOpResult (*)(const TapeNode& node);

/// The layout in which an operator reads values with three or more dimensions.
enum class TapeLayout : uint8_t { kAny, kChannelsLast, kPlain };

struct TapeOpRow {
  const char *op, *domain;
  MakeTapeOp make;
  TapeLayout layout;
  bool is_in_blocks;  ///< False: the operator ends a block.
};

/// Returns the row of the node's operator, or null. Only the creation itself checks shapes and attributes.
const TapeOpRow* find_tape_row(const ir::Graph& graph, const ir::Node& node);
/// Returns the function that creates the node's operator, or null if the node ends a block.
MakeTapeOp find_tape_op(const ir::Graph& graph, const ir::Node& node);
/// Returns whether a Layer computes the node.
bool is_layer_op(const ir::Node& node);
/// Returns whether the node is elementwise with one input: an activation or a quantizer.
bool is_unary_op(const ir::Graph& graph, const ir::Node& node);

TapeOpResult make_layer_op(const TapeNode& node);
TapeOpResult make_activation_op(const TapeNode& node);
TapeOpResult make_sum_op(const TapeNode& node);
TapeOpResult make_difference_op(const TapeNode& node);
TapeOpResult make_scaling_op(const TapeNode& node);
TapeOpResult make_mean_op(const TapeNode& node);
TapeOpResult make_quantize_op(const TapeNode& node);
TapeOpResult make_move_op(const TapeNode& node);
TapeOpResult make_resize_op(const TapeNode& node);
TapeOpResult make_max_pool_op(const TapeNode& node);
TapeOpResult make_average_pool_op(const TapeNode& node);
TapeOpResult make_softmax_op(const TapeNode& node);
TapeOpResult make_product_op(const TapeNode& node);

/// Returns the operator that converts `from` to the other layout, as `to`.
std::unique_ptr<TapeOp> make_layout_op(TapeValue& from, TapeValue& to);

/// Sets shape and layout of an output, and whether it needs a gradient.
void shape_output(const TapeNode& node, const ir::Shape& dims, size_t output = 0);
void shape_output(const TapeNode& node, const ir::Shape& dims, bool channels_last, size_t output = 0);

/// Destination of an operator's gradient at an input: the input's own buffer for its first reader, otherwise a
/// temporary buffer that is added at the end. The operator writes every element.
class GradientPlace {
 public:
  GradientPlace(TapeValue& value, FloatPool& pool);
  ~GradientPlace();
  GradientPlace(const GradientPlace&) = delete;
  float* data() { return sum_.empty() ? value_.gradient.data() : sum_.data(); }

 private:
  TapeValue& value_;
  FloatPool& pool_;
  FloatBuffer sum_;
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
