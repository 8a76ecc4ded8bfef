// SPDX-License-Identifier: MIT
#include "quantize_summary.h"

#include <algorithm>
#include <cstdio>

#include "base/strings.h"
#include "output.h"
#include "target_text.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {

namespace {

constexpr size_t kShownFallbacks = 4;

std::string share_text(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 0) + " %";
}

std::string cosine_text(double value) { return fixed(value, value > 0.9999 && value < 1 ? 6 : 4); }

/// Language models: what the task line does not say.
void print_language(const QuantizeReport& report) {
  if (!report.text) return;
  const TextAgreement& text = *report.text;
  print_line(cat(text.output, ": ", text.ids, " tokens of ", text.samples, " samples, the same next token for ",
                 fixed(100 * text.same_next, 1), " %"));
  if (text.continuations.empty()) return;
  size_t same = 0, length = 0, equal = 0;
  std::vector<size_t> differ;
  for (const Continuation& one : text.continuations) {
    same += one.same;
    length += one.length;
    if (!one.first_difference) ++equal;
    differ.push_back(one.first_difference.value_or(one.length));
  }
  std::ranges::sort(differ);
  print_line(cat("greedy continuations of ", differ.size(), " prompts: ", share_text(same, length), " of ", length,
                 " tokens are equal, ", equal, " have no difference, the median of the first difference is token ",
                 differ[differ.size() / 2] + 1));
}

void print_agreement(const QuantizeReport& report) {
  if (report.outputs.empty()) return;
  say("\nagainst the float model on %zu sample%s:\n", report.compared_samples, report.compared_samples == 1 ? "" : "s");
  Table table({{"Output"}, {"mean cos", kRight}, {"worst cos", kRight}, {"SQNR dB", kRight}, {"Worst sample"}});
  for (const OutputAgreement& output : report.outputs) {
    table.add({output.name, cosine_text(output.cosine), cosine_text(output.min_cosine), fixed(output.sqnr_db, 1),
               output.near_zero ? "all almost zero, not judged" : output.worst_sample});
    if (const auto& minor = output.minor)
      table.add({"  small channels", cosine_text(minor->cosine), "", fixed(minor->sqnr_db, 1), ""});
    if (const auto& stream = output.fed_back)
      table.add({"  20 frames fed back", cosine_text(stream->cosine), "", fixed(stream->sqnr_db, 1), ""});
  }
  table.print_fitting();
  for (const OutputAgreement& output : report.outputs)
    if (output.task) print_line(cat(output.name, ": ", grade_name(output.task->grade), ", ", output.task->text));
  print_language(report);
}

void print_noisiest(const QuantizeReport& report) {
  constexpr size_t kShown = 5;
  if (report.worst_tensors.empty()) return;
  say("\n");
  Table table({{"Noisiest tensors"}, {"SQNR dB", kRight}, {"inputs dB", kRight}, {"Node"}});
  for (size_t i = 0; i < std::min(kShown, report.worst_tensors.size()); ++i) {
    const TensorAgreement& tensor = report.worst_tensors[i];
    table.add({tensor.name, fixed(tensor.sqnr_db, 1), fixed(tensor.inputs_db, 1), tensor.node});
  }
  table.print_fitting();
}

/// Operators of the model as loaded: how many there are, how many of them are quantized, and what was written.
void print_operators(const QuantizeReport& report) {
  std::map<std::string, OperatorCount> rows = report.operators;
  for (const auto& [op, count] : report.quantized_ops) rows.try_emplace(op);
  say("\n");
  Table table({{"Operator"}, {"loaded", kRight}, {"quantized", kRight}, {"written", kRight}});
  for (const auto& [op, count] : rows) {
    const auto written = report.quantized_ops.find(op);
    table.add(
        {op, cat(count.total), cat(count.quantized), cat(written == report.quantized_ops.end() ? 0 : written->second)});
  }
  table.print_fitting();
}

/// "INT8 0.015625", "UINT8 0.02 zero point 128", "INT8 0.001 .. 0.02 (32 channels)"; "float" where nothing is
/// quantized.
std::string format_text(const QuantizedTensor& tensor) {
  if (tensor.scales.empty()) return tensor.type;
  const auto range = [](const std::vector<double>& values) {
    const auto [low, high] = std::ranges::minmax(values);
    return low == high ? significant(low) : cat(significant(low), " .. ", significant(high));
  };
  std::string text = cat(tensor.type, " ", range(tensor.scales));
  if (std::ranges::any_of(tensor.zero_points, [](double zero) { return zero != 0; }))
    text += cat(" zero point ", range(tensor.zero_points));
  return tensor.axis < 0 ? text : cat(text, " (", tensor.scales.size(), tensor.block > 0 ? " blocks)" : " channels)");
}

/// The formats of the tensors of this kind; empty: of all.
std::string formats_text(const std::vector<QuantizedTensor>& tensors, const std::string& kind) {
  std::vector<std::string> texts;
  for (const QuantizedTensor& tensor : tensors) {
    if (kind.empty() || tensor.kind == kind) texts.push_back(format_text(tensor));
  }
  return texts.empty() ? "float" : join(texts, ", ");
}

