// SPDX-License-Identifier: MIT
// Which result files of two folders belong together, and what is in them.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ir/tensor.h"

namespace quarkq::pipeline {

/// Two files with the same path below their folders.
struct ResultPair {
  std::string name;  ///< that path, with '/'
  std::string baseline_path, quantized_path;
  bool is_missing = false;  ///< there is no quantized file
  bool is_image = false;    ///< .png, .jpg, .jpeg; else .npy
};

struct ResultPairs {
  std::vector<ResultPair> pairs;   ///< files of a folder in natural order, then its folders
  std::vector<std::string> extra;  ///< files that only the quantized folder has
};

/// The results below the baseline folder and their partners. One of the folders may be inside the other, links may lead
/// back. `only_top`: files in the folder itself, where there are any (the reference looks no deeper). Fails with
/// kBadData when a folder is missing or the baseline has no results.
Result<ResultPairs> find_result_pairs(const std::string& baseline_folder, const std::string& quantized_folder,
                                      bool only_top);

/// Both arrays of a pair; images as uint8 [H, W, 3]. Fails with kBadData when one is missing or cannot be read.
struct ResultArrays {
  ir::Tensor baseline, quantized;
};
Result<ResultArrays> read_result_pair(const ResultPair& pair);

}  // namespace quarkq::pipeline
