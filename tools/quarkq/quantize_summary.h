// SPDX-License-Identifier: MIT
// Output of quarkq quantize on a terminal: lines and tables.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/strings.h"
#include "output.h"
#include "quarkq/analyze.h"
#include "quarkq/quantize.h"
#include "run_control.h"

namespace quarkq::tool {

/// Returns "146 of 304 nodes, all that compute; 158 are folded away".
template <typename Counts>
std::string quantized_nodes(const Counts& counts) {
  std::string text = cat(counts.nodes_quantized, " of ", counts.nodes_total, " nodes");
  if (counts.nodes_folded == 0) return text;
  const bool is_all = counts.nodes_quantized + counts.nodes_folded == counts.nodes_total;
  return cat(text, is_all ? ", all that compute" : "", "; ", counts.nodes_folded, " are folded away");
}

/// `deployed` are the files of --deploy. Without print_summary the tables are omitted.
void print_summary(const QuantizeReport& report, const std::vector<std::string>& deployed);

/// Adds --dry-run. Returns the option, which excludes options that name further files.
CLI::Option* add_dry_run_option(CLI::App& app, bool& dry_run);

/// Prints the forecast as JSON to the place of --json, otherwise as text to stdout.
Status print_forecast(const Forecast& found, const std::string& json);

/// Runs forecast(request) under a progress bar and prints it.
template <typename Request>
Status run_dry(Request& request, const std::string& json) {
  QQ_TRY(const Forecast found, run_with_bar(request, [](const Request& asked) { return forecast(asked); }));
  return print_forecast(found, json);
}

}  // namespace quarkq::tool
