// SPDX-License-Identifier: MIT
// What quarkq quantize prints about a run: lines and tables.
#pragma once

#include <string>
#include <vector>

#include "base/strings.h"
#include "quarkq/quantize.h"

namespace quarkq::tool {

/// "146 of 304 nodes, all that compute; 158 are folded away".
template <typename Counts>
std::string quantized_nodes(const Counts& counts) {
  const std::string text = cat(counts.nodes_quantized, " of ", counts.nodes_total, " nodes");
  if (counts.nodes_folded == 0) return text;
  const bool is_all = counts.nodes_quantized + counts.nodes_folded == counts.nodes_total;
  return cat(text, is_all ? ", all that compute" : "", "; ", counts.nodes_folded, " are folded away");
}

/// `deployed`: the files of --deploy. Without print_summary the tables are left out.
void print_summary(const QuantizeReport& report, const std::vector<std::string>& deployed);

}  // namespace quarkq::tool
