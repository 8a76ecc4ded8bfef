// SPDX-License-Identifier: MIT
// Which result files of two folders belong together.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::pipeline {

/// Two files with the same name below their folders.
struct ResultPair {
  std::string name;  ///< "<file>" or "<output>/<file>"
  std::string baseline_path, quantized_path;
};

/// The pairs, sorted by folder and file name: DIR/*.npy, or DIR/<output>/*.npy when the baseline folder itself has
/// none. Fails with kBadData when a folder or a file is missing, or when there is nothing to pair.
Result<std::vector<ResultPair>> find_result_pairs(const std::string& baseline_folder,
                                                  const std::string& quantized_folder);

/// Both arrays of a pair. Fails with kBadData when one cannot be read, is empty, or when their shapes differ.
struct ResultArrays {
  ir::Tensor baseline, quantized;
};
Result<ResultArrays> read_result_pair(const ResultPair& pair);

}  // namespace quarkq::pipeline
