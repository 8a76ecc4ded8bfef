// SPDX-License-Identifier: MIT
// OutputGuard: checks on one sample that a float model still computes the same outputs, after each phase that rewrites
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "ir/graph.h"
#include "pass/context.h"

namespace quarkq::pass {

// Final steps of passes. tidy_up() runs after each fusion and conversion of ref:rewrites#fusions and
// ref:rewrites#hardware-conversions, even if it changed nothing, because later passes depend on the resulting order.

/// Infers the types of all values with the onnx library. Returns kYes if one of them is new.
Result<Changed> infer_types_again(ir::Model& model, Diagnostics& diagnostics);

/// Removes unread initializers and sorts the nodes. Returns kYes if that or the caller changed something.
Result<Changed> tidy_up(ir::Graph& graph, Changed so_far);

class OutputGuard {
 public:
  /// Runs `model` on `sample`; distance() compares later outputs with these. Fails if the executor cannot run the
  /// model, or if a loop needs more than `loop_trips` iterations (0: no bound).
  static Result<OutputGuard> make(const ir::Model& model, const exec::Environment& environment, calib::Sample sample,
                                  int64_t loop_trips = 0);

  /// Runs `model` on one random sample for the inputs of `inputs`, which may be a graph with fixed shapes. The number
  /// of loop iterations is bounded.
  static Result<OutputGuard> on_random_sample(const ir::Model& model, const exec::Environment& environment,
                                              const ir::Graph& inputs);

  /// Returns the largest difference between the outputs of `model` and the baseline, relative to the largest magnitude
  /// of the output. Returns infinity if shapes or types changed, or if the model cannot be run.
  double distance(const ir::Model& model) const;
  /// Returns this difference for outputs that were computed elsewhere.
  double distance_to(const std::vector<ir::Tensor>& outputs) const;
  const std::vector<ir::Tensor>& outputs() const { return outputs_; }
  /// Distances up to this value are due to rounding, such as another summation order. Larger for float16 outputs and
  /// for deep models.
  double tolerance() const { return tolerance_; }
  /// Uses the outputs of `model` as the new baseline, after a pass that changes them on purpose.
  void accept(const ir::Model& model);

 private:
  OutputGuard(const exec::Environment& environment, calib::Sample sample, int64_t loop_trips)
      : environment_(environment), sample_(std::move(sample)), loop_trips_(loop_trips) {}
  Result<std::vector<ir::Tensor>> run(const ir::Model& model) const;

  exec::Environment environment_;
  calib::Sample sample_;
  int64_t loop_trips_ = 0;
  std::vector<ir::Tensor> outputs_;
  double tolerance_ = 0;
};

/// Calls onnx_io::convert_opset() and runs both models on one random sample. Fails with kUnsupported if outputs differ
/// by more than rounding, or if only the converted model cannot be run. A model that the executor cannot run is not
/// verified.
Result<ir::Model> convert_opset(const ir::Model& model, const exec::Environment& environment, int64_t target);

// Models whose batch is a number above 1, for NPUs that compute the first row only: batch_of_one.cpp.

/// Returns the first dimension of all inputs of rank 2 and more, or nullopt unless they have the same number there and
/// it is above 1. Such a dimension is not always a batch: with_batch_of_one() finds out.
std::optional<int64_t> batch_above_one(const ir::Graph& graph);

/// Returns the model with inputs and outputs [1, ...] instead of [n, ...]. The result was run on rows of a random
/// sample: it computes row i of the outputs from row i of the inputs. Constant shapes of Reshape, Expand and
/// ConstantOfShape are adapted. Fails with kUnsupported, stating the reason, if rows depend on each other or an output
/// has other dimensions. REQUIRES: batch_above_one().
Result<ir::Model> with_batch_of_one(const ir::Model& model, const exec::Environment& environment);

}  // namespace quarkq::pass
