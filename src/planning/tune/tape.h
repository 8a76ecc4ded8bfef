// SPDX-License-Identifier: MIT
// Forward and backward pass through a region of the simulated model in float32 for inputs of fixed shapes (ADR 0011,
// ADR 0020). Operators run in order. The bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "planning/tune/unit.h"

namespace quarkq::planning::finetune {

// Memory of tapes: buffers of floats that are not cleared and are used again. Not thread-safe.

/// Memory for `size` floats, which are undefined after the buffer was taken from a pool.
class FloatBuffer {
 public:
  FloatBuffer() = default;

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  float* begin() { return data(); }
  float* end() { return data() + size_; }
  const float* begin() const { return data(); }
  const float* end() const { return data() + size_; }
  std::span<float> span() { return {data(), size_}; }

 private:
  friend class FloatPool;
  std::unique_ptr<float[]> data_;
  size_t size_ = 0, capacity_ = 0;
};

class FloatPool {
 public:
  /// Returns a buffer of `size` floats: the smallest returned one that is large enough, otherwise a new one.
  FloatBuffer take(size_t size) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->capacity_ >= size && (best == free_.end() || it->capacity_ < best->capacity_)) best = it;
    FloatBuffer buffer;
    if (best != free_.end()) {
      buffer = std::move(*best);
      *best = std::move(free_.back());
      free_.pop_back();
    } else {
      buffer.data_ = std::make_unique_for_overwrite<float[]>(size);
      buffer.capacity_ = size;
      allocated_ += size;
    }
    buffer.size_ = size;
    return buffer;
  }
  /// Takes a buffer back and leaves an empty one. Empty buffers are ignored.
  void give(FloatBuffer& buffer) {
    if (buffer.data_ != nullptr) free_.push_back(std::move(buffer));
    buffer = FloatBuffer();
  }
  /// Returns the bytes of all buffers that were taken so far.
  size_t bytes() const { return allocated_ * sizeof(float); }

 private:
  std::vector<FloatBuffer> free_;
  size_t allocated_ = 0;
};

// Values of a tape.

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

/// A value between two operators.
struct TapeValue {
  ir::Shape dims;               ///< In ONNX order.
  int64_t size = 0;             ///< Number of elements.
  bool channels_last = false;   ///< Layout in memory; false: ONNX order.
  const float* data = nullptr;  ///< Valid from the operator that fills it to the last use in the pass.
  FloatBuffer storage;          ///< The memory of `data`; empty for inputs.
  FloatBuffer gradient;         ///< Empty until a reader needs it.
  bool needs_gradient = false;  ///< A layer precedes the value.
  bool has_gradient = false;    ///< A reader, or the caller, has written the gradient in this pass.

  int64_t channels() const { return dims.empty() ? 1 : channels_last && dims.size() > 1 ? dims[1] : dims.back(); }
};

class TapeOp;

class Tape {
 public:
  /// `model` is the simulated model that contains the nodes of `region`. Both must outlive the tape, and so must
  /// `pool`, which several tapes can share; null: the tape has its own. `inputs` are the shapes of the starts. Fails
  /// with kUnsupported if an operator cannot be computed for these shapes; `failed` then receives its node.
  static Result<std::unique_ptr<Tape>> make(const TapeRegion& region, const ir::Model& model,
                                            std::span<const ir::Shape> inputs, FloatPool* pool = nullptr,
                                            ir::NodeId* failed = nullptr);
  /// Returns the tape of a layer or a block.
  static Result<std::unique_ptr<Tape>> make(const Unit& unit, const ir::Model& model, const ir::Shape& input);
  ~Tape();

  const ir::Shape& input(size_t i = 0) const { return values_[i]->dims; }
  /// Returns the value at end `i` of the region, in its own layout.
  const TapeValue& result(size_t i = 0) const { return *ends_[i]; }
  int64_t result_size() const { return result().size; }
  /// Returns the bytes of the values between input and result, and of all gradients.
  int64_t inner_bytes() const;

  /// Whether backward() follows. If not, values are released after their last reader.
  enum class Pass : uint8_t { kTraining, kOnlyForward };
  /// `layers` has one entry per layer of the region, `inputs` the data of each start. The ends are valid until the next
  /// call.
  void forward(std::span<const float* const> inputs, const std::vector<LayerValues>& layers, const Mixing& mixing,
               Pass pass);
  /// Returns the data of the only end.
  const float* forward(const float* x, const std::vector<LayerValues>& layers, const Mixing& mixing);
  /// Returns the buffer into which the caller writes the gradient at an end, between forward() and backward().
  std::span<float> result_gradient(size_t i = 0);
  /// Adds to `gradients`. Call it after a training pass with the same, unchanged values.
  void backward(const std::vector<LayerValues>& layers, Gradients& gradients);

 private:
  struct Step {
    std::unique_ptr<TapeOp> op;
    std::vector<TapeValue*> outputs;
    std::vector<TapeValue*> dead;  ///< Values that no later operator reads.
  };
  class Builder;

  Tape() = default;
  void release_all();

  std::unique_ptr<FloatPool> own_pool_;
  FloatPool* pool_ = nullptr;
  std::vector<std::unique_ptr<TapeValue>> values_;  ///< The inputs first.
  std::vector<TapeValue*> ends_;
  std::vector<Step> steps_;
};

}  // namespace quarkq::planning::finetune
