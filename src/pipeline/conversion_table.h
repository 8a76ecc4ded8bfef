// SPDX-License-Identifier: MIT
// All conversions of the two libraries and of passes, from pass/conversions.def.
#pragma once

#include <string>
#include <vector>

#include "pass/conversion.h"

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

}  // namespace quarkq::pipeline
