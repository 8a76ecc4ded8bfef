// SPDX-License-Identifier: MIT
// Fine-tuning of one unit (layer or block) after another: collects its input in the current quantized model, trains it,
// judges the result, and stores it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/claim.h"
#include "base/hash.h"
#include "calib/layer_walk.h"
#include "config/algorithms.h"
#include "ir/tensor_store.h"
#include "pass/context.h"
#include "planning/tune/layer_constants.h"
#include "planning/tune/network.h"
#include "planning/tune/saved_units.h"
#include "planning/tune/train_unit.h"

namespace quarkq::planning::finetune {

// Distance between the outputs of the quantized and the float model: SelectiveUpdate (ref:tuning#acceptance), and the
// effect of fine-tuning on the whole model.

/// Two models with the same inputs and outputs, run over the same data.
struct ComparedModels {
  const ir::Model &original, &quantized;
  const exec::Environment& environment;
  const calib::DataReader& data;
};

/// Returns the L2 norm of the difference, averaged over the first samples and the outputs.
Result<double> model_distance(const ComparedModels& models, size_t samples, const config::FinetuneSettings& options);

/// Returns the cosine, averaged over these samples and the floating-point outputs of equal size, or nullopt if there is
/// none.
Result<std::optional<double>> model_cosine(const ComparedModels& models, std::span<const size_t> samples);

/// Bound on the samples' values in memory, so that the whole process stays within a budget.
class MemoryBudget {
 public:
  /// Memory allocated by the process so far counts as permanent.
  explicit MemoryBudget(const config::FinetuneSettings& options);

  /// Call it before collecting the values of a unit with samples of this size and training with them. Limits the store,
  /// so that memory is left for the values and the other buffers of a tape.
  Status make_room(int64_t sample_bytes, int64_t inner_bytes, ir::TensorStore& store);

  /// Call it between two layers. Returns free memory to the system once the process uses half of the budget. Below that
  /// the next layer reuses it, which saves clearing it again.
  void give_back() const;

  int64_t bytes() const { return budget_; }
  /// Returns whether the budget is smaller than the memory that the work itself needs.
  bool is_too_small() const { return !keeps_on_disk_ && budget_ < taken_ + work_; }

 private:
  bool stays_in_memory_, keeps_on_disk_;
  int64_t budget_, taken_, work_ = 0;
};

class Finetuner {
 public:
  /// `original` is the float model. `exact` is the same model or another one that provides the targets of the layers.
  /// They and `context` must outlive this object.
  Finetuner(pass::PlanContext& context, const ir::Model& original, const ir::Model& exact,
            config::FinetuneSettings options);

  /// Returns true if constants changed.
  Result<bool> run();

 private:
  Status make_quantized();
  void keep_largest_layer();
  Status start_walks();
  void make_walks();
  std::string run_key() const;
  Status make_units();
  Status make_network();
  NetworkModels network_models() const;
  Result<SavedUnit> train_network(const std::string& key);
  Status make_network_variables(const std::vector<LayerValues>& stored, double rate_share,
                                UnitVariables& variables) const;
  Result<SavedUnit> train_network(NetworkTrainer& trainer, const std::vector<LayerValues>& stored,
                                  const std::string& key);
  std::string rate_text(double samples_per_second, double seconds_left) const;
  Result<std::vector<Unit>> tried(std::vector<Unit> units) const;
  std::optional<SavedUnit> load(size_t index, const std::string& key) const;
  Status do_unit(size_t index);
  Status skip_unit();
  Result<SavedUnit> make_unit(size_t index, const std::string& key);
  Status take(size_t index, const SavedUnit& done, bool was_done);
  Status collect(const Unit& unit, LayerData& data);
  Result<SavedUnit> train(size_t index, const LayerData& data);
  Result<LayerValues> stored_values(const Layer& layer) const;
  Result<std::unique_ptr<Variables>> make_variables(const Layer& layer, const std::vector<float>& bias,
                                                    double rate) const;
  Result<std::unique_ptr<Variables>> make_network_variables(const Layer& layer, const LayerValues& stored,
                                                            double rate) const;
  Result<UnitVariables> make_variables(const Unit& unit, const std::vector<LayerValues>& stored, double rate) const;
  LearnedConstants learned(const Layer& layer, const Variables& variables) const;
  Result<LearnedConstants> learned_by_network(const Layer& layer, Variables& variables) const;
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
  bool reports() const { return !context_.progress || context_.progress(done_, units_.size()); }
  ComparedModels compared(const ir::Model& quantized) const {
    return {network_ ? network_models().teacher : exact_, quantized, context_.environment, *context_.source.data};
  }

  /// A unit that any of several processes may train (ADR 0013).
  struct SharedUnit {
    std::optional<SavedUnit> result;
    bool is_own = false;  ///< Trained by this process.
  };
  bool is_shared() const { return !context_.tuning->shared_folder.empty(); }
  Status open_shared_folder();
  Status share_units();
  Status share_unit(size_t index, Claims& claims, SharedUnit& unit);
  bool find_result(size_t index, const std::string& key, SharedUnit& unit);
  Status walk_to(size_t index);
  Status wait_for_others(double seconds) const;
  void say(const std::string& text) const;
  void beat();

  pass::PlanContext& context_;
  const ir::Model &original_, &exact_;
  config::FinetuneSettings options_;
  SavedUnits saved_;
  size_t samples_;
  ir::Model quantized_;  ///< The plan in the executor's form, including finished units.
  std::vector<Layer> layers_;
  std::vector<Unit> units_;
  std::optional<Network> network_;  ///< The only unit, if it is the whole network.
  std::vector<std::pair<ir::ValueId, std::optional<ir::Tensor>>> before_;  ///< Replaced codes of the plan.
  ir::TensorStore store_;
  MemoryBudget memory_;
  std::unique_ptr<calib::LayerWalk> quantized_walk_, float_walk_;
  ContentHash key_;             ///< Hash of everything that determines the next unit.
  std::optional<Claim> claim_;  ///< Claim on the unit in training.
  size_t done_ = 0;             ///< Number of finished units, for the progress.
  double distance_ = 0;
  bool changed_ = false;
};

}  // namespace quarkq::planning::finetune
