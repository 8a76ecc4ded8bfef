// SPDX-License-Identifier: MIT
// Findings about a data set.
#pragma once

#include <string>

#include "base/diagnostics.h"

namespace quarkq::calib {

/// What the user should know of a data set, as a finding.
struct DataNote {
  DiagnosticId id;
  std::string subject, text;
};

}  // namespace quarkq::calib
