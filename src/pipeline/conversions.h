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

/// "none", "equal", "rounded", "other": what users see of a claim.
const char* name(pass::OutputClaim claim);

/// A conversion with its options, as `--pass NAME:option=value,...` asks for it.
struct ConversionStep {
  const pass::Conversion* conversion = nullptr;
  pass::ConversionOptions options;
};

/// Commas inside of brackets separate no options. kInvalidArgument for unknown names, unknown or missing options.
Result<ConversionStep> read_step(const std::string& text);
/// The same with the options by name.
Result<ConversionStep> make_step(const std::string& name, const std::map<std::string, std::string>& options);

/// Runs the step on the model, which is in no usable state after an error.
Result<size_t> run_step(const ConversionStep& step, pass::ConvertContext& context);

/// One conversion of a model, with the checks that each has: the model is valid afterwards, and outputs are what the
/// conversion claims.
struct ConversionRun {
  ir::Model& model;                      ///< in no usable state after an error
  const exec::Environment& environment;  ///< of the sessions that check it
  Diagnostics& diagnostics;
  std::vector<pass::SideFile>& files;
  bool strict = false;  ///< ConvertRequest::strict
};

/// kUnsupported: the conversion cannot do its work. kInternal: it changed outputs that it claims to keep.
Result<ConvertedPass> run_conversion(const ConversionStep& step, const ConversionRun& run);

// Lists of passes (config/pass_list.h) on a model.

/// The steps of a list, in its order. kInvalidArgument, with the line, for what there is not.
Result<std::vector<ConversionStep>> steps_of(const std::vector<config::ListedPass>& passes, Diagnostics& diagnostics);

/// A model that a list of passes is run on.
struct ListedRun {
  ir::Model& model;
  const exec::Environment& environment;
  Diagnostics& diagnostics;
};
/// Runs the list on the model, each conversion with its checks.
Status run_listed(const std::vector<config::ListedPass>& passes, const ListedRun& run);

}  // namespace quarkq::pipeline
