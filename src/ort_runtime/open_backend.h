// SPDX-License-Identifier: MIT
// ONNX Runtime as what runs whole float models, with one of its execution providers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/environment.h"

namespace quarkq::ort_runtime {

struct BackendOptions {
  std::string provider = "cpu";        ///< in lower case, without "executionprovider"
  std::vector<std::string> libraries;  ///< with operators of the user's
  int threads = 1;                     ///< of one operator
};

/// Fails as open_operators(), and with kInvalidArgument when this ONNX Runtime lacks the provider; the message names
/// those it has.
Result<std::shared_ptr<const exec::Backend>> open_backend(const BackendOptions& options);

}  // namespace quarkq::ort_runtime
