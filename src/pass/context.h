// SPDX-License-Identifier: MIT
// What a pass may access, by the kind of its phase. The type says what the pass may change: a float pass the model, a
// planning pass the selection and the plan over a model that stays as it is, a restructuring pass model and plan
// together, a Q/DQ pass the lowered model. pipeline/run_state.h owns what these refer to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "calib/run_calibration.h"
#include "calib/statistics_set.h"
#include "config/settings.h"
#include "exec/environment.h"
#include "ir/node.h"
#include "ir/tensor.h"
#include "numeric/quant_params.h"
#include "plan/quant_plan.h"
#include "plan/selection.h"

namespace quarkq::pass {

// Weights that compensated rounding rounded, kept while plans of one calibrated model are tried: most of these plans
// differ in other layers.

/// What the codes of a layer's weights depend on, beside the weights and the samples.
struct RoundingGrid {
  std::vector<numeric::QuantParams> params;
  numeric::IntegerRange limits;
  float low = 0, high = 0;  ///< values of the layer's input that the plan can hold

  bool operator==(const RoundingGrid&) const = default;
};

struct RoundedWeights {
  RoundingGrid grid;
  ir::Tensor codes;                ///< int32, [groups][outputs][depth] as one axis
  std::vector<double> input_mean;  ///< of the float layer's input rows, [groups][depth]
  int64_t rows = 0;                ///< that these were found with
};

/// By the weight and the float tensor that the layer reads.
class RoundingCache {
 public:
  using Key = std::pair<ir::ValueId, ir::ValueId>;

  /// Null: nothing is kept for this grid.
  const RoundedWeights* find(const Key& key, const RoundingGrid& grid) const {
    const auto found = kept_.find(key);
    return found == kept_.end() || !(found->second.grid == grid) ? nullptr : &found->second;
  }

  /// In place of what was kept for the layer. Not more than kMostCodes in all: the rest is rounded each time.
  void keep(const Key& key, RoundedWeights rounded) {
    auto& place = kept_[key];
    count_ += rounded.codes.size() - place.codes.size();
    place = std::move(rounded);
    if (count_ <= kMostCodes) return;
    count_ -= place.codes.size();
    kept_.erase(key);
  }

 private:
  static constexpr int64_t kMostCodes = int64_t{1} << 25;  // 128 MB

  std::map<Key, RoundedWeights> kept_;
  int64_t count_ = 0;  ///< codes
};

/// What the finetuning did, layer by layer, for the report.
struct FinetunedLayer {
  std::string node;                          ///< "node conv5 (Conv)"
  std::string algorithm;                     ///< "adaround"
  double error_before = 0, error_after = 0;  ///< mean squared error of the block on samples not trained on
  bool kept = false;
  bool resumed = false;  ///< read from the state of a run that was interrupted
  double seconds = 0;
};

/// The model as a whole: cosine with the float model's outputs, averaged over samples that were not trained with.
struct FinetunedOutputs {
  size_t samples = 0;
  double cosine_before = 0, cosine_after = 0;
};

}  // namespace quarkq::pass

namespace quarkq {

/// Did the pass change anything?
enum class Changed { kNo, kYes };

namespace pass {

/// Receives how much of a pass's work is done; returns false to interrupt. May be empty.
using Progress = std::function<bool(size_t done, size_t total)>;

/// What calibration reads: samples, or the statistics of samples seen before. Both null: nothing was given.
struct CalibrationSource {
  const calib::DataReader* data = nullptr;
  const calib::StatisticsSet* statistics = nullptr;
};

/// Kept of calibration for further plans of the same calibrated model.
struct Measured {
  calib::Ranges ranges = {};              ///< of calibrated tensors, as found
  std::set<ir::ValueId> not_finite = {};  ///< tensors that held NaN or infinities
  std::vector<Diagnostic> findings = {};  ///< what was reported while they were measured
};

/// Phase select: reads the model as loaded.
struct SelectContext {
  const ir::Model& model;
  const config::Settings& settings;
  plan::Selection& selection;
  Diagnostics& diagnostics;

