// SPDX-License-Identifier: MIT
// Runs a model on a few samples, several at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"

namespace quarkq::pipeline {

class SampleRunner {
 public:
  /// Called for each sample, from several threads at once, in any order.
  using Run = std::function<Status(exec::Session& session, size_t index)>;

  /// `model` must outlive the runner; `samples` will be run in all.
  SampleRunner(const ir::Model& model, size_t samples);

  /// The samples from `begin` on, `end` left out. Of several failures that of the lowest index counts.
  Status run(size_t begin, size_t end, const Run& one);

 private:
  std::vector<std::unique_ptr<exec::Session>> sessions_;
};

}  // namespace quarkq::pipeline
