// SPDX-License-Identifier: MIT
// Regions of a placement: a strip with one column per operator, and a table. Used for predicted and for reported
// placements, so that both have the same form.
#pragma once

#include <string>
#include <vector>

#include "quarkq/check.h"

namespace quarkq::pipeline::html {

/// An operator of the strip.
struct StripPart {
  int region = -1;            ///< -1: in none.
  const char* other = "bad";  ///< Class that sets the colour if it is in no region.
  std::string label;          ///< Shown as a tooltip.
};

/// Returns one column per operator in the order given, coloured by region. The columns of strips with the same number
/// of operators have the same width. Operators beyond the first 4,000 are not drawn.
std::string region_strip(const std::vector<StripPart>& parts, const std::string& title);

std::string region_table(const std::vector<TargetRegion>& regions);

}  // namespace quarkq::pipeline::html
