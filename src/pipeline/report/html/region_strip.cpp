// SPDX-License-Identifier: MIT
#include "pipeline/report/html/region_strip.h"

#include <algorithm>

#include "base/strings.h"
#include "pipeline/report/html/markup.h"

namespace quarkq::pipeline::html {

constexpr size_t kMostParts = 4000;  // A page of more takes seconds to draw.

std::string region_strip(const std::vector<StripPart>& parts, const std::string& title) {
  const size_t count = std::min(parts.size(), kMostParts);
  std::string blocks;
  for (size_t i = 0; i < count; ++i) {
    const StripPart& part = parts[i];
    const char* kind = part.region < 0 ? part.other : part.region % 2 == 0 ? "good" : "fill";
    blocks += element("rect", {{"class", kind}, {"x", cat(i)}, {"width", "1"}, {"height", "10"}},
                      text_element("title", part.label));
  }
  const Attributes box = {{"viewBox", cat("0 0 ", std::max<size_t>(count, 1), " 10")},
                          {"preserveAspectRatio", "none"},
                          {"style", "height: 48px"},
                          {"role", "img"},
                          {"aria-label", title}};
  return element("svg", box, blocks);
}

std::string region_table(const std::vector<TargetRegion>& regions) {
  std::vector<std::vector<std::string>> rows = {
      {"region", "operators", "nodes", "multiply-accumulates", "from", "to", "runs"}};
  for (size_t i = 0; i < regions.size(); ++i) {
    const TargetRegion& region = regions[i];
    rows.push_back({cat(i), cat(region.operators), cat(region.nodes), short_number(100 * region.mac_share) + " %",
                    region.first, region.last, region.is_running ? "yes" : "left to the CPU"});
  }
  return table(rows);
}

}  // namespace quarkq::pipeline::html
