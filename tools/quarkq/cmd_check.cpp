// SPDX-License-Identifier: MIT
// quarkq check: the limits of an NPU, looked up in a quantized model.
#include <cstdio>
#include <memory>

#include "quarkq/check.h"
#include "verb.h"

namespace quarkq::tool {
namespace {

struct CheckArgs {
  std::string model_path, target = "xint8", json;
};

std::string allowed_text(const LimitViolation& violation) {
  if (!violation.has_limits) return "a power of two";
  return violation.low == violation.high ? cat(violation.low) : cat(violation.low, " to ", violation.high);
}

void print_text(const CheckReport& report) {
  for (const LimitViolation& violation : report.violations) {
    std::printf("%-20s %s: %s is %s, allowed is %s\n%-20s tensor %s; %s\n", violation.rule.c_str(),
                violation.node.empty() ? "any node" : violation.node.c_str(), violation.measure.c_str(),
                cat(violation.found).c_str(), allowed_text(violation).c_str(), "", violation.tensor.c_str(),
                violation.remedy.c_str());
  }
  if (report.violations.empty()) {
    std::printf("%s keeps all limits of %s: %zu nodes, %zu quantized tensors\n", report.model_path.c_str(),
                report.target.c_str(), report.nodes, report.quantized_tensors);
  }
}

Status run_check(const CheckArgs& args) {
  QQ_TRY(TextOutput json_file, TextOutput::open(args.json, {args.model_path}));
  QQ_TRY(const CheckReport report, check(args.model_path, args.target));
  if (json_file.is_open()) QQ_RETURN_IF_ERROR(json_file.write(to_json(report)));
  if (args.json != kStdout) print_text(report);
  if (report.violations.empty()) return Status();
  return Status(Code::kNpuLimit,
                cat(args.model_path, ": ", report.violations.size(),
                    report.violations.size() == 1 ? " limit" : " limits", " of ", report.target, " violated"));
}

}  // namespace

Run setup_check(CLI::App& app) {
  auto args = std::make_shared<CheckArgs>();
  app.add_option("MODEL", args->model_path, "Quantized ONNX model")->required();
  app.add_option("--target", args->target, "Whose limits: xint8")->capture_default_str();
  add_json_option(app, args->json);
  return [args] { return run_check(*args); };
}

}  // namespace quarkq::tool
