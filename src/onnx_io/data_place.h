// SPDX-License-Identifier: MIT
// Where the data file of a written model goes. Two files cannot be replaced at once, so a model that is replaced gets
// its new data under a second name first, and every file on the way is a whole model. Private to src/onnx_io.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace quarkq::onnx_io {

/// Names of data files in the folder of the model.
struct DataPlace {
  std::string location;                ///< where the data ends up: "<file name>.data" unless another model's is there
  std::optional<std::string> passing;  ///< the model that is there reads `location`: where the data goes meanwhile
  std::optional<std::string> stale;    ///< what the model that is there reads, and the new one does not
};

/// For a model at `path`. A file that the model there does not read may be another model's and is left alone: the next
/// free of "<file name>.1.data", "<file name>.2.data", ... is taken then. What the model at `input` reads, from which
/// `path` is made, is left alone, too; "" when there is none. Fails when "<file name>.data" is a folder.
Result<DataPlace> choose_data_place(const std::string& path, const std::string& input);

/// `name` in the folder of `path`.
std::string beside(const std::string& path, const std::string& name);

}  // namespace quarkq::onnx_io
