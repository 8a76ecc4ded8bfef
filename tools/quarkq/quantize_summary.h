// SPDX-License-Identifier: MIT
// What quarkq quantize prints about a run: lines and tables.
#pragma once

#include <string>
#include <vector>

#include "quarkq/quantize.h"

namespace quarkq::tool {

/// `deployed`: the files of --deploy. Without print_summary the tables are left out.
void print_summary(const QuantizeReport& report, const std::vector<std::string>& deployed);

}  // namespace quarkq::tool
