// SPDX-License-Identifier: MIT
// Layer after layer: what it reads in the quantized model so far, its training, the verdict, and writing it back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "planning/tune/constant_chain.h"
#include "planning/tune/layer_walk.h"
#include "planning/tune/layers.h"
#include "planning/tune/memory_budget.h"
#include "planning/tune/saved_layers.h"
#include "planning/tune/train_layer.h"

namespace quarkq::planning::finetune {

class Finetuner {
 public:
  /// `original`: the float model; `exact`: that, or another that says what layers should give. They and `context` must
  /// outlive this.
  Finetuner(pass::PlanContext& context, const ir::Model& original, const ir::Model& exact,
            config::FinetuneSettings options);

  /// True when a layer changed.
  Result<bool> run();

 private:
  Status make_quantized();
  void keep_largest_layer();
  Status start_walks();
  std::string run_key() const;
  Status do_layer(size_t index);
  Status collect(LayerData& data, bool is_done);
  Result<SavedLayer> train(size_t index, const LayerData& data);
  Result<std::unique_ptr<Variables>> make_variables(const Layer& layer, const ConstantChain& weight,
                                                    const std::vector<float>& bias, double rate) const;
  std::optional<OutputGrid> output_grid(const Layer& layer) const;
  bool fits(const Layer& layer, const SavedLayer& done) const;
  static Status put_into(ir::Model& model, const Layer& layer, const SavedLayer& done);
  Status select(const Layer& layer, SavedLayer& done);
  Status write_back(const Layer& layer, const SavedLayer& done);
  Result<std::optional<double>> held_out_cosine() const;
  Status judge_model(double before);
  bool reports(size_t done) const { return !context_.progress || context_.progress(done, layers_.size()); }

  pass::PlanContext& context_;
  const ir::Model &original_, &exact_;
  config::FinetuneSettings options_;
  SavedLayers saved_;
  size_t samples_;
  ir::Model quantized_;  ///< the plan as the executor runs it; layers that are done are in it
  std::vector<Layer> layers_;
  TensorStore store_;
  MemoryBudget memory_;
  std::unique_ptr<LayerWalk> quantized_walk_, float_walk_;
  ContentHash key_;  ///< of everything that decides over the next layer
  double distance_ = 0;
  bool changed_ = false;
};

}  // namespace quarkq::planning::finetune
