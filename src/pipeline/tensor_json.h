// SPDX-License-Identifier: MIT
// Agreement of tensors as JSON, for the reports that list them.
#pragma once

#include <vector>

#include "pipeline/json.h"

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

}  // namespace quarkq::pipeline
