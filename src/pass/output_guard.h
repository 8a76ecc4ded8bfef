// SPDX-License-Identifier: MIT
// OutputGuard: checks that a float model computes the same outputs as before, after each phase that rewrites it, on one
// sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "ir/graph.h"
#include "pass/context.h"

namespace quarkq::pass {

// What passes end with. tidy_up: each fusion and conversion of ref:rewrites#fusions, ref:rewrites#hardware-conversions,
// also when it changed nothing, because later passes depend on the order this leaves.

/// Types of all values as the onnx library tells them. kYes when one of them is new.
Result<Changed> infer_types_again(ir::Model& model, Diagnostics& diagnostics);

/// Removes initializers that nothing reads and sorts the nodes. kYes when that or the caller changed something.
Result<Changed> tidy_up(ir::Graph& graph, Changed so_far);

class OutputGuard {
 public:
  /// Runs `model` on `sample`; later outputs are compared with its outputs. Fails when the executor cannot run it, or
  /// when a loop takes more than `loop_trips` iterations (0: no bound).
  static Result<OutputGuard> make(const ir::Model& model, const exec::Environment& environment, calib::Sample sample,
                                  int64_t loop_trips = 0);

  /// The same on one random sample, which fits the inputs of `inputs`: those of a graph whose shapes are fixed, too.
  /// Loops have a bound there.
  static Result<OutputGuard> on_random_sample(const ir::Model& model, const exec::Environment& environment,
                                              const ir::Graph& inputs);

  /// How far the outputs of `model` are from the first ones: the largest difference of an output relative to its
  /// largest magnitude; infinity when shapes or types changed, or when it cannot be run.
  double distance(const ir::Model& model) const;
  /// Distances up to this are due to rounding: sums in another order. float16 outputs are coarser, and it grows with
  /// the depth of the model.
  double tolerance() const { return tolerance_; }
  /// Takes the outputs of `model` as the new baseline, after a pass that is meant to change them.
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

// Opset conversion that is used only if the converted model computes what the original does.

/// Calls onnx_io::convert_opset() and runs both models on one random sample. Fails with kUnsupported if outputs differ
/// by more than rounding, or if only the converted model cannot be run. A model that the executor cannot run is not
/// verified.
Result<ir::Model> convert_opset(const ir::Model& model, const exec::Environment& environment, int64_t target);

}  // namespace quarkq::pass
