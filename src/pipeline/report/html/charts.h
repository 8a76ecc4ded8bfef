// SPDX-License-Identifier: MIT
// The pictures of the HTML report, as SVG.
#pragma once

#include <string>
#include <vector>

#include "pipeline/report/json.h"

namespace quarkq::pipeline::html {

/// A row of name, bar and figure. `kind` is the class that sets the colour of the bar.
struct BarRow {
  std::string name, detail, figure;
  double share = 0;
  const char* kind = "fill";
};
std::string bar_chart(const std::vector<BarRow>& rows);

/// Returns a histogram of a tensor's values with the ends of its quantized range, from one entry of details.profiles.
std::string histogram(const Json& profile);

/// Returns one bar per entry from left to right. The names are shown as tooltips.
std::string column_chart(const std::vector<BarRow>& rows);

/// A mark of a scatter plot; higher is better. Marked points are coloured. `across` and `up` name the axes.
struct Point {
  double x = 0, y = 0;
  std::string name;
  bool is_marked = false;
};
std::string scatter_chart(const std::vector<Point>& points, const std::string& across, const std::string& up);

/// Returns the image of an entry of details.pictures. `which` is "float" or "quantized". Drawn in a few colours as
/// paths, because the page does not load files.
std::string picture(const Json& entry, const char* which);

/// Returns the first `shown` parts, and the others in a collapsed block that shows their number.
std::string folded(const std::vector<std::string>& parts, size_t shown, const char* wrapper, const char* what);

// Sections of the HTML report on the quality of the result. Empty if an older report does not contain the data.

/// Operators of the loaded model, quantized operators, and written operators.
std::string operators(const Json& run);
/// Noise of every tensor: in node order, then the noisiest first.
std::string noise(const Json& details);
/// Cosine of the outputs on each sample.
std::string samples(const Json& details);
/// Float and quantized output side by side.
std::string pictures(const Json& details);
/// Clipped values, and unused integers.
std::string ranges(const Json& details);

}  // namespace quarkq::pipeline::html
