// SPDX-License-Identifier: MIT
// quarkq_call(): the table of verbs, each a list of the members that its request may have.
#include "quarkq/c_api.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include "base/file_system.h"
#include "base/strings.h"
#include "c_api/request.h"
#include "pipeline/report/json.h"
#include "quarkq/analyze.h"
#include "quarkq/check.h"
#include "quarkq/convert.h"
#include "quarkq/ep_report.h"
#include "quarkq/evaluate.h"
#include "quarkq/inspect.h"
#include "quarkq/quantize.h"
#include "quarkq/status.h"
#include "quarkq/tune.h"

struct quarkq_result {
  quarkq::Status status;
  std::string report, model, tail, joined;
  std::string findings = "[]";
};

namespace quarkq {
namespace {

using c_api::Request;
using Arguments = quarkq_call_arguments;

std::string findings_text(const std::vector<Finding>& findings) {
  return pipeline::text(pipeline::findings_json(findings));
}

/// Reads the common members of verbs with a float model, settings and samples.
template <typename T>
void take_job(Request& json, const Arguments& arguments, quarkq_result& result, T& request) {
  json.take("model", request.model_path).take("config", request.config).take("settings", request.settings);
  json.take("calib", request.calib_folder).take("threads", request.threads);
  request.model_bytes = c_api::bytes_of(arguments.model);
  request.sample_source = c_api::source_of(arguments.samples);
  request.progress = c_api::progress_of(arguments.callbacks);
  request.on_failure = [&result](const std::vector<Finding>& found) { result.findings = findings_text(found); };
}

/// Runs the verb and keeps its report as JSON.
template <typename Verb, typename T>
Status finish(const Request& json, const T& request, Verb verb, quarkq_result& result) {
  QQ_RETURN_IF_ERROR(json.finish());
  QQ_TRY(const auto report, verb(request));
  result.report = to_json(report);
  return Status();
}

/// Runs a verb whose report may contain a model.
template <typename Verb, typename T>
Status finish_with_model(const Request& json, const T& request, Verb verb, quarkq_result& result) {
  QQ_RETURN_IF_ERROR(json.finish());
  QQ_TRY(auto report, verb(request));
  result.report = to_json(report);
  result.model = std::move(report.model);
  if constexpr (requires { report.tail; }) {
    result.tail = std::move(report.tail);
    result.joined = std::move(report.joined);
  }
  return Status();
}

Status call_quantize(Request& json, const Arguments& arguments, quarkq_result& result) {
  QuantizeRequest request;
  take_job(json, arguments, result, request);
  json.take("output", request.output_path).take("in_memory", request.in_memory).take("stats", request.statistics_path);
  json.take("eval", request.eval_folder).take("require", request.requirements).take("verify", request.verify);
  json.take("details", request.details).take("resume", request.resume);
  json.take("workers_folder", request.workers_folder);
  request.eval_source = c_api::source_of(arguments.evaluation);
  request.metric = c_api::metric_of(arguments.callbacks);
  json.take("joined", request.joined_path);
  return finish_with_model(json, request, quantize, result);
}

Status call_calibrate(Request& json, const Arguments& arguments, quarkq_result& result) {
  CalibrateRequest request;
  take_job(json, arguments, result, request);
  json.take("output", request.output_path);
  json.take("shard_index", request.shard.index).take("shard_count", request.shard.count);
  if (request.shard.count == 0) return invalid_argument("calibrate: shard_count: found 0, allowed is 1 or more");
  return finish(json, request, calibrate, result);
}

Status call_merge(Request& json, const Arguments&, quarkq_result& result) {
  MergeRequest request;
  json.take("parts", request.parts).take("output", request.output_path);
  json.take("allow_other_isa", request.allow_other_isa);
  return finish(json, request, merge_statistics, result);
}

Status call_optimize(Request& json, const Arguments&, quarkq_result& result) {
  OptimizeRequest request;
  json.take("model", request.model_path).take("output", request.output_path).take("config", request.config);
  json.take("settings", request.settings).take("calib", request.calib_folder).take("threads", request.threads);
  json.take("only", request.only).take("skip", request.skip);
  return finish(json, request, optimize, result);
}

Status call_convert(Request& json, const Arguments& arguments, quarkq_result& result) {
  ConvertRequest request;
  json.take("model", request.model_path).take("output", request.output_path).take("in_memory", request.in_memory);
  json.take("passes", request.passes).take("pass_list", request.pass_list).take("strict", request.strict);
  json.take("external_data", request.external_data).take("threads", request.threads);
  request.model_bytes = c_api::bytes_of(arguments.model);
  return finish_with_model(json, request, convert, result);
}

Status call_analyze(Request& json, const Arguments& arguments, quarkq_result& result) {
  AnalyzeRequest request;
  bool one_float = false;
  take_job(json, arguments, result, request);
  json.take("one_float", one_float).take("samples", request.samples).take("min_cosine", request.min_cosine);
  json.take("most_left_out", request.most_left_out);
  if (one_float) request.mode = AnalyzeMode::kOneFloat;
  return finish(json, request, analyze, result);
}

Status call_run(Request& json, const Arguments& arguments, quarkq_result& result) {
  RunRequest request;
  json.take("model", request.model_path).take("inputs", request.input_folder).take("outputs", request.output_folder);
  json.take("config", request.config).take("settings", request.settings).take("threads", request.threads);
  json.take("limit", request.limit).take("max_memory", request.max_memory).take("repeat", request.repeat);
  request.model_bytes = c_api::bytes_of(arguments.model);
  request.sample_source = c_api::source_of(arguments.samples);
  request.progress = c_api::progress_of(arguments.callbacks);
  request.on_result = c_api::result_of(arguments.callbacks);
  return finish(json, request, run_model, result);
}

void take_accuracy(Request& json, AccuracyRequest& accuracy) {
  json.take("labels", accuracy.labels_path).take("top", accuracy.top).take("output", accuracy.output);
  json.take("confidence", accuracy.confidence);
}

Status evaluate_folders(Request& json, const Arguments& arguments, quarkq_result& result) {
  EvaluateRequest request;
  json.take("baseline_results_folder", request.baseline_folder);
  json.take("quantized_results_folder", request.quantized_folder);
  json.take("compat", request.compat).take("threads", request.threads);
  take_accuracy(json, request.accuracy);
  request.progress = c_api::progress_of(arguments.callbacks);
  return finish(json, request, evaluate, result);
}

Status call_evaluate(Request& json, const Arguments& arguments, quarkq_result& result) {
  EvaluateModelsRequest request;
  json.take("float", request.float_path);
  if (request.float_path.empty()) return evaluate_folders(json, arguments, result);
  json.take("quantized", request.quantized_path).take("data", request.data_folder);
  json.take("config", request.config).take("settings", request.settings);
  json.take("limit", request.limit).take("layers", request.layers).take("threads", request.threads);
  take_accuracy(json, request.accuracy);
  request.float_bytes = c_api::bytes_of(arguments.model);
  request.quantized_bytes = c_api::bytes_of(arguments.quantized);
  request.sample_source = c_api::source_of(arguments.samples);
  request.progress = c_api::progress_of(arguments.callbacks);
  return finish(json, request, evaluate_models, result);
}

void take_metric(Request& json, MetricRequest& metric) {
  json.take("metric", metric.names).take("metric_cmd", metric.command).take("metric_timeout", metric.command_seconds);
  json.take("labels", metric.truth_path).take("output_name", metric.output).take("head", metric.detector.head);
  json.take("min_score", metric.detector.min_score).take("nms_iou", metric.detector.nms_iou);
  json.take("classes", metric.classes_path).take("alphabet", metric.alphabet_path);
  json.take("confidence", metric.confidence);
}

Status call_score(Request& json, const Arguments& arguments, quarkq_result& result) {
  ScoreRequest request;
  json.take("baseline", request.baseline).take("results", request.results).take("data", request.data_folder);
  json.take("config", request.config).take("settings", request.settings);
  json.take("limit", request.limit).take("threads", request.threads);
  take_metric(json, request.metric);
  request.metric.function = c_api::metric_of(arguments.callbacks);
  request.baseline_bytes = c_api::bytes_of(arguments.model);
  request.results_bytes = c_api::bytes_of(arguments.quantized);
  request.sample_source = c_api::source_of(arguments.samples);
  request.progress = c_api::progress_of(arguments.callbacks);
  return finish(json, request, score, result);
}

Status call_tune(Request& json, const Arguments& arguments, quarkq_result& result) {
  TuneRequest request;
  json.take("model", request.model_path).take("output", request.output_path).take("config", request.config);
  json.take("settings", request.settings).take("calib", request.calib_folder).take("eval", request.eval_folder);
  json.take("lower_is_better", request.lower_is_better).take("goal", request.goal).take("seconds", request.seconds);
  json.take("limit", request.limit).take("state", request.state_folder).take("threads", request.threads);
  json.take("search", request.search_path).take("goal_confidence", request.goal_confidence);
  take_metric(json, request.metric);
  request.metric.function = c_api::metric_of(arguments.callbacks);
  request.progress = c_api::progress_of(arguments.callbacks);
  return finish(json, request, tune, result);
}

Status call_inspect(Request& json, const Arguments& arguments, quarkq_result& result) {
  std::string model;
  InspectOptions options;
  json.take("model", model).take("nodes", options.nodes).take("scales", options.scales);
  const std::optional<std::string> bytes = c_api::bytes_of(arguments.model);
  const auto verb = [&](const InspectOptions& asked) {
    return bytes ? inspect_bytes(*bytes, model, asked) : inspect(model, asked);
  };
  return finish(json, options, verb, result);
}

/// Compares a report of the compiler with the prediction, and writes the target file "learn".
Status call_ep_report(Request& json, const std::string& model, const std::optional<std::string>& bytes,
                      const EpReportOptions& options, quarkq_result& result) {
  std::string learned;
  SeenOn seen;
  json.take("learn", learned).take("device", seen.device).take("driver", seen.driver).take("compiler", seen.compiler);
  const auto compare = [&](const EpReportOptions& asked) -> Result<EpReport> {
    QQ_TRY(EpReport report, bytes ? check_ep_report_bytes(*bytes, model, asked) : check_ep_report(model, asked));
    if (learned.empty()) return report;
    QQ_TRY(const std::string facts, learned_target(report, seen, learned));
    QQ_RETURN_IF_ERROR(write_file(learned, facts));
    return report;
  };
  return finish(json, options, compare, result);
}

Status call_check(Request& json, const Arguments& arguments, quarkq_result& result) {
  std::string model, target = kPositionLimits;
  TargetCheckOptions options;
  std::vector<std::string> ep_reports;
  json.take("model", model).take("target", target).take("ep_report", ep_reports);
  json.take("min_npu", options.min_npu).take("max_partitions", options.max_partitions);
  const std::optional<std::string> bytes = c_api::bytes_of(arguments.model);
  if (!ep_reports.empty()) {
    options.target = target;
    return call_ep_report(json, model, bytes, {options, std::move(ep_reports)}, result);
  }
  if (target != kPositionLimits) {  // position limits do not belong to a compiler
    options.target = target;
    const auto judge = [&](const TargetCheckOptions& asked) {
      return bytes ? check_target_bytes(*bytes, model, asked) : check_target(model, asked);
    };
    return finish(json, options, judge, result);
  }
  const auto verb = [&](const std::string& asked) {
    return bytes ? check_bytes(*bytes, model, asked) : check(model, asked);
  };
  return finish(json, target, verb, result);
}

/// Writes the page of a report that "quantize" or "tune" returned.
Status call_report(Request& json, const Arguments&, quarkq_result& result) {
  std::string report, output;
  json.take("report", report).take("output", output);
  QQ_RETURN_IF_ERROR(json.finish());
  if (output.empty()) return invalid_argument("report: output: found none, needed is the file for the page");
  QQ_TRY(const std::string page, html_report(report));
  QQ_RETURN_IF_ERROR(write_file(output, page));
  result.report = pipeline::text({{"output", output}, {"bytes", page.size()}});
  return Status();
}

struct Verb {
  const char* name;
  Status (*call)(Request& json, const Arguments& arguments, quarkq_result& result);
};
constexpr Verb kVerbs[] = {{"quantize", call_quantize}, {"calibrate", call_calibrate}, {"merge", call_merge},
                           {"optimize", call_optimize}, {"convert", call_convert},     {"analyze", call_analyze},
                           {"run", call_run},           {"evaluate", call_evaluate},   {"score", call_score},
                           {"tune", call_tune},         {"inspect", call_inspect},     {"check", call_check},
                           {"report", call_report}};

Status call(const Arguments* arguments, quarkq_result& result) {
  if (arguments == nullptr || arguments->size != sizeof(Arguments) || arguments->verb == nullptr)
    return invalid_argument("quarkq_call: the arguments belong to another version of quarkq");
  const std::string name = arguments->verb;
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) {
    names.emplace_back(verb.name);
    if (name != verb.name) continue;
    QQ_TRY(Request request, Request::parse(name, arguments->request));
    RunFiles files;
    QQ_RETURN_IF_ERROR(request.declare_files(files));
    return verb.call(request, *arguments, result);
  }
  return invalid_argument(name, ": unknown verb", did_you_mean(name, names), " (known: ", join(names, ", "), ")");
}

}  // namespace
}  // namespace quarkq

