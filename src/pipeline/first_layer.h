// SPDX-License-Identifier: MIT
// The layer that reads an image first, and the evidence in its parameters about the images it was trained with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace quarkq::pipeline {

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
