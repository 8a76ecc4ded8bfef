// SPDX-License-Identifier: MIT
#include "pipeline/compare.h"

#include "exec/session.h"
#include "pipeline/metrics.h"
#include "pipeline/runner.h"

namespace quarkq::pipeline {
namespace {

Result<std::vector<ir::Tensor>> run_once(ir::Model model, const calib::Sample& sample, Diagnostics& diagnostics) {
  QQ_RETURN_IF_ERROR(prepare_for_run(model, diagnostics));
  exec::Session session(model, {});
  QQ_TRY(const std::vector<ir::Tensor>* const results, session.run(sample.inputs));
  return *results;
}

}  // namespace

Result<std::vector<OutputAgreement>> compare_outputs(const ir::Model& reference, const ir::Model& quantized,
                                                     const calib::DataReader& data, Diagnostics& diagnostics) {
  QQ_TRY(const calib::Sample sample, data.read(0));
  Diagnostics ignored;
  QQ_TRY(const std::vector<ir::Tensor> expected, run_once(reference, sample, ignored));
  QQ_TRY(const std::vector<ir::Tensor> found, run_once(quantized, sample, ignored));
  std::vector<OutputAgreement> outputs;
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string& name = reference.graph.value(reference.graph.outputs()[i]).name;
    if (!is_floating(expected[i].type())) continue;
    if (expected[i].dims() != found[i].dims()) {
      diagnostics.warn("shape-changed", name,
                       cat("float ", shape_text(expected[i].dims()), ", quantized ", shape_text(found[i].dims())));
      continue;
    }
    QQ_TRY(const std::vector<double> a, ir::to_double(expected[i]));
    QQ_TRY(const std::vector<double> b, ir::to_double(found[i]));
    outputs.push_back({name, cosine(a, b), sqnr_db(a, b)});
  }
  return outputs;
}

}  // namespace quarkq::pipeline
