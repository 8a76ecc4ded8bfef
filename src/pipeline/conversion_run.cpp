// SPDX-License-Identifier: MIT
#include "pipeline/conversion_run.h"

#include <cmath>

#include "base/stopwatch.h"
#include "ir/verify.h"
#include "onnx_io/check_model.h"
#include "pass/tidy_up.h"
#include "pipeline/guard.h"

namespace quarkq::pipeline {
namespace {

/// Both models on one random sample, which fits the inputs of the second one.
std::optional<double> difference_between(const ir::Model& before, const ir::Model& after, double& tolerance) {
  const Result<OutputGuard> guard = OutputGuard::on_random_sample(before, after.graph);
  if (!guard.ok()) return std::nullopt;
  tolerance = guard.value().tolerance();
  const double distance = guard.value().distance(after);
  return std::isfinite(distance) ? std::optional(distance) : std::nullopt;
}

/// What every conversion ends with: order, types, and the checks that the next one relies on.
Status settle(ir::Model& model, Diagnostics& diagnostics) {
  QQ_RETURN_IF_ERROR(pass::tidy_up(model.graph, Changed::kNo).status());
  QQ_RETURN_IF_ERROR(pass::infer_types_again(model, diagnostics).status());
  QQ_RETURN_IF_ERROR(ir::verify(model.graph));
  return onnx_io::check_model(model).context("the converted model did not pass its check");
}

Status check_strict(const ConvertedPass& done) {
  if (!done.left.empty()) return unsupported(done.left[0].node, ": ", done.left[0].reason, " (--strict)");
  if (done.changes == 0) return unsupported("found nothing to convert (--strict)");
  return Status();
}

Status check_claim(const ConversionStep& step, const ConvertedPass& done, double tolerance) {
  if (step.conversion->claim != pass::OutputClaim::kEqual || !done.difference || *done.difference <= tolerance)
    return Status();
  return internal_error("outputs differ by ", *done.difference, " of their range, allowed is ", tolerance,
                        "; nothing was written, please report this");
}

}  // namespace

Result<ConvertedPass> run_conversion(const ConversionStep& step, const ConversionRun& run) {
  const Stopwatch watch;
  const ir::Model before = run.model;  // shares the weights
  ConvertedPass done;
  done.name = step.conversion->name;
  done.claim = name(step.conversion->claim);
  done.nodes_before = before.graph.order().size();
  std::vector<pass::LeftNode> left;
  pass::ConvertContext context{run.model, step.options, run.diagnostics, left, run.files};
  QQ_TRY(done.changes, run_step(step, context));
  for (pass::LeftNode& one : left) done.left.push_back({std::move(one.node), std::move(one.reason)});
  if (run.strict) QQ_RETURN_IF_ERROR(check_strict(done));
  QQ_RETURN_IF_ERROR(settle(run.model, run.diagnostics));
  double tolerance = 0;
  if (done.changes > 0) done.difference = difference_between(before, run.model, tolerance);
  QQ_RETURN_IF_ERROR(check_claim(step, done, tolerance));
  done.nodes_after = run.model.graph.order().size();
  done.seconds = watch.seconds();
  return done;
}

}  // namespace quarkq::pipeline