  const ir::Graph& graph() const { return model.graph; }
};

/// Phases convert to adapt: rewrites of the float model. A rewrite that introduces an operator may add it to the
/// selection's operator types.
struct FloatContext {
  ir::Model& model;
  const config::Settings& settings;
  plan::Selection& selection;
  Diagnostics& diagnostics;
  const exec::Environment& environment;  ///< of the sessions that the pass runs
  const calib::DataReader* data = nullptr;
  /// Receives the inputs whose samples are transposed (0, 2, 3, 1) from then on; null: not needed.
  std::vector<std::string>* channels_last_inputs = nullptr;
  Progress progress = {};

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
};

/// Inputs of phase tune beside the plan, and its results.
struct Tuning {
  std::string state_folder = {};            ///< keeps the layers that are done; empty: none
  std::string shared_folder = {};           ///< of all processes that train this model together; empty: only this one
  std::string now = {};                     ///< with a shared folder: what was done last, for the progress
  std::vector<FinetunedLayer> layers = {};  ///< what the fine-tuning did
  std::optional<FinetunedOutputs> outputs = {};
  /// Weights that were rounded for other plans of the same calibrated model and samples; null: none are kept.
  std::shared_ptr<RoundingCache> rounded = {};
};

/// Phases mark, calibrate, constrain and tune: the model stays, the plan changes.
struct PlanContext {
  const ir::Model& model;
  const config::Settings& settings;
  plan::Selection& selection;
  plan::QuantPlan& plan;
  Diagnostics& diagnostics;
  const exec::Environment& environment;  ///< of the sessions that the pass runs
  CalibrationSource source = {};
  const ir::Model* float_model = nullptr;  ///< as it was calibrated, before phase restructure; shares its ids
  Tuning* tuning = nullptr;                ///< phase tune only
  bool* replan = nullptr;  ///< phase calibrate: set to have phase mark run again with the selection as it now is
  /// Phase calibrate: so that a second round measures only what is new; null: nothing is kept.
  Measured* measured = nullptr;
  Progress progress = {};

  const ir::Graph& graph() const { return model.graph; }
};

/// Phase restructure: operators that the quantized range or the hardware replaces, slots follow their values.
struct RestructureContext {
  ir::Model& model;
  const config::Settings& settings;
  const plan::Selection& selection;
  plan::QuantPlan& plan;
  Diagnostics& diagnostics;

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
};

/// Phases write and legalize: the plan is read, the lowered model changes.
struct QdqContext {
  ir::Model& model;
  const config::Settings& settings;
  const plan::Selection& selection;
  const plan::QuantPlan& plan;
  Diagnostics& diagnostics;
  const exec::Environment& environment;  ///< of the sessions that the pass runs
  const calib::DataReader* data = nullptr;
  Progress progress = {};

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
};

}  // namespace pass

}  // namespace quarkq

namespace quarkq::pass {

// What the settings ask of calibration, in the calibration layer's terms.

/// Options of the asked method.
calib::MethodOptions method_options(const config::Settings& settings);
/// The same for the method that compat mode falls back to: its own default of symmetry, unless the user set one.
calib::MethodOptions fallback_options(const config::Settings& settings, config::CalibrateMethod fallback);
/// What one pass over the samples must remember for the asked method.
calib::CollectOptions collect_options(const config::Settings& settings);

/// How the samples are run: by the backend of the environment if it has one.
calib::SampleRunOptions sample_run_options(const exec::Environment& environment, const config::Settings& settings,
                                           const std::vector<ir::ValueId>& tensors, const Progress& progress);

/// The row that `settings` names.
Result<const calib::Calibrator*> asked_calibrator(const config::Settings& settings);

}  // namespace quarkq::pass
