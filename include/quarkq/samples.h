// SPDX-License-Identifier: MIT
// Samples from the caller's memory instead of a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quarkq/status.h"

namespace quarkq {

/// One input of one sample. The caller's memory is copied before the callback is called again.
struct SampleTensor {
  std::string name;           ///< of the model input; may be empty when the model has one input
  std::string type;           ///< ONNX name: "FLOAT", "UINT8", "INT64", ...
  std::vector<int64_t> dims;  ///< in ONNX order; a missing batch dimension is added
  const void* data = nullptr;
  size_t bytes = 0;  ///< of `data`: elements times the element's size
};

/// Samples by number. `read` may be asked for a sample more than once (the guards and the comparison read some again)
/// and is never called twice at once. An error that it returns ends the run with that error.
struct SampleSource {
  size_t count = 0;
  std::function<Result<std::vector<SampleTensor>>(size_t index)> read = {};

  explicit operator bool() const { return static_cast<bool>(read); }
};

}  // namespace quarkq
