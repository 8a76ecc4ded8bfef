// SPDX-License-Identifier: MIT
// quarkq check: the limits of an NPU, looked up in a quantized model; with a target, what of a model would run there;
// with a compiler's report, what ran there.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/strings.h"
#include "config/targets/target.h"
#include "pipeline/report/check_target.h"
#include "quarkq/check.h"
#include "target_text.h"
#include "terminal.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct CheckArgs {
  std::string model_path, json, html, min_npu;
  std::vector<std::string> requirements;
  std::vector<std::string> ep_reports;
  std::string learned;  ///< Path of the target file to write.
  SeenOn seen;
  TargetCheckOptions options{.target = kPositionLimits};
};

std::string allowed_text(const LimitViolation& violation) {
  if (!violation.has_limits) return "a power of two";
  return violation.low == violation.high ? cat(violation.low) : cat(violation.low, " to ", violation.high);
}

void print_text(const CheckReport& report) {
  for (const LimitViolation& violation : report.violations) {
    say("%-20s %s: %s is %s, allowed is %s\n%-20s tensor %s; %s\n", violation.rule.c_str(),
        violation.node.empty() ? "any node" : violation.node.c_str(), violation.measure.c_str(),
        cat(violation.found).c_str(), allowed_text(violation).c_str(), "", violation.tensor.c_str(),
        violation.remedy.c_str());
  }
  if (report.violations.empty()) {
    say("%s keeps all limits of %s: %zu nodes, %zu quantized tensors\n", report.model_path.c_str(),
        report.target.c_str(), report.nodes, report.quantized_tensors);
  }
  if (!report.deployable) {
    print_line("not looked at: what a compiler takes of this model, pass --target NAME (quarkq list targets)");
    return;
  }
  const Deployability& deployable = *report.deployable;
  print_line(text(deployable));
  print_line(cat("not looked at: other compilers, and every node and cause (quarkq check --target ", deployable.target,
                 " ", report.model_path, "); accuracy (quarkq evaluate)"));
}

Status check_limits(const CheckArgs& args) {
  const bool has_more = !args.html.empty() || !args.min_npu.empty() || args.options.max_partitions >= 0;
  if (has_more)
    return invalid_argument(
        "--report, --min-npu, --max-partitions: need --target with a name of `quarkq list targets`, or --ep-report");
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json));
  QQ_TRY(const CheckReport report, check(args.model_path, args.options.target));
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  if (args.json != kStdout) print_text(report);
  if (!args.requirements.empty()) QQ_RETURN_IF_ERROR(pipeline::check_deployable(report.deployable));
  if (report.violations.empty()) return Status();
  return Status(Code::kNpuLimit,
                cat(args.model_path, ": ", report.violations.size(),
                    report.violations.size() == 1 ? " limit" : " limits", " of ", report.target, " violated"));
}

Status check_target_name(const std::string& name) {
  std::vector<std::string> known = config::target_names();
  known.emplace_back(kPositionLimits);
  if (std::ranges::find(known, name) != known.end() || paths::exists(name)) return {};
  return invalid_argument("--target: found ", name, ", allowed are a target file, ", join(known, ", "),
                          did_you_mean(name, known));
}

/// The files that a check on a target writes.
struct Outputs {
  TextOutput json, html;

  static Result<Outputs> open(const CheckArgs& args) {
    if (args.html == kStdout) return invalid_argument("--report: found -, allowed is a file");
    QQ_TRY(TextOutput json, TextOutput::open(args.json));
    QQ_TRY(TextOutput html, TextOutput::open(args.html));
    return Outputs{std::move(json), std::move(html)};
  }

  template <typename Report>
  Status write(const Report& report) {
    QQ_RETURN_IF_ERROR(json.write(to_json(report)));
    return html.write(html_page(report));
  }
};

Status check_goals(const CheckArgs& args, const std::vector<std::string>& missed) {
  if (missed.empty()) return Status();
  return Status(Code::kNpuLimit, cat(args.model_path, ": ", join(missed, "; ")));
}

