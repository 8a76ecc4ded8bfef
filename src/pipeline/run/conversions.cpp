// SPDX-License-Identifier: MIT
#include "pipeline/run/conversions.h"

#include <algorithm>
#include <cmath>

#include "base/stopwatch.h"
#include "base/strings.h"
#include "config/convert.h"
#include "config/pass_list.h"
#include "config/resolve.h"
#include "ir/check_graph.h"
#include "ir/quantizing_ops.h"
#include "onnx_io/check_model.h"
#include "pass/output_guard.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/pass_runner.h"
#include "planning/passes.h"
#include "qdq/convert/conversions.h"
#include "qdq/import/lift.h"
#include "rewrite/convert/conversions.h"

namespace quarkq::pipeline {

namespace {

using pass::Conversion;
using pass::OutputClaim;

const pass::PassInfo& pass_named(const std::string& name) {
  const auto found = std::ranges::find_if(all_passes(), [&](const pass::PassInfo& pass) { return pass.name == name; });
  QQ_CHECK(found != all_passes().end());
  return *found;
}

/// `Run`: PassConversion or PlanConversion.
template <typename Run>
Conversion pass_conversion(const char* function, OutputClaim claim, const char* options, const char* settings) {
  const pass::PassInfo& pass = pass_named(dashed_name(function));
  return {pass.name, claim, Run{pass.name, settings}, options, pass.summary};
}

/// `settings` with "$name" replaced by the option's value.
std::string filled_in(const std::string& settings, const pass::ConversionOptions& options) {
  const size_t dollar = settings.find('$');
  return dollar == std::string::npos ? settings
                                     : settings.substr(0, dollar) + options.text(settings.substr(dollar + 1));
}

/// The settings that switch a pass on, and no others: no preset, what is quantized is decided.
Result<config::Settings> pass_settings(const ir::Model& model, std::vector<std::string> sets, const char* of_pass,
                                       const pass::ConversionOptions& options) {
  sets.emplace_back("quant_config={}");
  for (const std::string& setting : split(of_pass, ';')) sets.push_back(filled_in(setting, options));
  QQ_TRY(const config::QuantConfig asked, config::load_config("", sets));
  Diagnostics ignored;  // of settings that a pass does not read
  return config::resolve(asked, model_facts(model), ignored);
}

/// The pass, on the nodes that the settings select, with what it finds in the context. A plan is that of the state.
Result<size_t> run_pass_alone(RunState& state, const char* pass, pass::ConvertContext& context) {
  const Diagnostics& found = state.diagnostics;
  Diagnostics ignored;
  pass::SelectContext select{state.model, state.settings, state.selection, ignored};
  QQ_RETURN_IF_ERROR(planning::select_nodes(select).status());
  QQ_TRY(const Changed changed, run_pass(state, pass_named(pass).run));
  for (const Diagnostic& one : found.all()) {
    // What a run of quantize goes on without is all that was asked for here.
    const bool is_refusal = changed == Changed::kNo && one.severity == Severity::kWarning;
    if (is_refusal) return unsupported(one.subject.empty() ? "" : one.subject + ": ", one.text);
    context.diagnostics.add(one);
  }
  return changed == Changed::kYes ? 1 : 0;
}

Result<size_t> run_as_pass(const pass::PassConversion& run, const pass::ConversionOptions& options,
                           pass::ConvertContext& context) {
  QQ_TRY(const config::Settings settings, pass_settings(context.model, {}, run.settings, options));
  RunState state{.model = std::move(context.model), .settings = settings, .environment = context.environment};
  const Result<size_t> changes = run_pass_alone(state, run.pass, context);
  context.model = std::move(state.model);
  return changes;
}

/// What makes the written model keep the domain of its Q/DQ nodes.
std::vector<std::string> pass_settings_of_domain(const ir::Model& model) {
  const bool is_contrib = std::ranges::any_of(model.graph.order(), [&](ir::NodeId id) {
    const ir::Node& node = model.graph.node(id);
    return node.op == "QuantizeLinear" && node.domain == ir::kMicrosoftDomain;
  });
  if (!is_contrib) return {};
  return {"quant_format=ExtendedQuantFormat.QDQ"};
}

Result<size_t> run_on_plan(const pass::PlanConversion& run, const pass::ConversionOptions& options,
                           pass::ConvertContext& context) {
  QQ_TRY(const config::Settings settings,
         pass_settings(context.model, pass_settings_of_domain(context.model), run.settings, options));
  QQ_TRY(qdq::LiftedModel lifted, qdq::lift(context.model));
  if (lifted.plan.slots().empty()) return unsupported("no pair of QuantizeLinear and DequantizeLinear was found");
  RunState state{.model = std::move(lifted.model),
                 .settings = settings,
                 .environment = context.environment,
                 .plan = std::move(lifted.plan)};
  state.plan.operators = plan::QdqOperators(settings, state.model.opset());
  QQ_TRY(const size_t changes, run_pass_alone(state, run.pass, context));
  if (changes == 0) return size_t{0};
  std::vector<PassTime> times;
  QQ_RETURN_IF_ERROR(run_passes(state, {.from = pass::Phase::kWrite}, times, {}));
  context.model = std::move(state.model);
  return changes;
}

/// "a=1,b=[2,3]" as a map.
Result<std::map<std::string, std::string>> read_options(const std::string& text) {
  std::map<std::string, std::string> options;
  QQ_TRY(const std::vector<std::string> parts, pass::list_parts(cat("[", text, "]")));
  for (const std::string& part : parts) {
    const size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos)
      return invalid_argument("found option ", part, ", allowed is name=value");
    if (!options.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      return invalid_argument("option ", part.substr(0, equals), " is given twice");
  }
  return options;
}

Result<const Conversion*> find_conversion(const std::string& wanted) {
  std::vector<std::string> names;
  for (const Conversion& conversion : all_conversions()) {
    if (wanted == conversion.name) return &conversion;
    names.emplace_back(conversion.name);
  }
  return invalid_argument("found ", wanted, ", which is not a conversion", did_you_mean(wanted, names),
                          " (quarkq list conversions)");
}

}  // namespace

const std::vector<Conversion>& all_conversions() {
#define QQ_QDQ_CONVERSION(function, claim, options, summary) \
  Conversion{dashed_name(#function), OutputClaim::claim, qdq::function, options, summary},
#define QQ_FLOAT_CONVERSION(function, claim, options, summary) \
  Conversion{dashed_name(#function), OutputClaim::claim, rewrite::function, options, summary},
#define QQ_PASS_CONVERSION(function, claim, options, settings) \
  pass_conversion<pass::PassConversion>(#function, OutputClaim::claim, options, settings),
#define QQ_PLAN_CONVERSION(function, claim, options, settings) \
  pass_conversion<pass::PlanConversion>(#function, OutputClaim::claim, options, settings),
  static const std::vector<Conversion> conversions = {
#include "pass/conversions.def"
  };
  return conversions;
}

const char* name(OutputClaim claim) {
  static constexpr const char* kNames[] = {"none", "equal", "rounded", "other"};
  return kNames[static_cast<size_t>(claim)];
}

Result<ConversionStep> read_step(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon), where = "--pass " + name;
  QQ_TRY(const Conversion* conversion, find_conversion(name).context("--pass"));
  QQ_TRY(const auto given, read_options(colon == std::string::npos ? "" : text.substr(colon + 1)).context(where));
  QQ_TRY(pass::ConversionOptions options, pass::ConversionOptions::read(conversion->options, given).context(where));
  return ConversionStep{conversion, std::move(options)};
}

Result<ConversionStep> make_step(const std::string& name, const std::map<std::string, std::string>& given) {
  QQ_TRY(const Conversion* conversion, find_conversion(name));
  QQ_TRY(pass::ConversionOptions options, pass::ConversionOptions::read(conversion->options, given).context(name));
  return ConversionStep{conversion, std::move(options)};
}

Result<size_t> run_step(const ConversionStep& step, pass::ConvertContext& context) {
  if (const auto* run = std::get_if<pass::PassConversion>(&step.conversion->run))
    return run_as_pass(*run, step.options, context);
  if (const auto* run = std::get_if<pass::PlanConversion>(&step.conversion->run))
    return run_on_plan(*run, step.options, context);
  return std::get<pass::ConversionFunction>(step.conversion->run)(context);
}

namespace {

/// Runs both models on one random sample, which fits the inputs of the second one. Returns nullopt if the first one
/// cannot be run, and infinity as pass::OutputGuard::distance() does.
std::optional<double> difference_between(const ir::Model& before, const ir::Model& after,
                                         const exec::Environment& environment, double& tolerance) {
  const Result<pass::OutputGuard> guard = pass::OutputGuard::on_random_sample(before, environment, after.graph);
  if (!guard.ok()) return std::nullopt;
  tolerance = guard.value().tolerance();
  return guard.value().distance(after);
}

/// What every conversion ends with: order, types, and the checks that the next one relies on.
Status settle(ir::Model& model, Diagnostics& diagnostics) {
  QQ_RETURN_IF_ERROR(pass::tidy_up(model.graph, Changed::kNo).status());
  QQ_RETURN_IF_ERROR(pass::infer_types_again(model, diagnostics).status());
  QQ_RETURN_IF_ERROR(ir::verify(model.graph));
  return onnx_io::check_result(model, diagnostics).context("the converted model did not pass its check");
}

Status check_strict(const ConvertedPass& done) {
  if (!done.left.empty()) return unsupported(done.left[0].node, ": ", done.left[0].reason, " (--strict)");
  if (done.changes == 0) return unsupported("found nothing to convert (--strict)");
  return Status();
}

Status check_claim(const ConversionStep& step, std::optional<double> difference, double tolerance) {
  if (step.conversion->claim != pass::OutputClaim::kEqual || !difference || *difference <= tolerance) return Status();
  if (!std::isfinite(*difference))
    return internal_error(
        "the result cannot be run, or its outputs have other shapes, types or infinities; nothing was "
        "written, please report this");
  return internal_error("outputs differ by ", *difference, " of their range, allowed is ", tolerance,
                        "; nothing was written, please report this");
}

}  // namespace

Result<ConvertedPass> run_conversion(const ConversionStep& step, const ConversionRun& run) {
  const Stopwatch watch;
  const ir::Model before = run.model;  // shares the weights
  ConvertedPass done;
  done.name = step.conversion->name;
  done.claim = name(step.conversion->claim);
  done.nodes_before = before.graph.order().size();
  std::vector<pass::LeftNode> left;
  pass::ConvertContext context{run.model, step.options, run.diagnostics, run.environment, left, run.files};
  QQ_TRY(done.changes, run_step(step, context));
  for (pass::LeftNode& one : left) done.left.push_back({std::move(one.node), std::move(one.reason)});
  if (run.strict) QQ_RETURN_IF_ERROR(check_strict(done));
  QQ_RETURN_IF_ERROR(settle(run.model, run.diagnostics));
  double tolerance = 0;
  std::optional<double> difference;
  if (done.changes > 0) difference = difference_between(before, run.model, run.environment, tolerance);
  QQ_RETURN_IF_ERROR(check_claim(step, difference, tolerance));
  if (difference && std::isfinite(*difference)) done.difference = difference;
  done.nodes_after = run.model.graph.order().size();
  done.seconds = watch.seconds();
  return done;
}

Result<std::vector<ConversionStep>> steps_of(const std::vector<config::ListedPass>& passes, Diagnostics& diagnostics) {
  QQ_TRY(const std::vector<config::ListedConversion> conversions, config::conversions_of(passes, diagnostics));
  std::vector<ConversionStep> steps;
  for (const config::ListedConversion& one : conversions) {
    QQ_TRY(ConversionStep step, make_step(one.name, one.options));
    steps.push_back(std::move(step));
  }
  return steps;
}

Status run_listed(const std::vector<config::ListedPass>& passes, const ListedRun& run) {
  QQ_TRY(const std::vector<ConversionStep> steps, steps_of(passes, run.diagnostics));
  std::vector<pass::SideFile> files;  // none of the listed passes makes any
  for (const ConversionStep& step : steps) {
    QQ_RETURN_IF_ERROR(run_conversion(step, {run.model, run.environment, run.diagnostics, files})
                           .status()
                           .context(cat("listed pass ", step.conversion->name)));
  }
  return Status();
}

}  // namespace quarkq::pipeline
