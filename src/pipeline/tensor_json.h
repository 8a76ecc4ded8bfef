// SPDX-License-Identifier: MIT
// Agreement and formats of tensors as JSON, for the reports that list them.
#pragma once

#include <vector>

#include "pipeline/json.h"
#include "quarkq/inspect.h"

namespace quarkq::pipeline {

inline Json tensors_json(const std::vector<TensorAgreement>& tensors) {
  Json all = Json::array();
  for (const TensorAgreement& tensor : tensors) {
    all.push_back({{"name", tensor.name},
                   {"node", tensor.node},
                   {"sqnr_db", decibels(tensor.sqnr_db)},
                   {"written_db", decibels(tensor.written_db)},
                   {"inputs_db", decibels(tensor.inputs_db)},
                   {"masked", tensor.is_masked}});
  }
  return all;
}

/// Formats, as `quarkq inspect --scales` lists them.
inline Json quantized_json(const std::vector<QuantizedTensor>& tensors) {
  Json list = Json::array();
  for (const QuantizedTensor& tensor : tensors) {
    Json scales = Json::array(), zero_points = Json::array(), positions = Json::array();
    for (const double scale : tensor.scales) {
      const std::optional<int> position = position_of(scale);
      scales.push_back(number(scale));
      positions.push_back(position ? Json(*position) : Json(nullptr));
    }
    for (const double zero_point : tensor.zero_points) zero_points.push_back(number(zero_point));
    list.push_back({{"tensor", tensor.name},
                    {"kind", tensor.kind},
                    {"type", tensor.type},
                    {"axis", tensor.axis < 0 ? Json(nullptr) : Json(tensor.axis)},
                    {"scales", scales},
                    {"zero_points", zero_points},
                    {"positions", positions}});
  }
  return list;
}

}  // namespace quarkq::pipeline