/// debug_mode: every node that was written.
void print_node_formats(const QuantizeReport& report) {
  if (!report.nodes) return;
  say("\n");
  Table table({{"Node"}, {"Operator"}, {"Inputs"}, {"Stored"}, {"Outputs"}});
  for (const NodeFormats& node : *report.nodes) {
    const std::string stored = formats_text(node.inputs, "stored");
    table.add({node.node, node.op, formats_text(node.inputs, "activation"), stored == "float" ? "" : stored,
               formats_text(node.outputs, "")});
  }
  table.print();
}

void print_eval_metrics(const QuantizeReport& report) {
  if (!report.metrics) return;
  const EvalMetrics& metrics = *report.metrics;
  say("\n");
  Table table({{cat("Metrics on ", metrics.samples, metrics.samples == 1 ? " sample" : " samples")},
               {"mean", kRight},
               {"worst", kRight}});
  table.add({"cosine similarity", cosine_text(metrics.mean_cosine), cosine_text(metrics.min_cosine)});
  table.add({"L2 distance", significant(metrics.mean_l2), significant(metrics.max_l2)});
  table.add({"PSNR dB", fixed(metrics.mean_psnr, 1), fixed(metrics.min_psnr, 1)});
  table.add({"SSIM", cosine_text(metrics.mean_ssim), cosine_text(metrics.min_ssim)});
  table.print();
}

void print_tuning(const QuantizeReport& report) {
  if (report.tuned_layers.empty()) return;
  const auto kept = std::ranges::count_if(report.tuned_layers, &TunedLayer::kept);
  std::string line = cat("tuned      ", report.tuned_layers.size(), " layers, ", kept, " kept");
  if (const auto others = std::ranges::count_if(report.tuned_layers, &TunedLayer::resumed); others > 0)
    line += cat(", ", others, " trained by other processes");
  if (const auto& outputs = report.tuned_outputs) {
    line += cat("; mean cosine ", cosine_text(outputs->cosine_before), " -> ", cosine_text(outputs->cosine_after),
                " on ", outputs->samples, " samples not trained with");
  }
  print_line(line);
  if (!is_verbose()) return;
  Table table({{"Tuned layer"}, {"error before", kRight}, {"error after", kRight}, {"kept"}});
  for (const TunedLayer& layer : report.tuned_layers)
    table.add({layer.node, significant(layer.error_before), significant(layer.error_after), layer.kept ? "yes" : "no"});
  table.print_fitting();
}

void print_phases(const QuantizeReport& report) {
  if (!is_verbose()) return;
  say("\n");
  Table table({{"Pass"}, {"seconds", kRight}, {"changed"}});
  for (const PassTime& pass : report.phases) table.add({pass.name, fixed(pass.seconds, 3), pass.changed ? "yes" : ""});
  table.print_fitting();
}

void print_tables(const QuantizeReport& report) {
  print_operators(report);
  print_node_formats(report);
  print_agreement(report);
  print_eval_metrics(report);
  print_noisiest(report);
  print_phases(report);
}

void print_verdict(const QuantizeReport& report) {
  if (const auto& verdict = report.verdict) {
    print_line(cat("verdict    ", grade_name(verdict->grade), ": ", verdict->why));
    say("next       %s\n", verdict->next.c_str());  // a command in one piece can be pasted
  } else if (!report.outputs.empty()) {
    print_line(
        "verdict    none: the float outputs are almost zero on these samples; pass other samples with --eval DIR");
  }
}

/// "rescued    cosine 0.070 -> 0.981 (4 samples): per-channel weights, 34 activations in 16 bits (12.0 % of MACs, 2
/// connected parts); 3.2 s"
void print_rescue(const RescueReport& rescue) {
  std::vector<std::string> changes;
  changes = rescue.float_changes;
  if (!rescue.rounding.empty()) changes.push_back("compensated rounding of weights");
  if (rescue.searched_scales) changes.push_back("searched scales of weights");
  if (rescue.channel_scales) changes.push_back("per-channel weights");
  const auto where = [&](double macs) {
    return cat(" (", fixed(100 * macs, 1), " % of MACs, ", rescue.islands,
               rescue.islands == 1 ? " connected part)" : " connected parts)");
  };
  if (!rescue.tensors_in_16_bits.empty())
    changes.push_back(cat(rescue.tensors_in_16_bits.size(), " activations in 16 bits", where(rescue.macs_in_16_bits)));
  if (!rescue.float_nodes.empty())
    changes.push_back(cat(rescue.float_nodes.size(), " float nodes", where(rescue.float_macs)));
  print_line(cat("rescued    cosine ", fixed(rescue.before.cosine, 6), " -> ", fixed(rescue.after.cosine, 6), " (",
                 rescue.samples, " samples): ", join(changes, ", "),
                 rescue.settings_path.empty() ? "" : cat(", in ", rescue.settings_path), "; ", fixed(rescue.seconds, 2),
                 " s"));
}

