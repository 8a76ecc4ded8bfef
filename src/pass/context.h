// SPDX-License-Identifier: MIT
// Contexts of passes, one per kind of phase. The type determines what a pass may change: a float pass the model; a
// planning pass the selection and the plan, but not the model; a restructuring pass model and plan together; a Q/DQ
// pass the lowered model. pipeline/run/run_state.h owns the objects that these refer to.
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
#include "pass/rounding_cache.h"
#include "plan/quant_plan.h"
#include "plan/selection.h"

namespace quarkq::pass {

/// Results of fine-tuning one layer, for the report.
struct FinetunedLayer {
  std::string node;                          ///< "node conv5 (Conv)"
  std::string algorithm;                     ///< "adaround"
  double error_before = 0, error_after = 0;  ///< Mean squared error of the block on samples not used for training.
  bool kept = false;
  bool resumed = false;  ///< Read from the state of an interrupted run.
  double seconds = 0;
};

/// Cosine of the whole model with the float model's outputs, averaged over samples not used for training.
struct FinetunedOutputs {
  size_t samples = 0;
  double cosine_before = 0, cosine_after = 0;
};

}  // namespace quarkq::pass

namespace quarkq {

/// Whether a pass changed anything.
enum class Changed { kNo, kYes };

namespace pass {

/// Receives the progress of a pass; returns false to interrupt. May be empty.
using Progress = std::function<bool(size_t done, size_t total)>;

/// Input of calibration: samples, or statistics of samples seen before. Both are null if neither was given.
struct CalibrationSource {
  const calib::DataReader* data = nullptr;
  const calib::StatisticsSet* statistics = nullptr;
};

/// Results of calibration, kept for further plans of the same calibrated model.
struct Measured {
  calib::Ranges ranges = {};              ///< Ranges of calibrated tensors before adjustment.
  std::set<ir::ValueId> not_finite = {};  ///< Tensors that contained NaN or infinities.
  std::vector<Diagnostic> findings = {};  ///< Findings reported during calibration.
};

/// Phase select: reads the loaded model.
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
  const exec::Environment& environment;  ///< Environment of the sessions that the pass runs.
  const calib::DataReader* data = nullptr;
  /// Receives the inputs whose samples must be transposed (0, 2, 3, 1) from then on; null if not needed.
  std::vector<std::string>* channels_last_inputs = nullptr;
  Progress progress = {};

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
};

/// Inputs of phase tune in addition to the plan, and its results.
struct Tuning {
  std::string state_folder = {};   ///< Folder that stores finished layers; empty: none.
  std::string shared_folder = {};  ///< Folder of all processes that train this model together; empty: only
                                   ///< this process.
  std::string now = {};            ///< The most recent work, for the progress display; may be empty.
  /// The float model before any pass that may change its values, for the whole network; null: the calibrated model.
  std::shared_ptr<const ir::Model> teacher = {};
  std::shared_ptr<const ir::Model> tail = {};  ///< The float model after the outputs; may be null.
  std::vector<FinetunedLayer> layers = {};     ///< Results of fine-tuning.
  std::optional<FinetunedOutputs> outputs = {};
  /// Results of compensated rounding for other plans of the same calibrated model and samples; null: not kept.
  std::shared_ptr<RoundingCache> rounded = {};
};

/// Phases mark, calibrate, constrain and tune: change the plan, not the model.
struct PlanContext {
  const ir::Model& model;
  const config::Settings& settings;
  plan::Selection& selection;
  plan::QuantPlan& plan;
  Diagnostics& diagnostics;
  const exec::Environment& environment;  ///< Environment of the sessions that the pass runs.
  CalibrationSource source = {};
  const ir::Model* float_model = nullptr;  ///< The calibrated model, before phase restructure; shares its ids.
  Tuning* tuning = nullptr;                ///< Only in phase tune.
  bool* replan = nullptr;  ///< Phase calibrate: set it to run phase mark again with the current selection.
  /// Phase calibrate: results so far, so that a second round measures only new tensors; null: not kept.
  Measured* measured = nullptr;
  Progress progress = {};

  const ir::Graph& graph() const { return model.graph; }
};

/// Phase restructure: replaces operators that the quantized range or the hardware covers. Slots follow their values.
struct RestructureContext {
  ir::Model& model;
  const config::Settings& settings;
  const plan::Selection& selection;
  plan::QuantPlan& plan;
  Diagnostics& diagnostics;

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
};

/// Phases write and legalize: read the plan, change the lowered model.
struct QdqContext {
  ir::Model& model;
  const config::Settings& settings;
  const plan::Selection& selection;
  const plan::QuantPlan& plan;
  Diagnostics& diagnostics;
  const exec::Environment& environment;  ///< Environment of the sessions that the pass runs.
  const calib::DataReader* data = nullptr;
  Progress progress = {};

  ir::Graph& graph() { return model.graph; }
  const ir::Graph& graph() const { return model.graph; }
};

}  // namespace pass

}  // namespace quarkq

namespace quarkq::pass {

// Calibration options of the settings, as types of the calibration layer.

/// Returns the options of the requested method.
calib::MethodOptions method_options(const config::Settings& settings);
/// Returns the options of the method that compat mode falls back to, with that method's default symmetry unless the
/// user set one.
calib::MethodOptions fallback_options(const config::Settings& settings, config::CalibrateMethod fallback);
/// Returns which statistics one pass over the samples must collect for the requested method.
calib::CollectOptions collect_options(const config::Settings& settings);

/// Returns how the samples are run: by the backend of the environment if it has one.
calib::SampleRunOptions sample_run_options(const exec::Environment& environment, const config::Settings& settings,
                                           const std::vector<ir::ValueId>& tensors, const Progress& progress);

/// Returns the calibrator that `settings` selects.
Result<const calib::Calibrator*> asked_calibrator(const config::Settings& settings);

}  // namespace quarkq::pass
