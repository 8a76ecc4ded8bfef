// SPDX-License-Identifier: MIT
// What a pass sees and changes. Which part it may change is said by its phase (passes.def, docs/architecture.md).
#pragma once

#include <functional>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "calib/statistics_set.h"
#include "config/settings.h"
#include "passes/finetune/report.h"
#include "plan/quant_plan.h"
#include "plan/selection.h"

namespace quarkq::passes {

struct PassContext {
  ir::Model& model;
  const config::Settings& settings;
  plan::Selection selection = {};
  plan::QuantPlan plan = {};
  std::vector<ir::ValueId> absorbed = {};              ///< values whose pair their neighbour replaces (spec 02 A.8)
  const calib::DataReader* data = nullptr;             ///< calibration samples; null when nothing needs any
  std::vector<std::string> channels_last_inputs = {};  ///< whose samples are transposed (0, 2, 3, 1) from then on
  const calib::StatisticsSet* statistics = nullptr;    ///< instead of samples: what was seen of them before
  const ir::Model* float_model = nullptr;  ///< as it was calibrated; before insert, without what restructure does
  Diagnostics& diagnostics;
  std::function<bool(size_t done, size_t total)> progress = {};  ///< of the calibration; false interrupts
  std::string finetune_state = {};             ///< folder that keeps layers that are done; empty: none
  std::vector<FinetunedLayer> finetuned = {};  ///< what the finetuning did
  std::optional<FinetunedOutputs> finetuned_outputs = {};

  ir::Graph& graph() { return model.graph; }
};

/// Did the pass change anything?
enum class Changed { kNo, kYes };

}  // namespace quarkq::passes
