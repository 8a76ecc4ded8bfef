// SPDX-License-Identifier: MIT
// Outputs on single samples for the report: how close they are, and pictures of those that are images.
#pragma once

#include "pipeline/compare.h"
#include "pipeline/json.h"
#include "quarkq/quantize.h"

namespace quarkq::pipeline {

/// Adds the result, with a picture when it is an image and there are not enough of that output yet.
void add_sample(const SampleResult& result, ReportDetails& details);

Json samples_json(const std::vector<SampleAgreement>& samples);
/// Pixels as hexadecimal text, two digits per value.
Json pictures_json(const std::vector<OutputPicture>& pictures);

}  // namespace quarkq::pipeline
