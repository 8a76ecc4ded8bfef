// SPDX-License-Identifier: MIT
// One conversion of a model, with the checks that each has: the model is valid afterwards, and outputs are what the
// conversion claims.
#pragma once

#include <vector>

#include "pipeline/conversion_table.h"
#include "quarkq/convert.h"

namespace quarkq::pipeline {

struct ConversionRun {
  ir::Model& model;  ///< in no usable state after an error
  Diagnostics& diagnostics;
  std::vector<pass::SideFile>& files;
  bool strict = false;  ///< ConvertRequest::strict
};

/// kUnsupported: the conversion cannot do its work. kInternal: it changed outputs that it claims to keep.
Result<ConvertedPass> run_conversion(const ConversionStep& step, const ConversionRun& run);

}  // namespace quarkq::pipeline
