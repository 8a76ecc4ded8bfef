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

/// Writes the shapes into the inputs and infers all others again. Compilers for NPUs take static shapes only. Before
/// anything else happens to the model, so that samples are checked against these shapes. kInvalidArgument for a shape
/// of an unknown input, and for one that differs from what the model says.
Status pin_shapes(ir::Model& model, const config::LegalizeBlock& legalize, Diagnostics& diagnostics);

// The inputs and outputs that a result shares with the float model: programs that run the float model must be able to
// run the result.

/// Fails with kInternal if the inputs that a caller must feed, or the outputs, differ from those of `wanted` in name,
/// order or element type. Dimensions may differ: a setting may fix them, and inference corrects those of outputs.
Status check_interface(const ir::Graph& wanted, const ir::Graph& result);

/// Reports inputs and outputs whose element type or dimensions a setting has changed, all in one notice
/// ("interface-changed"). Reports nothing if the two models have different numbers of inputs or outputs.
void report_changed_interface(const ir::Graph& loaded, const ir::Graph& result, Diagnostics& diagnostics);

// The layer that reads an image first, and the evidence in its parameters about the images it was trained with.

/// What follows the first layer.
enum class FirstActivation {
  kOther,   ///< nothing that depends on the scale
  kLinear,  ///< Relu and its like: the same at any scale
  kScaled,  ///< nonlinear at fixed values: Clip, Sigmoid, HardSwish, ...
};

/// By output channel.
struct FirstLayer {
  ir::NodeId conv;
  ir::ValueId output;            ///< where its values are observed
  std::vector<float> gain;       ///< L2 norm of the weights that lead to `output`
  std::vector<float> bias;       ///< zeros when it has none
  std::vector<float> mean;       ///< that BatchNormalization was trained on; empty without one
  std::vector<float> deviation;  ///< likewise
  FirstActivation activation = FirstActivation::kOther;
};

/// The first Conv after `input`, through operators that only move values or shift and scale them by constants.
/// Nothing when there is none, or its weights are not stored.
std::optional<FirstLayer> find_first_layer(const ir::Graph& graph, ir::ValueId input);

/// Class scores of the model: values that Softmax or Sigmoid reads from a layer with weights, else outputs of
/// two dimensions. At most four, the last ones.
std::vector<ir::ValueId> find_scores(const ir::Graph& graph);

}  // namespace quarkq::pipeline
