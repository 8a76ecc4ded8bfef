// SPDX-License-Identifier: MIT
#include "pipeline/conversion_run.h"

#include <cmath>

#include "base/stopwatch.h"
#include "ir/verify.h"
#include "onnx_io/check_model.h"
#include "pass/output_guard.h"
#include "pass/tidy_up.h"

namespace quarkq::pipeline {
namespace {

/// Runs both models on one random sample, which fits the inputs of the second one. Returns nullopt if the first one
/// cannot be run, and infinity as pass::OutputGuard::distance() does.
std::optional<double> difference_between(const ir::Model& before, const ir::Model& after, double& tolerance) {
  const Result<pass::OutputGuard> guard = pass::OutputGuard::on_random_sample(before, after.graph);
  if (!guard.ok()) return std::nullopt;
  tolerance = guard.value().tolerance();
  return guard.value().distance(after);
}

/// What every conversion ends with: order, types, and the checks that the next one relies on.
Status settle(ir::Model& model, Diagnostics& diagnostics) {
  QQ_RETURN_IF_ERROR(pass::tidy_up(model.graph, Changed::kNo).status());
  QQ_RETURN_IF_ERROR(pass::infer_types_again(model, diagnostics).status());
  QQ_RETURN_IF_ERROR(ir::verify(model.graph));
  return onnx_io::check_result(model, diagnostics).context("the converted model did not pass its check");
}

Status check_strict(const ConvertedPass& done) {
  if (!done.left.empty()) return unsupported(done.left[0].node, ": ", done.left[0].reason, " (--strict)");
  if (done.changes == 0) return unsupported("found nothing to convert (--strict)");
  return Status();
}

Status check_claim(const ConversionStep& step, std::optional<double> difference, double tolerance) {
  if (step.conversion->claim != pass::OutputClaim::kEqual || !difference || *difference <= tolerance) return Status();
  if (!std::isfinite(*difference))
    return internal_error(
        "the result cannot be run, or its outputs have other shapes, types or infinities; nothing was "
        "written, please report this");
  return internal_error("outputs differ by ", *difference, " of their range, allowed is ", tolerance,
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
  std::optional<double> difference;
  if (done.changes > 0) difference = difference_between(before, run.model, tolerance);
  QQ_RETURN_IF_ERROR(check_claim(step, difference, tolerance));
  if (difference && std::isfinite(*difference)) done.difference = difference;
  done.nodes_after = run.model.graph.order().size();
  done.seconds = watch.seconds();
  return done;
}

}  // namespace quarkq::pipeline
