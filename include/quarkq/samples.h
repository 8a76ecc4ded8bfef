// SPDX-License-Identifier: MIT
// Tensors that pass between the caller's memory and the library: samples instead of a folder, results instead of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quarkq/status.h"

namespace quarkq {

/// One tensor of one sample: an input that the caller gives, or an output that it gets. The memory of an input is
/// copied before the callback is called again; that of an output is valid during the call.
struct SampleTensor {
  std::string name;           ///< of the model's input or output; may be empty when the model has one input
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

/// A figure of the caller's own, higher is better: how good `found`, the outputs of the quantized model on sample
/// number `sample`, are beside `expected`, those of the float model.
using Metric = std::function<Result<double>(size_t sample, const std::vector<SampleTensor>& expected,
                                            const std::vector<SampleTensor>& found)>;

}  // namespace quarkq
