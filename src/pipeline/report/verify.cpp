// SPDX-License-Identifier: MIT
#include "pipeline/report/verify.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>

#include "base/parse_text.h"
#include "compare/expected_outputs.h"
#include "compare/fed_back.h"
#include "compare/output_kinds.h"
#include "compare/run_models.h"
#include "compare/tensors.h"
#include "compare/text.h"
#include "exec/session.h"
#include "pipeline/report/check_target.h"
#include "pipeline/report/details.h"
#include "pipeline/run/pass_runner.h"
#include "plan/stage.h"

namespace quarkq::pipeline {

namespace {

constexpr size_t kWorst = 10, kCauses = 3;

/// Below this users call a result broken; 16 bits are taken for their accuracy. quarkq.min_cosine is stronger.
double collapsed_cosine(const config::Settings& settings) {
  constexpr double kCollapsed = 0.9, kCollapsedWide = 0.98;
  return settings.tool.min_cosine.value_or(
      bits(plan::element_type(settings.formats.activation_type)) == 16 ? kCollapsedWide : kCollapsed);
}

/// The agreement of the outputs after the rewrites of the float model; empty when they cannot be compared.
std::vector<OutputAgreement> rewritten_outputs(const compare::ExpectedOutputs& expected, const FloatModels& floats) {
  Diagnostics ignored;
  const Result<ir::Model> calibrated = whole_model(floats.calibrated, floats.tail);
  if (!calibrated.ok()) return {};
  Result<std::vector<OutputAgreement>> found = expected.compare(calibrated.value(), ignored);
  if (!found.ok()) return {};
  return std::move(found).value();
}

/// When an output collapsed: how much of it the rewrites of the float model did, before anything was quantized.
std::string rewrites_text(const std::vector<OutputAgreement>& rewritten, const std::string& output) {
  for (const OutputAgreement& found : rewritten) {
    if (found.name == output && found.cosine < compare::kRewrittenCosine)
      return cat("; the hardware conversions alone, before quantization, give ", found.cosine);
  }
  return "";
}

Status not_verified(const std::string& why, bool is_required, bool is_warning, Diagnostics& diagnostics) {
  const std::string text = "not compared with the float model: " + why;
  if (is_required) return quality_gate("--require: ", text);
  if (is_warning) {
    diagnostics.add("not-verified", "", text);
  } else {
    diagnostics.add("not-compared", "", text);
  }
  return Status();
}

/// The tensor with the most noise. A Softmax amplifies the noise of its input, so that its result is named only if
/// nothing else is known.
std::vector<TensorAgreement> noisiest(std::vector<TensorAgreement> tensors) {
  const auto is_softmax = [](const TensorAgreement& one) { return one.node.ends_with("Softmax)"); };
  if (!std::ranges::all_of(tensors, is_softmax)) std::erase_if(tensors, is_softmax);
  return compare::worst_tensors(tensors, 1);
}

std::string causes_text(const QuantizeReport& report) {
  const std::vector<TensorAgreement> named = report.causes.empty() ? noisiest(report.worst_tensors) : report.causes;
  std::vector<std::string> texts;
  texts.reserve(named.size());
  for (const TensorAgreement& tensor : named) texts.push_back(compare::describe(tensor));
  if (texts.empty()) return "no tensor inside could be compared";
  return (report.causes.empty() ? "SQNR degrades gradually; largest loss at " : "SQNR drops at ") + join(texts, "; ");
}

/// "cosine 0.42 at worst (sample 007), 0.97 on average, with the float output on 8 samples".
std::string agreement_text(const OutputAgreement& output, size_t samples) {
  if (samples == 1) return cat("cosine ", output.cosine, " with the float output on one sample");
  return cat("cosine ", output.min_cosine, " at worst (sample ", output.worst_sample, "), ", output.cosine,
             " on average, with the float output on ", samples, " samples");
}

/// The name of the sample that shows what is wrong: the worst one of the first output that is too far away. Empty when
/// none is.
std::string telling_sample(const Judgement& judgement, const QuantizeReport& report) {
  const double limit = std::max(judgement.collapse, judgement.required.value_or(judgement.collapse));
  for (const OutputAgreement& output : report.outputs) {
    if (output.near_zero) continue;
    if (output.different_not_finite > 0 || !(output.min_cosine >= limit)) return output.worst_sample;
  }
  return "";
}

/// Fills in the findings about inner tensors on this sample, unless they cannot be compared.
void look_inside(const FloatModels& floats, const ir::Model& quantized, const Judgement& judgement, size_t sample,
                 QuantizeReport& report) {
  const Result<std::vector<TensorAgreement>> tensors = compare::compare_tensors(
      floats.calibrated, quantized, prepare_for_run, {*judgement.data, judgement.environment, {sample}});
  if (!tensors.ok()) return;
  report.worst_tensors = compare::worst_tensors(tensors.value(), kWorst);
  report.causes = compare::find_causes(tensors.value(), kCauses);
  if (report.details) report.details->tensors = tensors.value();
}

/// Fills in the agreement over the frames of a stream, for models with states. Models that cannot be run so are judged
/// by single samples.
Status feed_back(const FloatModels& floats, const ir::Model& quantized, const Judgement& judgement,
                 QuantizeReport& report) {
  constexpr size_t kFrames = 20;
  if (judgement.data->size() == 0 || compare::states_of(floats.original.graph).empty()) return Status();
  QQ_TRY(const ir::Model original, whole_model(floats.original, floats.tail));
  compare::ChosenSamples frames{*judgement.data, judgement.environment, {}};
  for (size_t i = 0; i < kFrames; ++i) frames.numbers.push_back(i % judgement.data->size());
  const auto found = compare::compare_fed_back(original, quantized, prepare_for_run, frames);
  if (!found.ok()) return found.status().code() == Code::kUnsupported ? Status() : found.status();
  for (OutputAgreement& output : report.outputs) {
    const auto one = found.value().find(output.name);
    if (one != found.value().end()) output.fed_back = one->second;
  }
  return Status();
}

/// Fills in the agreement of a language model by text, which judges its logits.
Status read_text(const FloatModels& floats, const ir::Model& quantized, const Judgement& judgement,
                 VerifyResults results) {
  results.report.text.reset();
  QQ_TRY(const ir::Model original, whole_model(floats.original, floats.tail));
  const auto found = compare::compare_text(original, quantized, prepare_for_run,
                                           {*judgement.data, judgement.environment, judgement.numbers});
  if (!found.ok()) return found.status().code() == Code::kUnsupported ? Status() : found.status();
  results.report.text = found.value().agreement;
  if (!found.value().why_not.empty())
    results.diagnostics.add("not-compared", "", "not judged by text: " + found.value().why_not);
  if (!results.report.text) return Status();
  for (OutputAgreement& output : results.report.outputs)
    if (output.name == results.report.text->output) output.task = compare::text_task(*results.report.text);
  return Status();
}

/// Whether the outputs are too far away. An output whose task is done has not collapsed.
bool is_collapsed(const OutputAgreement& output, const Judgement& judgement) {
  const bool is_done = output.task && output.task->grade != Grade::kPoor && !judgement.is_asked;
  return !is_done && !(output.min_cosine >= judgement.collapse);
}

/// Samples that the float and the quantized model run in some seconds: as many as tell something of rare values.
size_t judged_samples(double macs) {
  constexpr double kMostMacs = 1e11, kLeast = 8, kMost = 32;
  return static_cast<size_t>(std::clamp(kMostMacs / std::max(macs, 1.0), kLeast, kMost));
}

using Passes = std::function<bool(const OutputAgreement&)>;

Status check_outputs(double least, const char* asked, const QuantizeReport& report, const Passes& passes) {
  if (report.outputs.empty() && report.compared_samples > 0)
    return quality_gate(asked, least, ": no output of the ", report.compared_samples,
                        " samples has values that can be compared with the float model");
  const bool is_judged = std::ranges::any_of(report.outputs, [](const auto& output) { return !output.near_zero; });
  for (const OutputAgreement& output : report.outputs) {
    if (passes(output) || (output.near_zero && is_judged)) continue;
    return quality_gate("output ", output.name, ": ", agreement_text(output, report.compared_samples), ", ", asked,
                        least, "; ", causes_text(report));
  }
  return Status();
}

}  // namespace

Result<std::optional<double>> required_cosine(const std::vector<std::string>& requirements) {
  constexpr std::string_view kCosine = "cos>=";
  std::optional<double> most;
  for (const std::string& text : requirements) {
    if (text.starts_with("metric>=") || text == kDeployable) continue;
    const std::optional<double> value =
        text.starts_with(kCosine) ? parse_finite(std::string_view(text).substr(kCosine.size())) : std::nullopt;
    if (!value || !(*value >= -1 && *value <= 1)) {
      return invalid_argument("--require ", text, ": allowed are cos>=X with X from -1 to 1, and ", kDeployable);
    }
    most = std::max(most.value_or(*value), *value);
  }
  return most;
}

Result<Judgement> make_judgement(const QuantizeRequest& request, const config::Settings& settings,
                                 const exec::Environment& environment, const Source& source, double macs) {
  Judgement judgement;
  judgement.environment = environment;
  judgement.data = source.judged();
  judgement.collapse = collapsed_cosine(settings);
  judgement.is_asked = settings.tool.min_cosine.has_value();
  QQ_TRY(judgement.required, required_cosine(request.requirements));
  if (judgement.data == nullptr) return judgement;
  const size_t size = judgement.data->size();
  std::vector<size_t> all(size);
  std::iota(all.begin(), all.end(), size_t{0});
  const std::optional<int64_t>& asked = settings.tool.verify_samples;
  const size_t count = asked ? static_cast<size_t>(*asked) : judged_samples(macs);
  const bool is_calibration = judgement.data == source.samples.get();
  judgement.numbers =
      asked || !is_calibration ? compare::drawn_samples(all, count) : compare::sample_roles(size, count).judged;
  return judgement;
}

Expected expected_outputs(const FloatModels& floats, const Judgement& judgement) {
  if (judgement.data == nullptr) return bad_data("no samples were given (--calib DIR, --eval DIR)");
  QQ_TRY(const ir::Model original, whole_model(floats.original, floats.tail));
  return compare::ExpectedOutputs::make(original, prepare_for_run,
                                        {*judgement.data, judgement.environment, judgement.numbers});
}

Status verify_result(const FloatModels& floats, const Expected& expected, const ir::Model& quantized,
                     const Judgement& judgement, VerifyResults results) {
  auto& [diagnostics, report] = results;
  const std::optional<double>& required = judgement.required;
  if (judgement.data == nullptr)
    return not_verified(expected.status().message(), required.has_value(), /*is_warning=*/false, diagnostics);
  compare::SampleResultSink seen;
  if (report.details) {
    report.details->samples.clear();
    report.details->pictures.clear();
    seen = [&details = *report.details](const compare::SampleResult& result) { add_sample(result, details); };
  }
  const Result<ir::Model> whole = whole_model(quantized, floats.tail);
  Result<std::vector<OutputAgreement>> outputs = !expected.ok() ? expected.status()
                                                 : !whole.ok()
                                                     ? whole.status()
                                                     : expected.value().compare(whole.value(), diagnostics, seen);
  if (!outputs.ok() && outputs.status().code() != Code::kUnsupported) return outputs.status();
  if (!outputs.ok()) {
    return not_verified(outputs.status().message(), required.has_value(), /*is_warning=*/true, diagnostics);
  }
  report.outputs = std::move(outputs).value();
  report.compared_samples = expected.value().sample_count();
  QQ_RETURN_IF_ERROR(feed_back(floats, whole.value(), judgement, report));
  QQ_RETURN_IF_ERROR(read_text(floats, whole.value(), judgement, results));
  look_inside(floats, quantized, judgement, expected.value().number_of(telling_sample(judgement, report)), report);
  std::optional<std::vector<OutputAgreement>> rewritten;  // computed when an output needs it
  for (const OutputAgreement& output : report.outputs) {
    const std::string found = agreement_text(output, report.compared_samples);
    if (output.different_not_finite > 0) {
      diagnostics.add("output-not-finite", output.name,
                      cat(output.different_not_finite, " values on ", report.compared_samples,
                          " samples are NaN or infinite in one of the models only"));
    }
    if (output.near_zero) {
      diagnostics.add("output-near-zero", output.name,
                      cat("the float output is almost zero on all ", report.compared_samples, " samples compared"));
    } else if (is_collapsed(output, judgement)) {
      if (!rewritten) rewritten = rewritten_outputs(expected.value(), floats);
      diagnostics.add("output-collapsed", output.name,
                      cat(found, ", below ", judgement.collapse, "; ", causes_text(report),
                          rewrites_text(*rewritten, output.name)));
    }
  }
  return Status();
}

Status check_required(const Judgement& judgement, const QuantizeReport& report) {
  if (!judgement.required) return Status();
  const double least = *judgement.required;
  return check_outputs(least, "required is ", report, [&](const auto& output) { return output.min_cosine >= least; });
}

Status check_not_collapsed(const Judgement& judgement, const QuantizeReport& report) {
  return check_outputs(judgement.collapse, "on_collapse: fail requires ", report,
                       [&](const auto& output) { return !is_collapsed(output, judgement); });
}

bool is_poor(const Judgement& judgement, const QuantizeReport& report) {
  constexpr double kPoorMean = 0.97;
  return std::any_of(report.outputs.begin(), report.outputs.end(), [&](const OutputAgreement& output) {
    if (output.near_zero) return false;
    if (output.different_not_finite > 0 || !(output.cosine >= compare::kLeastCosineOfTask)) return true;
    if (output.task && !judgement.is_asked) return output.task->grade != Grade::kGood;
    return !(output.min_cosine >= judgement.collapse) || !(output.cosine >= std::max(kPoorMean, judgement.collapse)) ||
           (output.minor && !(output.minor->cosine >= kPoorMean));
  });
}

bool may_gain(const Judgement& judgement, const QuantizeReport& report, const config::Settings& settings,
              const ir::Graph& loaded) {
  constexpr double kGoodMean = 0.995, kGoodWorst = 0.97, kExact = 0.99999, kExactPicture = 0.9999;
  const bool is_limited = judgement.environment.has_memory_ceiling();  // compensation keeps inputs of layers
  const auto is_sharp = [&](const OutputAgreement& output) {
    const ir::ValueId value = loaded.find(output.name);
    return !is_limited && value.valid() && compare::is_picture(loaded, value);
  };
  const bool is_coarse = plan::weight_scale_kind(settings) == numeric::ScaleKind::kPowerOfTwo;
  return std::any_of(report.outputs.begin(), report.outputs.end(), [&](const OutputAgreement& output) {
    if (output.near_zero) return false;
    const double good = is_coarse ? kExact : is_sharp(output) ? kExactPicture : kGoodMean;
    return output.different_not_finite > 0 || !(output.min_cosine >= std::max(kGoodWorst, judgement.collapse)) ||
           !(output.cosine >= std::max(good, judgement.collapse)) ||
           (output.minor && !(output.minor->cosine >= kGoodWorst)) ||
           (output.task && output.task->grade != Grade::kGood);
  });
}

namespace {

constexpr std::string_view kMetric = "metric>=";

Result<ir::Model> ready_to_run(const ir::Model& model, const CutTailPtr& tail) {
  QQ_TRY(ir::Model copy, whole_model(model, tail));  // shares the weights
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(prepare_for_run(copy, ignored));
  return copy;
}

/// The mean over the samples that the models are compared on.
Result<double> mean_of(const Metric& metric, const FloatModels& floats, const ir::Model& quantized,
                       const Judgement& judgement) {
  QQ_TRY(const ir::Model expected_model, ready_to_run(floats.original, floats.tail));
  QQ_TRY(const ir::Model found_model, ready_to_run(quantized, floats.tail));
  const compare::PairedSamples samples{*judgement.data, judgement.environment, judgement.numbers};
  double sum = 0;
  const auto add = [&](const compare::PairedResults& results) -> Status {
    QQ_TRY(const std::vector<SampleTensor> exact, views_of(expected_model.graph, results.first));
    QQ_TRY(const std::vector<SampleTensor> coarse, views_of(found_model.graph, results.second));
    QQ_TRY(const double value, metric(results.number, exact, coarse));
    sum += value;
    return Status();
  };
  QQ_RETURN_IF_ERROR(compare::run_both(expected_model, found_model, samples, add));
  return sum / static_cast<double>(samples.numbers.size());
}

}  // namespace

Result<SampleTensor> view_of(const std::string& name, const ir::Tensor& tensor) {
  if (tensor.type() == ElementType::kString)
    return unsupported(name, ": is a tensor of strings, which cannot be handed out");
  return SampleTensor{name, std::string(quarkq::name(tensor.type())), tensor.dims(), tensor.raw(),
                      static_cast<size_t>(tensor.bytes())};
}

Result<std::vector<SampleTensor>> views_of(const ir::Graph& graph, const std::vector<ir::Tensor>& results) {
  std::vector<SampleTensor> views;
  views.reserve(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    QQ_TRY(SampleTensor view, view_of(graph.value(graph.outputs()[i]).name, results[i]));
    views.push_back(std::move(view));
  }
  return views;
}

Result<std::optional<double>> required_metric(const std::vector<std::string>& requirements) {
  std::optional<double> most;
  for (const std::string& text : requirements) {
    if (!text.starts_with(kMetric)) continue;
    const std::optional<double> value = parse_finite(std::string_view(text).substr(kMetric.size()));
    if (!value) return invalid_argument("--require ", text, ": allowed is metric>=X with a number X");
    most = std::max(most.value_or(*value), *value);
  }
  return most;
}

Status judge_by_metric(const QuantizeRequest& request, const FloatModels& floats, const ir::Model& quantized,
                       const Judgement& judgement, QuantizeReport& report) {
  QQ_TRY(const std::optional<double> required, required_metric(request.requirements));
  if (!request.metric) return Status();
  if (judgement.data == nullptr) {
    if (required) return quality_gate("metric: there are no samples to compute it on, ", *required, " is required");
    return Status();
  }
  QQ_TRY(report.metric, mean_of(request.metric, floats, quantized, judgement));
  if (!required || *report.metric >= *required) return Status();  // NaN is not enough
  return quality_gate("metric: found ", *report.metric, ", required is ", *required);
}

Status check_request(const QuantizeRequest& request) {
  QQ_TRY(const std::optional<double> required, required_cosine(request.requirements));
  QQ_TRY(const std::optional<double> metric, required_metric(request.requirements));
  if (metric && !request.metric) return invalid_argument("--require metric>=X: needs a metric of the caller's own");
  if (request.verify) return Status();
  if (required || metric) return invalid_argument("--require: needs the comparison that --no-verify switches off");
  if (!request.eval_folder.empty() || request.eval_source)
    return invalid_argument("--eval: needs the comparison that --no-verify switches off");
  return Status();
}

}  // namespace quarkq::pipeline
