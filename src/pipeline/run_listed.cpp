// SPDX-License-Identifier: MIT
#include "pipeline/run_listed.h"

#include "config/listed_passes.h"
#include "pipeline/conversion_run.h"

namespace quarkq::pipeline {

Result<std::vector<ConversionStep>> steps_of(const std::vector<config::ListedPass>& passes, Diagnostics& diagnostics) {
  QQ_TRY(const std::vector<config::ListedConversion> conversions, config::conversions_of(passes, diagnostics));
  std::vector<ConversionStep> steps;
  for (const config::ListedConversion& one : conversions) {
    QQ_TRY(ConversionStep step, make_step(one.name, one.options));
    steps.push_back(std::move(step));
  }
  return steps;
}

Status run_listed(const std::vector<config::ListedPass>& passes, ir::Model& model, Diagnostics& diagnostics) {
  QQ_TRY(const std::vector<ConversionStep> steps, steps_of(passes, diagnostics));
  std::vector<pass::SideFile> files;  // none of the listed passes makes any
  for (const ConversionStep& step : steps) {
    QQ_RETURN_IF_ERROR(
        run_conversion(step, {model, diagnostics, files}).status().context(cat("listed pass ", step.conversion->name)));
  }
  return Status();
}

}  // namespace quarkq::pipeline
