// SPDX-License-Identifier: MIT
// Input shapes that the settings fix: legalize.shapes (the option --shape) and legalize.batch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "config/quant_config.h"
#include "ir/graph.h"

namespace quarkq::pipeline {

/// Writes the shapes into the inputs and infers all others again. NPU compilers accept only static shapes. Runs before
/// any other change of the model, so that samples are checked against these shapes. Fails with kInvalidArgument for a
/// shape of an unknown input, and for a shape that contradicts the model.
Status pin_shapes(ir::Model& model, const config::LegalizeBlock& legalize, Diagnostics& diagnostics);

// The inputs and outputs that a result shares with the float model: programs that run the float model must be able to
// run the result.

/// Fails with kInternal if the inputs that a caller must feed, or the outputs, differ from `wanted` in name, order or
/// element type. Dimensions may differ: a setting may fix them, and inference corrects output dimensions.
Status check_interface(const ir::Graph& wanted, const ir::Graph& result);

/// Reports inputs and outputs whose element type or dimensions a setting has changed, all in one notice
/// ("interface-changed"). Reports nothing if the two models have different numbers of inputs or outputs.
void report_changed_interface(const ir::Graph& loaded, const ir::Graph& result, Diagnostics& diagnostics);

// The first layer that reads an image, and the evidence in its parameters about the training images.

/// The operator after the first layer.
enum class FirstActivation {
  kOther,   ///< Does not depend on the scale.
  kLinear,  ///< Relu and the like: the same at any scale.
  kScaled,  ///< Nonlinear at fixed values: Clip, Sigmoid, HardSwish, ...
};

/// Vectors are indexed by output channel.
struct FirstLayer {
  ir::NodeId conv;
  ir::ValueId output;            ///< Where its values are observed.
  std::vector<float> gain;       ///< L2 norm of the weights of `output`.
  std::vector<float> bias;       ///< Zeros if it has no bias.
  std::vector<float> mean;       ///< Mean that BatchNormalization was trained with; empty without one.
  std::vector<float> deviation;  ///< Deviation that BatchNormalization was trained with; empty without one.
  FirstActivation activation = FirstActivation::kOther;
};

/// Returns the first Conv after `input`, through operators that only move values or shift and scale them by constants.
/// Returns nullopt if there is none, or if its weights are not stored.
std::optional<FirstLayer> find_first_layer(const ir::Graph& graph, ir::ValueId input);

/// Returns class scores of the model: values that Softmax or Sigmoid reads from a layer with weights, otherwise outputs
/// of two dimensions. Returns at most the last four.
std::vector<ir::ValueId> find_scores(const ir::Graph& graph);

}  // namespace quarkq::pipeline
