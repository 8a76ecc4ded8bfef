// SPDX-License-Identifier: MIT
// Comparison of the quantized model with the float model on samples: figures for the report, warnings, quality gates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "calib/data_reader.h"
#include "compare/expected_outputs.h"
#include "config/settings.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "pipeline/run/plan_model.h"
#include "pipeline/run/tail.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// The baseline for a quantized model.
struct FloatModels {
  ir::Model original;    ///< Its inputs, outputs and function are required of the result.
  ir::Model calibrated;  ///< The model as calibrated: its tensors have the same names and meaning.
  CutTailPtr tail = {};  ///< Joined with all models that are compared; null if they are whole.
};

/// Returns the smallest cosine required by "cos>=X" texts, or nullopt if there is none. "metric>=X" is left to
/// required_metric(), and kDeployable to check_deployable().
Result<std::optional<double>> required_cosine(const std::vector<std::string>& requirements);

/// Samples and limits for judging a result. The worst sample of each output counts.
struct Judgement {
  exec::Environment environment = {};       ///< Environment of the sessions that run the models.
  const calib::DataReader* data = nullptr;  ///< Samples, or null if there are none.
  std::vector<size_t> numbers = {};         ///< Numbers of the samples in the data.
  double collapse = 0;                      ///< A lower cosine is a warning, unless the output does its task.
  bool is_asked = false;                    ///< The user chose `collapse`, which then counts for every output.
  std::optional<double> required = {};      ///< A lower cosine is an error.
};

/// The float outputs that a result is judged by; a failure where the executor cannot run the model, or there are no
/// samples.
using Expected = Result<compare::ExpectedOutputs>;
Expected expected_outputs(const FloatModels& floats, const Judgement& judgement);

/// Results of the verification.
struct VerifyResults {
  Diagnostics& diagnostics;
  QuantizeReport& report;
};

/// Returns the judgement of the request and the settings of the job. `macs` are the multiply-accumulates of the model,
/// which limit the number of samples.
Result<Judgement> make_judgement(const QuantizeRequest& request, const config::Settings& settings,
                                 const exec::Environment& environment, const Source& source, double macs);

/// Fills in outputs, compare::worst_tensors and causes. A collapsed output is a warning that names the layers where the
/// signal drops. A model with operators that the executor lacks is valid all the same: the comparison is skipped with a
/// notice, unless something is required.
Status verify_result(const FloatModels& floats, const Expected& expected, const ir::Model& quantized,
                     const Judgement& judgement, VerifyResults results);

/// Fails with kQualityGate if an output is below the requirement.
Status check_required(const Judgement& judgement, const QuantizeReport& report);

/// Fails with kQualityGate if an output collapsed, for `on_collapse: fail`.
Status check_not_collapsed(const Judgement& judgement, const QuantizeReport& report);

/// Returns whether outputs collapsed, or nearly collapsed, so that other formats are worth trying.
bool is_poor(const Judgement& judgement, const QuantizeReport& report);

/// Returns whether another attempt is worthwhile: outputs are less close to the float outputs than in most models, or
/// are pictures whose errors show, or weights have power-of-two scales, whose rounding errors are so large that most
/// models gain by compensating them. `loaded` has the outputs of the report.
bool may_gain(const Judgement& judgement, const QuantizeReport& report, const config::Settings& settings,
              const ir::Graph& loaded);

// The caller's metric (quarkq/quantize.h) of a result, and its requirement.

/// Returns a tensor in the form for callers. The view is valid as long as the tensor. Fails with kUnsupported for
/// strings.
Result<SampleTensor> view_of(const std::string& name, const ir::Tensor& tensor);
/// Returns the results of a model, by the names of its outputs.
Result<std::vector<SampleTensor>> views_of(const ir::Graph& graph, const std::vector<ir::Tensor>& results);

/// Returns the smallest value required by "metric>=X" texts, or nullopt if there is none. Other texts are left to
/// required_cosine().
Result<std::optional<double>> required_metric(const std::vector<std::string>& requirements);

/// Fills in report.metric if the request has a metric and there are samples. Fails with kQualityGate if it is below the
/// requirement.
Status judge_by_metric(const QuantizeRequest& request, const FloatModels& floats, const ir::Model& quantized,
                       const Judgement& judgement, QuantizeReport& report);

/// Refuses requirements and other options that contradict each other.
Status check_request(const QuantizeRequest& request);

}  // namespace quarkq::pipeline