std::string short_numbers(const std::vector<double>& values) {
  std::vector<std::string> texts;
  char text[32];
  for (const double value : values) {
    std::snprintf(text, sizeof text, "%.4g", value);
    texts.emplace_back(text);
  }
  return join(texts, " ");
}

/// "input      x FLOAT[1,3,224,224]: min -2.118, max 2.64, mean 0.03 0.1 0.2, std 1 1 1 (128 samples)"
void print_input(const InputReport& input) {
  std::vector<std::string> dims;
  for (const int64_t dim : input.shape) dims.push_back(dim < 0 ? "?" : cat(dim));
  print_line(cat("input      ", input.name, " ", input.type, "[", join(dims, ","), "]: min ",
                 short_numbers({input.least}), ", max ", short_numbers({input.most}), ", mean ",
                 short_numbers(input.mean), ", std ", short_numbers(input.deviation), " (", input.samples,
                 input.samples == 1 ? " sample)" : " samples)"));
}

/// "deployable on x2: yes, 229 of 327 nodes in 17 regions; not there: 1 x Flatten, 1 x Softmax"
void print_target(const QuantizeReport& report) {
  const TargetReport& target = *report.target;
  std::string line = text(*report.deployable);
  std::vector<std::string> rest;
  for (const TargetFallback& one : target.fallbacks) rest.push_back(cat(one.count, " x ", one.op));
  if (rest.size() > kShownFallbacks) rest.resize(kShownFallbacks, "");
  if (!rest.empty())
    line += cat("; not there: ", join(rest, ", "), target.fallbacks.size() > rest.size() ? ", ..." : "");
  print_line(line);
  say("           quarkq check --target %s %s\n", target.target.c_str(), target.model_path.c_str());
  if (report.target_is_default)
    print_line(cat("           ", target.target, " is the target of ", report.preset,
                   "; --target NAME chooses another one, --target none turns it off"));
}

/// Why a result is larger than the float model; empty if it is not.
std::string why_larger(const QuantizeReport& report) {
  const auto is_packed = [](const auto& row) {
    return row.first.starts_with("weight INT") || row.first.starts_with("weight UINT");
  };
  const bool is_expected = report.tensors_by_type.empty() || std::ranges::any_of(report.tensors_by_type, is_packed);
  if (report.output_bytes <= report.model_bytes || is_expected) return "";
  return ": weights of these formats are stored as float32";
}

}  // namespace

void print_summary(const QuantizeReport& report, const std::vector<std::string>& deployed) {
  if (!report.sample_cautions.empty()) print_line("caution    " + join(report.sample_cautions, "; "));
  print_line(cat("model      ", report.model_path, " (opset ", report.input_opset, ", ", report.nodes_total, " nodes, ",
                 bytes_text(static_cast<double>(report.model_bytes)), ")"));
  const std::string why = report.threads_why.empty() ? "" : cat(" (", report.threads_why, ")");
  const std::string target = report.target ? " for " + report.target->target : "";
  print_line(cat("settings   ", report.preset.empty() ? "file" : report.preset, target, ", ", report.quantizer, ", ",
                 report.threads, report.threads == 1 ? " thread" : " threads", why, ", ", report.isa));
  print_line(cat("calibrated ", report.calibrated_tensors, " activations on ", report.samples, " samples"));
  for (const InputReport& input : report.inputs) print_input(input);
  print_line(cat("quantized  ", quantized_nodes(report),
                 report.tensors_by_type.empty() ? "" : "; tensors: " + counts_text(report.tensors_by_type)));
  if (report.rescue) print_rescue(*report.rescue);
  print_tuning(report);
  if (report.prints_tables) print_tables(report);
  say("\n");
  print_line(cat("written    ", report.output_path, " (opset ", report.output_opset, ", ",
                 bytes_text(static_cast<double>(report.output_bytes)), ", ",
                 share_text(report.output_bytes, report.model_bytes), " of the float model", why_larger(report),
                 report.external_data ? ", weights in a file next to it" : "", ") in ", fixed(report.seconds, 2),
                 " s"));
  if (!report.tail_path.empty())
    print_line(cat("cut        the last ", report.tail_nodes,
                   report.tail_nodes == 1 ? " node is in " : " nodes are in ", report.tail_path,
                   " (float, runs on the CPU); outputs and order are unchanged for the pair"));
  if (!report.joined_path.empty())
    print_line(cat("joined     ", report.joined_path, ": both as one model, for checks"));
  if (report.target) print_target(report);
  if (!deployed.empty()) print_line("deployment " + join(deployed, ", "));
  print_verdict(report);
}

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
  if (found.deployable) print_line(text(*found.deployable));
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
  return app.add_flag(
      "--dry-run", dry_run,
      "Write nothing: predict what would be quantized and how, the size of the result, memory and time");
}

Status print_forecast(const Forecast& found, const std::string& json) {
  QQ_TRY(TextOutput file, TextOutput::open(json));
  if (file.is_open()) QQ_RETURN_IF_ERROR(file.write(to_json(found)));
  print_findings(found.findings);
  if (prints_text(json)) print_found(found);
  return Status();
}

}  // namespace quarkq::tool
