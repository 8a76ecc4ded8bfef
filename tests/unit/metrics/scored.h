// SPDX-License-Identifier: MIT
// Metrics of a few results, in one call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "metrics/metric_table.h"

namespace quarkq::test {

/// A sample's name and the results of its only output.
using Scored = std::pair<std::string, ir::Tensor>;

inline Result<std::vector<double>> score(const std::vector<std::string>& names, const MetricRequest& request,
                                         const std::vector<Scored>& samples) {
  QQ_TRY(const auto chosen, metrics::choose_metrics(names));
  QQ_TRY(auto run, metrics::MetricRun::open(chosen, {request, samples.size(), false}));
  const std::vector<std::string> outputs = {"y"};
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::vector<ir::Tensor> values = {samples[i].second};
    QQ_RETURN_IF_ERROR(run.add({i, samples[i].first, outputs, values}));
  }
  QQ_TRY(const auto found, run.values());
  std::vector<double> values;
  values.reserve(found.size());
  for (const std::optional<metrics::ScoredValue>& value : found) values.push_back(value->value);
  return values;
}

}  // namespace quarkq::test
