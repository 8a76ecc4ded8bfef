// SPDX-License-Identifier: MIT
// Runs a model on a few samples, several at once; segment by segment below a ceiling on memory.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"

namespace quarkq::pipeline {

class SampleRunner {
 public:
  /// Both are called once for each sample, from several threads at once, in any order; for one sample in this order.
  using Inputs = std::function<Result<std::vector<ir::Tensor>>(size_t index)>;
  using Results = std::function<Status(size_t index, const std::vector<ir::Tensor>& results)>;

  /// `model` must outlive the runner; `samples` will be run in all.
  SampleRunner(const ir::Model& model, size_t samples);

  /// The samples from `begin` on, `end` left out. Of several failures that of the lowest index counts.
  Status run(size_t begin, size_t end, const Inputs& inputs, const Results& results);

 private:
  std::vector<std::unique_ptr<exec::Session>> sessions_;
};

}  // namespace quarkq::pipeline
