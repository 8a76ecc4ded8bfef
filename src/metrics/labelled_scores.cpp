// SPDX-License-Identifier: MIT
#include "metrics/labelled_scores.h"

#include "metrics/ranks.h"

namespace quarkq::metrics {

Result<LabelledReader> LabelledReader::open(const ScoringOptions& options) {
  LabelledReader reader;
  reader.output_ = options.request.output;
  QQ_TRY(reader.labels_, Labels::read(options.request.truth_path));
  QQ_RETURN_IF_ERROR(reader.labels_.share_out(options.samples, options.is_part));
  return reader;
}

Result<LabelledScores> LabelledReader::read(const SampleResults& results) const {
  LabelledScores read;
  QQ_TRY(const ir::Tensor* scores, results_of(results, output_));
  QQ_TRY(read.labels, labels_.of(results.number, results.name));
  QQ_TRY(read.classes, classes_for(scores->dims(), read.labels));
  QQ_TRY(read.values, ir::to_double(*scores));
  return read;
}

}  // namespace quarkq::metrics
