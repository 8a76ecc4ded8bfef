// SPDX-License-Identifier: MIT
// ONNX Runtime as the backend for whole float models, with one of its execution providers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/environment.h"

namespace quarkq::ort_runtime {

struct BackendOptions {
  std::string provider = "cpu";        ///< In lower case, without "executionprovider".
  std::vector<std::string> libraries;  ///< Libraries with operators of the user.
  int threads = 1;                     ///< Number of threads of one operator.
};

/// Opens the backend. Fails for the reasons of open_operators(), and with kInvalidArgument if ONNX Runtime does not
/// have the provider; the message names the available providers.
Result<std::shared_ptr<const exec::Backend>> open_backend(const BackendOptions& options);

}  // namespace quarkq::ort_runtime
