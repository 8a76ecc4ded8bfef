// SPDX-License-Identifier: MIT
// The training data of one unit: its inputs in the quantized model and the float results, by sample, as its tape wants
// them.
#pragma once

#include <vector>

#include "ir/tensor.h"
#include "ir/tensor_store.h"

namespace quarkq::planning::finetune {

class LayerData {
 public:
  LayerData(bool channels_last, ir::TensorStore& store) : channels_last_(channels_last), store_(store) {}
  ~LayerData();
  LayerData(const LayerData&) = delete;

  /// In ONNX order, of any float type. Fails when the shapes do not fit those of the other list.
  Status add_input(const ir::Tensor& input);
  Status add_float_input(const ir::Tensor& input);
  Status add_target(const ir::Tensor& target);

  struct Sample {
    ir::Tensor input, float_input, target;  ///< float32, as the tape has them
    ir::Shape dims;                         ///< of the input, ONNX order
    int64_t positions = 0;                  ///< that the loss averages over: all axes but the second
  };
  size_t size() const { return targets_.size(); }
  /// Of the largest sample so far.
  int64_t sample_bytes() const { return input_bytes_ + target_bytes_; }
  Result<Sample> sample(size_t i) const;

 private:
  Result<ir::Tensor> stored(const ir::Tensor& tensor) const;

  bool channels_last_;
  ir::TensorStore& store_;
  std::vector<int> inputs_, float_inputs_, targets_;
  std::vector<ir::Shape> input_dims_, target_dims_;
  int64_t input_bytes_ = 0, target_bytes_ = 0;
};

/// Samples to train with and samples to judge by. Judges are the same when there are too few samples, or when
/// `hold_out` is false.
struct Partition {
  std::vector<size_t> training, judging;
};
Partition partition(size_t samples, bool hold_out);

}  // namespace quarkq::planning::finetune
