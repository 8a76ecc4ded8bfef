// SPDX-License-Identifier: MIT
// Extraction of the parts to fine-tune (ref:tuning#trained-layers): a layer with constant weights, the activation after
// it, and its input and result in the plan's graph and in the float model. Both graphs share their ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/algorithms.h"
#include "pass/context.h"

namespace quarkq::planning::finetune {

struct Activation {
  /// The last two occur only inside blocks: a layer ends before them.
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
  float low = 0, high = 0;    ///< kClip: the limits. kHardSigmoid: factor and offset.
  std::vector<float> slopes;  ///< kLeakyRelu: one slope, or one per channel.
};

struct Layer {
  enum class Kind : uint8_t { kConv, kConvTranspose, kProduct, kInstanceNorm, kLayerNorm } kind = Kind::kConv;
  ir::NodeId node;
  std::string label;
  ir::ValueId start;   ///< Input of the layer, before its quantization.
  ir::ValueId end;     ///< Output of the block including its activation.
  ir::ValueId weight;  ///< Has a slot with one stage.
  ir::ValueId bias;    ///< Invalid if there is none.
  ir::Shape weight_dims;
  /// The layer in the reference model: input and output of the float layer, and its stored floats.
  struct Exact {
    ir::ValueId start, end, weight, bias;
  } exact;
  Activation activation;
  float alpha = 1, beta = 1;  ///< Gemm: factors of product and bias.
  bool transposed = false;    ///< kProduct: the weights are [columns, depth].

  bool is_norm() const { return kind == Kind::kInstanceNorm || kind == Kind::kLayerNorm; }
  /// Returns the layout of a block's values: channels-last for images, ONNX order for all others.
  bool is_channels_last() const { return kind != Kind::kProduct && kind != Kind::kLayerNorm; }
};

/// Returns false if the node is not an activation that can end a layer, or if its limits or slopes are not constant.
bool read_activation(const ir::Graph& graph, const ir::Node& node, Activation& result);

/// Reads kind, factors and shape of weights from a node with weights of these dimensions. Returns why the node cannot
/// be computed as a layer, or an empty string.
std::string read_form(const ir::Node& node, const ir::Shape& weights, Layer& layer);

/// Returns the layers in node order. Candidates that cannot be fine-tuned are reported ("not-finetuned").
std::vector<Layer> find_layers(const pass::PlanContext& context, const ir::Graph& original,
                               const config::FinetuneSettings& options);
/// Sorts layers in the written order: no layer reads the result of a later one.
Status sort_as_written(const pass::PlanContext& context, std::vector<Layer>& layers);
/// Redirects `exact` of each layer to the nodes of the same names in another model (RefModelPath). Layers without such
/// a node are removed with a notice.
void refer_to(const ir::Graph& reference, const ir::Graph& original, Diagnostics& diagnostics,
              std::vector<Layer>& layers);

}  // namespace quarkq::planning::finetune