Status check_on_target(CheckArgs args) {
  QQ_RETURN_IF_ERROR(check_target_name(args.options.target));
  if (!args.min_npu.empty()) {
    QQ_TRY(args.options.min_npu, share_of("--min-npu", args.min_npu));
  }
  QQ_TRY(Outputs outputs, Outputs::open(args));
  QQ_TRY(const TargetReport report, check_target(args.model_path, args.options));
  QQ_RETURN_IF_ERROR(outputs.write(report));
  if (args.json != kStdout) print_target_report(report);
  if (!args.requirements.empty()) QQ_RETURN_IF_ERROR(pipeline::check_deployable(deployability(report)));
  return check_goals(args, report.missed);
}

Status check_compiled(CheckArgs args) {
  QQ_RETURN_IF_ERROR(check_target_name(args.options.target));
  QQ_RETURN_IF_ERROR(check_is_file("--learn", args.learned));
  if (!args.min_npu.empty()) {
    QQ_TRY(args.options.min_npu, share_of("--min-npu", args.min_npu));
  }
  QQ_TRY(Outputs outputs, Outputs::open(args));
  QQ_TRY(TextOutput learned, TextOutput::open(args.learned));
  QQ_TRY(const EpReport report, check_ep_report(args.model_path, {args.options, args.ep_reports}));
  if (learned.is_open()) {
    QQ_TRY(const std::string facts, learned_target(report, args.seen, args.learned));
    QQ_RETURN_IF_ERROR(learned.write(facts));
  }
  QQ_RETURN_IF_ERROR(outputs.write(report));
  if (args.json != kStdout) print_ep_report(report);
  if (!args.requirements.empty()) QQ_RETURN_IF_ERROR(pipeline::check_deployable(deployability(report.predicted)));
  return check_goals(args, report.missed);
}

Status run_check(const CheckArgs& args) {
  if (!args.ep_reports.empty()) return check_compiled(args);
  const bool has_seen = !args.seen.device.empty() || !args.seen.driver.empty() || !args.seen.compiler.empty();
  if (!args.learned.empty() || has_seen)
    return invalid_argument("--learn, --device, --driver, --compiler: need --ep-report with a report of the compiler");
  return args.options.target == kPositionLimits ? check_limits(args) : check_on_target(args);
}

void add_ep_report_options(CLI::App& app, CheckArgs& args) {
  app.add_option("--ep-report", args.ep_reports,
                 "What the compiler reported: vitisai_ep_report.json, context.json, partition files or its log; goals "
                 "then apply to it")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--learn", args.learned, "Also a target file with the facts that --ep-report shows, for --target")
      ->type_name("FILE.yaml");
  app.add_option("--device", args.seen.device, "Device of --ep-report, for --learn")->type_name("NAME");
  app.add_option("--driver", args.seen.driver, "Version of its driver, for --learn")->type_name("VERSION");
  app.add_option("--compiler", args.seen.compiler, "Version of the compiler, for --learn (default: as in the files)")
      ->type_name("VERSION");
}

}  // namespace

Run setup_check(CLI::App& app) {
  auto args = std::make_shared<CheckArgs>();
  app.add_option("MODEL", args->model_path,
                 cat("Quantized ONNX model; with a target other than ", kPositionLimits, " also a float one"))
      ->required();
  app.add_option(
         "--target", args->options.target,
         cat(kPositionLimits,
             ": limits of positions; else what would run there: a name of `quarkq list targets`, or a target file"))
      ->type_name("NAME|FILE")
      ->capture_default_str();
  app.add_option("--min-npu", args->min_npu,
                 "Goal: share of the nodes on the NPU, for example 95%; exit code 6 below it")
      ->type_name("SHARE");
  app.add_option("--max-partitions", args->options.max_partitions, "Goal: most regions; exit code 6 above it")
      ->check(CLI::NonNegativeNumber);
  add_deployable_gate(app, args->requirements);
  app.add_option("--report", args->html, "Also an HTML page with the regions of the graph")->type_name("FILE.html");
  add_json_option(app, args->json);
  add_ep_report_options(app, *args);
  return [args] { return run_check(*args); };
}

}  // namespace quarkq::tool
