// SPDX-License-Identifier: MIT
// Session: a model ready to run for whatever input shapes come: one program per set of shapes, made when first seen.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "exec/compile.h"
#include "ir/graph.h"

namespace quarkq::exec {

struct SessionOptions {
  std::vector<ir::ValueId> fetches;  ///< empty: the graph's outputs
  std::vector<ir::ValueId> taps;
  int64_t max_memory = 0;
};

class Session {
 public:
  /// `model` must outlive the session.
  Session(const ir::Model& model, SessionOptions options);

  /// Runs one sample: a tensor per required graph input, in order. Results are valid until the next run.
  Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs, TapSink* sink = nullptr);

  /// Bytes of intermediate values of the largest program so far.
  size_t arena_bytes() const;

 private:
  struct Entry {
    std::vector<ir::Shape> shapes;
    std::unique_ptr<Program> program;
  };
  Result<Program*> program_for(std::span<const ir::Tensor> inputs);
  const ir::Model& model_;
  SessionOptions options_;
  std::list<Entry> programs_;  ///< most recently used first, at most kMaxPrograms
};

}  // namespace quarkq::exec
