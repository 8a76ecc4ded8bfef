// SPDX-License-Identifier: MIT
// The outputs of two models over the same samples, compared sample by sample and dropped.
#pragma once

#include "metrics/accuracy.h"
#include "pipeline/model_pair.h"
#include "quarkq/evaluate.h"

namespace quarkq::pipeline {

/// Fills in the pairs, the outputs and the aggregates of the report, and the mean of the request's metric. `accuracy`
/// may be null; the paths of `request` are the names in messages. Fails as running does, with kBadData when outputs
/// have other shapes or there are no samples.
Status compare_models(const EvaluateModelsRequest& request, const ModelPair& models, metrics::AccuracyCount* accuracy,
                      EvaluateReport& report);

}  // namespace quarkq::pipeline
