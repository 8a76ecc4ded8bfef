// SPDX-License-Identifier: MIT
#include "pipeline/not_finite.h"

#include <algorithm>

#include "pipeline/facts.h"

namespace quarkq::pipeline {

void note_not_finite(EvaluateReport& report) {
  const auto differs = [](const PairMetrics& pair) { return pair.different_not_finite > 0; };
  const auto first = std::ranges::find_if(report.pairs, differs);
  if (first == report.pairs.end()) return;
  uint64_t values = 0;
  for (const PairMetrics& pair : report.pairs) values += pair.different_not_finite;
  const auto pairs = std::ranges::count_if(report.pairs, differs);
  report.findings.push_back(finding("output-not-finite", first->file,
                                    cat(values, " values in ", pairs, " of ", report.pairs.size(),
                                        " pairs are NaN or infinite on one side only; the first pair is named")));
}

}  // namespace quarkq::pipeline