quarkq_result* quarkq_call(const quarkq_call_arguments* arguments) {
  auto* result = new (std::nothrow) quarkq_result;
  if (result == nullptr) return nullptr;
  try {
    result->status = quarkq::call(arguments, *result);
  } catch (const std::bad_alloc&) {
    result->status = quarkq::Status(quarkq::Code::kResource, "out of memory");
  } catch (const std::exception& error) {
    result->status = quarkq::Status(quarkq::Code::kInternal, error.what());
  }
  return result;
}

void quarkq_free(quarkq_result* result) { delete result; }

// A result is NULL if there was no memory for it.
int quarkq_exit_code(const quarkq_result* result) {
  return quarkq::exit_code(result == nullptr ? quarkq::Code::kResource : result->status.code());
}
const char* quarkq_report(const quarkq_result* result) { return result == nullptr ? "" : result->report.c_str(); }
const char* quarkq_message(const quarkq_result* result) {
  return result == nullptr ? "out of memory" : result->status.message().c_str();
}
const char* quarkq_findings(const quarkq_result* result) { return result == nullptr ? "[]" : result->findings.c_str(); }
quarkq_bytes quarkq_model(const quarkq_result* result) {
  return result == nullptr ? quarkq_bytes{nullptr, 0} : quarkq_bytes{result->model.data(), result->model.size()};
}
quarkq_bytes quarkq_tail(const quarkq_result* result) {
  return result == nullptr ? quarkq_bytes{nullptr, 0} : quarkq_bytes{result->tail.data(), result->tail.size()};
}
quarkq_bytes quarkq_joined(const quarkq_result* result) {
  return result == nullptr ? quarkq_bytes{nullptr, 0} : quarkq_bytes{result->joined.data(), result->joined.size()};
}
const char* quarkq_version(void) { return quarkq::version(); }
