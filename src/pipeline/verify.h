// SPDX-License-Identifier: MIT
// The quantized model against the float one on samples: figures for the report, warnings, quality gates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "config/settings.h"
#include "ir/graph.h"
#include "pipeline/compare.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// The baseline that a quantized model is compared with.
struct FloatModels {
  ir::Model original;    ///< whose inputs, outputs and function it shall have
  ir::Model calibrated;  ///< as it was calibrated: its tensors have the same names and meaning
};

/// The least cosine that "cos>=X" texts ask for; nothing without any. "metric>=X" is left to required_metric().
Result<std::optional<double>> required_cosine(const std::vector<std::string>& requirements);

/// On what a result is judged, and how strictly. Of each output the worst sample counts.
struct Judgement {
  exec::Environment environment = {};       ///< of the sessions that run the models
  const calib::DataReader* data = nullptr;  ///< null: there are no samples
  size_t samples = 8;                       ///< evenly spread over the data
  double collapse = 0;                      ///< a cosine below is a warning
  std::optional<double> required = {};      ///< a cosine below is an error
};

/// The float outputs that a result is judged by; a failure where the executor cannot run the model, or there are no
/// samples.
using Expected = Result<ExpectedOutputs>;
Expected expected_outputs(const FloatModels& floats, const Judgement& judgement);

/// What verification fills in.
struct VerifyResults {
  Diagnostics& diagnostics;
  QuantizeReport& report;
};

/// As the request and the settings of the job ask for it. `data`: Source::judged().
Result<Judgement> make_judgement(const QuantizeRequest& request, const config::Settings& settings,
                                 const exec::Environment& environment, const calib::DataReader* data);

/// Fills in outputs, worst_tensors and causes. A collapsed output is a warning that names the layers where the signal
/// drops. A model with operators that the executor lacks is valid
/// all the same: the comparison is skipped with a notice, unless something is required.
Status verify_result(const FloatModels& floats, const Expected& expected, const ir::Model& quantized,
                     const Judgement& judgement, VerifyResults results);

/// kQualityGate when an output is below what is required.
Status check_required(const Judgement& judgement, const QuantizeReport& report);

/// kQualityGate when an output collapsed: what `on_collapse: fail` asks for.
Status check_not_collapsed(const Judgement& judgement, const QuantizeReport& report);

/// Outputs collapsed, or came close to it: worth other formats.
bool is_poor(const Judgement& judgement, const QuantizeReport& report);

/// Outputs are not as close to the float ones as those of most models: worth another attempt.
bool may_gain(const Judgement& judgement, const QuantizeReport& report);

// The caller's own figure (quarkq/quantize.h) of a result, and what is required of it.

/// A tensor as callers see it. The view is valid as long as the tensor is. Fails with kUnsupported for strings.
Result<SampleTensor> view_of(const std::string& name, const ir::Tensor& tensor);
/// The results of a model, by the names of its outputs.
Result<std::vector<SampleTensor>> views_of(const ir::Graph& graph, const std::vector<ir::Tensor>& results);

/// The least value that "metric>=X" texts ask for; nothing without any. Other texts are left to required_cosine().
Result<std::optional<double>> required_metric(const std::vector<std::string>& requirements);

/// Fills in report.metric when the request has one and there are samples. kQualityGate when it is below what is
/// required.
Status judge_by_metric(const QuantizeRequest& request, const ir::Model& original, const ir::Model& quantized,
                       const Judgement& judgement, QuantizeReport& report);

}  // namespace quarkq::pipeline
