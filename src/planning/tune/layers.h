// SPDX-License-Identifier: MIT
// Cutting out what is finetuned (ref:tuning#trained-layers): a layer with constant weights, the activation after it,
// and where its input and its result are in the plan's graph and in the float model. Both graphs share their ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/algorithms.h"
#include "pass/context.h"

namespace quarkq::planning::finetune {

struct Activation {
  /// The last two occur inside blocks only: a layer ends before them.
  enum class Kind : uint8_t {
    kNone,
    kClip,
    kLeakyRelu,
    kTanh,
    kSigmoid,
    kGelu,
    kTanhGelu,
    kHardSigmoid,
    kHardSwish
  } kind = Kind::kNone;
  float low = 0, high = 0;    ///< kClip; kHardSigmoid: factor and offset
  std::vector<float> slopes;  ///< kLeakyRelu: one, or one per channel
};

struct Layer {
  enum class Kind : uint8_t { kConv, kConvTranspose, kProduct, kInstanceNorm, kLayerNorm } kind = Kind::kConv;
  ir::NodeId node;
  std::string label;
  ir::ValueId start;   ///< what the layer reads, before it is quantized
  ir::ValueId end;     ///< of the block, with its activation
  ir::ValueId weight;  ///< has a slot with one stage
  ir::ValueId bias;    ///< invalid: none
  ir::Shape weight_dims;
  /// The same in the reference model: what the float layer reads and gives, its stored floats.
  struct Exact {
    ir::ValueId start, end, weight, bias;
  } exact;
  Activation activation;
  float alpha = 1, beta = 1;  ///< Gemm: factors of product and bias
  bool transposed = false;    ///< kProduct: the weights are [columns, depth]

  bool is_norm() const { return kind == Kind::kInstanceNorm || kind == Kind::kLayerNorm; }
  /// How a block has its values: images channels-last, all others in ONNX order.
  bool is_channels_last() const { return kind != Kind::kProduct && kind != Kind::kLayerNorm; }
};

/// False: the node is no activation that a layer ends with, or its limits or slopes are not constant.
bool read_activation(const ir::Graph& graph, const ir::Node& node, Activation& result);

/// The layers in node order. Candidates that cannot be fine-tuned give a notice ("not-finetuned").
std::vector<Layer> find_layers(const pass::PlanContext& context, const ir::Graph& original,
                               const config::FinetuneSettings& options);
/// Sorts layers as they are written: none reads a later one's result.
Status sort_as_written(const pass::PlanContext& context, std::vector<Layer>& layers);
/// Moves `exact` of each layer to the nodes of the same names in another model (RefModelPath). Layers without such a
/// node go, with a notice.
void refer_to(const ir::Graph& reference, const ir::Graph& original, Diagnostics& diagnostics,
              std::vector<Layer>& layers);

}  // namespace quarkq::planning::finetune
