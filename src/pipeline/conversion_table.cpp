// SPDX-License-Identifier: MIT
#include "pipeline/conversion_table.h"

#include <algorithm>

#include "base/suggest.h"
#include "config/read_config.h"
#include "config/resolve.h"
#include "pipeline/facts.h"
#include "pipeline/pass_runner.h"
#include "pipeline/pass_table.h"
#include "qdq/convert/conversions.h"
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

Conversion pass_conversion(const char* function, OutputClaim claim, const char* options, const char* settings) {
  const pass::PassInfo& pass = pass_named(dashed_name(function));
  return {pass.name, claim, pass::PassConversion{pass.name, settings}, options, pass.summary};
}

/// `settings` with "$name" replaced by the option's value.
std::string filled_in(const std::string& settings, const pass::ConversionOptions& options) {
  const size_t dollar = settings.find('$');
  return dollar == std::string::npos ? settings
                                     : settings.substr(0, dollar) + options.text(settings.substr(dollar + 1));
}

Result<size_t> run_as_pass(const pass::PassConversion& run, const pass::ConversionOptions& options,
                           pass::ConvertContext& context) {
  std::vector<std::string> sets = {"quant_config={}"};  // no preset: what is quantized is decided
  for (const std::string& setting : split(run.settings, ';')) sets.push_back(filled_in(setting, options));
  QQ_TRY(const config::QuantConfig asked, config::load_config("", sets));
  Diagnostics ignored;  // of settings that a pass does not read
  QQ_TRY(const config::Settings settings, config::resolve(asked, model_facts(context.model), ignored));
  Diagnostics found;
  RunState state{.model = context.model, .settings = settings, .diagnostics = found};
  QQ_TRY(const Changed changed, run_pass(state, pass_named(run.pass).run));
  for (const Diagnostic& one : found.all()) {
    // What a run of quantize goes on without is all that was asked for here.
    const bool is_refusal = changed == Changed::kNo && one.severity == Severity::kWarning;
    if (is_refusal) return unsupported(one.subject.empty() ? "" : one.subject + ": ", one.text);
    context.diagnostics.add(one);
  }
  return changed == Changed::kYes ? 1 : 0;
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

}  // namespace

const std::vector<Conversion>& all_conversions() {
#define QQ_QDQ_CONVERSION(function, claim, options, summary) \
  Conversion{dashed_name(#function), OutputClaim::claim, qdq::function, options, summary},
#define QQ_FLOAT_CONVERSION(function, claim, options, summary) \
  Conversion{dashed_name(#function), OutputClaim::claim, rewrite::function, options, summary},
#define QQ_PASS_CONVERSION(function, claim, options, settings) \
  pass_conversion(#function, OutputClaim::claim, options, settings),
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
  const std::string wanted = text.substr(0, colon);
  std::vector<std::string> names;
  for (const Conversion& conversion : all_conversions()) {
    names.emplace_back(conversion.name);
    if (wanted != conversion.name) continue;
    const std::string where = cat("--pass ", wanted);
    QQ_TRY(const auto given, read_options(colon == std::string::npos ? "" : text.substr(colon + 1)).context(where));
    QQ_TRY(pass::ConversionOptions options, pass::ConversionOptions::read(conversion.options, given).context(where));
    return ConversionStep{&conversion, std::move(options)};
  }
  return invalid_argument("--pass: found ", wanted, ", which is no conversion", did_you_mean(wanted, names),
                          " (quarkq list conversions)");
}

Result<size_t> run_step(const ConversionStep& step, pass::ConvertContext& context) {
  if (const auto* run = std::get_if<pass::PassConversion>(&step.conversion->run))
    return run_as_pass(*run, step.options, context);
  return std::get<pass::ConversionFunction>(step.conversion->run)(context);
}

}  // namespace quarkq::pipeline
