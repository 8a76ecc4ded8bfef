// SPDX-License-Identifier: MIT
#include "forecast_text.h"

#include <algorithm>
#include <cstdio>

#include "messages.h"
#include "quantize_summary.h"
#include "table.h"
#include "terminal.h"

namespace quarkq::tool {
namespace {

/// "34 Conv, 2 Softmax".
template <typename Counts>
std::string counts_of(const Counts& counts) {
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [name, count] : counts) parts.push_back(cat(count, " ", name));
  return parts.empty() ? "none" : join(parts, ", ");
}

void print_plan(const Forecast& found) {
  say("\n");
  Table operators({{"Operator"}, {"loaded", kRight}, {"quantized", kRight}});
  for (const auto& [op, count] : found.operators) operators.add({op, cat(count.total), cat(count.quantized)});
  operators.print_fitting();
  if (!found.tensors_by_type.empty()) {
    say("\n");
    Table tensors({{"Tensors"}, {"count", kRight}});
    for (const auto& [type, count] : found.tensors_by_type) tensors.add({type, cat(count)});
    tensors.print_fitting();
  }
  constexpr size_t kNamed = 3;
  for (const FloatPart& part : found.float_parts) {
    const size_t named = is_verbose() ? part.nodes.size() : std::min(kNamed, part.nodes.size());
    const std::vector<std::string> names(part.nodes.begin(), part.nodes.begin() + static_cast<std::ptrdiff_t>(named));
    say("\n");
    print_line(cat("float      ", part.why, ": ", counts_of(part.operators)));
    print_line(cat("           ", join(names, ", "),
                   named < part.nodes.size() ? cat(" and ", part.nodes.size() - named, " more (-v)") : ""));
  }
}

void print_cost(const Forecast& found) {
  say("\n");
  if (!found.output_path.empty())
    print_line(cat("would be   ", found.output_path, ", about ", bytes_text(static_cast<double>(found.output_bytes))));
  print_line(cat("memory     about ", bytes_text(static_cast<double>(found.memory_bytes))));
  print_line(cat("time       about ", significant(found.seconds), " s (", found.samples, " samples)"));
  for (const std::string& text : found.not_included) print_line("not in it  " + text);
}

void print_found(const Forecast& found) {
  print_line(cat("dry run    nothing is written; ", found.tried_samples, " of ", found.samples,
                 " samples were tried in ", significant(found.tried_seconds), " s"));
  print_line(cat("model      ", found.model_path, " (", found.nodes_total, " nodes, ",
                 bytes_text(static_cast<double>(found.model_bytes)), ")"));
  print_line(cat("settings   ", found.preset.empty() ? "file" : found.preset, ", ", found.quantizer));
  print_line(cat("quantized  ", quantized_nodes(found)));
  print_plan(found);
  print_cost(found);
}

}  // namespace

CLI::Option* add_dry_run_option(CLI::App& app, bool& dry_run) {
  return app.add_flag("--dry-run", dry_run,
                      "Write nothing: say what would be quantized and how, the size of the result, memory and time");
}

Status print_forecast(const Forecast& found, const std::string& json) {
  QQ_TRY(TextOutput file, TextOutput::open(json));
  if (file.is_open()) QQ_RETURN_IF_ERROR(file.write(to_json(found)));
  print_findings(found.findings);
  if (prints_text(json)) print_found(found);
  return Status();
}

}  // namespace quarkq::tool
