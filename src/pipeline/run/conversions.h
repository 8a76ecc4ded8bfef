// SPDX-License-Identifier: MIT
// All conversions of the two libraries and of passes, from pass/conversions.def.
#pragma once

#include <string>
#include <vector>

#include "config/pass_list.h"
#include "pass/pass_info.h"
#include "quarkq/convert.h"

namespace quarkq::pipeline {

/// In the order of the table.
const std::vector<pass::Conversion>& all_conversions();

/// Returns "none", "equal", "rounded" or "other", the names of claims shown to users.
const char* name(pass::OutputClaim claim);

/// A conversion with its options, as in `--pass NAME:option=value,...`.
struct ConversionStep {
  const pass::Conversion* conversion = nullptr;
  pass::ConversionOptions options;
};

/// Parses a step. Commas inside brackets do not separate options. Fails with kInvalidArgument for unknown names and for
/// unknown or missing options.
Result<ConversionStep> read_step(const std::string& text);
/// Creates a step from its name and options.
Result<ConversionStep> make_step(const std::string& name, const std::map<std::string, std::string>& options);

/// Runs the step on the model, which is unusable after an error.
Result<size_t> run_step(const ConversionStep& step, pass::ConvertContext& context);

/// One conversion of a model with its checks: the model is valid afterwards, and the outputs match the conversion's
/// claim.
struct ConversionRun {
  ir::Model& model;                      ///< Unusable after an error.
  const exec::Environment& environment;  ///< Environment of the sessions that check it.
  Diagnostics& diagnostics;
  std::vector<pass::SideFile>& files;
  bool strict = false;  ///< ConvertRequest::strict
};

/// Fails with kUnsupported if the conversion cannot be applied, and with kInternal if it changed outputs that it claims
/// to preserve.
Result<ConvertedPass> run_conversion(const ConversionStep& step, const ConversionRun& run);

/// Returns the steps of a list, in order. Fails with kInvalidArgument, naming the line, for unknown steps.
Result<std::vector<ConversionStep>> steps_of(const std::vector<config::ListedPass>& passes, Diagnostics& diagnostics);

/// A model on which a list of passes runs.
struct ListedRun {
  ir::Model& model;
  const exec::Environment& environment;
  Diagnostics& diagnostics;
};
/// Runs the list on the model, each conversion with its checks.
Status run_listed(const std::vector<config::ListedPass>& passes, const ListedRun& run);

}  // namespace quarkq::pipeline
