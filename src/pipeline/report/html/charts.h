// SPDX-License-Identifier: MIT
// The pictures of the HTML report, as SVG.
#pragma once

#include <string>
#include <vector>

#include "pipeline/report/json.h"

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

// Sections of the HTML report on how good the result is. Empty where an older report has nothing to show.

/// Operators of the model as loaded, quantized ones, and what was written.
std::string operators(const Json& run);
/// Noise of every tensor: in node order, then the noisiest first.
std::string noise(const Json& details);
/// Cosine of the outputs on each sample.
std::string samples(const Json& details);
/// Float and quantized output side by side.
std::string pictures(const Json& details);
/// Values that ranges clip, and integers that no value takes.
std::string ranges(const Json& details);

}  // namespace quarkq::pipeline::html
