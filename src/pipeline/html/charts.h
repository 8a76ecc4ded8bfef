// SPDX-License-Identifier: MIT
// The pictures of the HTML report, as SVG.
#pragma once

#include <string>
#include <vector>

#include "pipeline/json.h"

namespace quarkq::pipeline::html {

/// Rows of name, bar and figure. `kind`: the class that colours the bar.
struct BarRow {
  std::string name, detail, figure;
  double share = 0;
  const char* kind = "fill";
};
std::string bar_chart(const std::vector<BarRow>& rows);

/// Counts of a tensor's values with the ends of its quantized range; one entry of details.profiles.
std::string histogram(const Json& profile);

/// A bar per entry from left to right; the rows' names show when pointed at.
std::string column_chart(const std::vector<BarRow>& rows);

/// A mark for each point, higher is better; marked points are coloured. `across` and `up` name the axes.
struct Point {
  double x = 0, y = 0;
  std::string name;
  bool is_marked = false;
};
std::string scatter_chart(const std::vector<Point>& points, const std::string& across, const std::string& up);

/// An image of a report's entry of details.pictures: `which` is "float" or "quantized". In a few colours, as paths,
/// because the page loads nothing.
std::string picture(const Json& entry, const char* which);

/// The first `shown` parts, and the rest in a fold that says how many there are.
std::string folded(const std::vector<std::string>& parts, size_t shown, const char* wrapper, const char* what);

}  // namespace quarkq::pipeline::html
