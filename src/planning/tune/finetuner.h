// SPDX-License-Identifier: MIT
// Unit after unit, a layer or a block: what it reads in the quantized model so far, its training, the verdict, and
// writing it back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "planning/tune/constant_chain.h"
#include "planning/tune/layer_walk.h"
#include "planning/tune/memory_budget.h"
#include "planning/tune/saved_units.h"
#include "planning/tune/train_unit.h"

namespace quarkq::planning::finetune {

class Finetuner {
 public:
  /// `original`: the float model; `exact`: that, or another that says what layers should give. They and `context` must
  /// outlive this.
  Finetuner(pass::PlanContext& context, const ir::Model& original, const ir::Model& exact,
            config::FinetuneSettings options);

  /// True when constants changed.
  Result<bool> run();

 private:
  Status make_quantized();
  void keep_largest_layer();
  Status start_walks();
  std::string run_key() const;
  Status make_units();
  Result<std::vector<Unit>> tried(std::vector<Unit> units) const;
  Status do_unit(size_t index);
  Status collect(const Unit& unit, LayerData& data, bool is_done);
  Result<SavedUnit> train(size_t index, const LayerData& data);
  Result<LayerValues> stored_values(const Layer& layer) const;
  Result<std::unique_ptr<Variables>> make_variables(const Layer& layer, const std::vector<float>& bias,
                                                    double rate) const;
  Result<UnitVariables> make_variables(const Unit& unit, const std::vector<LayerValues>& stored, double rate) const;
  LearnedConstants learned(const Layer& layer, const Variables& variables) const;
  std::optional<OutputGrid> output_grid(const Unit& unit) const;
  bool fits(const Unit& unit, const SavedUnit& done) const;
  bool fits(const Layer& layer, const LearnedConstants& done) const;
  static Status put_into(ir::Model& model, const Unit& unit, const SavedUnit& done);
  Status select(const Unit& unit, SavedUnit& done);
  Status write_back(const Unit& unit, const SavedUnit& done);
  void store_codes(ir::ValueId value, const ir::Tensor& codes);
  Result<std::optional<double>> held_out_cosine() const;
  Status judge_model(double before);
  void put_back();
  bool reports(size_t done) const { return !context_.progress || context_.progress(done, units_.size()); }

  pass::PlanContext& context_;
  const ir::Model &original_, &exact_;
  config::FinetuneSettings options_;
  SavedUnits saved_;
  size_t samples_;
  ir::Model quantized_;  ///< the plan as the executor runs it; units that are done are in it
  std::vector<Layer> layers_;
  std::vector<Unit> units_;
  std::vector<std::pair<ir::ValueId, std::optional<ir::Tensor>>> before_;  ///< codes of the plan that were replaced
  TensorStore store_;
  MemoryBudget memory_;
  std::unique_ptr<LayerWalk> quantized_walk_, float_walk_;
  ContentHash key_;  ///< of everything that decides over the next unit
  double distance_ = 0;
  bool changed_ = false;
};

}  // namespace quarkq::planning::finetune
