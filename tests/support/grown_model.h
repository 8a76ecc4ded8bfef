// SPDX-License-Identifier: MIT
// A random graph of some operators as a model with inferred types.
#pragma once

#include <gtest/gtest.h>

#include "onnx_io/infer.h"
#include "support/random_graph.h"

namespace quarkq::test {

/// Grows `graph` by `operators`, closes it and copies it into `model`. A graph that cannot grow is a fatal failure.
inline void grow_model(RandomGraph& graph, int operators, ir::Model& model) {
  for (int i = 0; i < operators; ++i) ASSERT_TRUE(graph.grow()) << graph.failure();
  graph.close();
  model = graph.model();
  Diagnostics ignored;
  ASSERT_TRUE(onnx_io::infer_types(model, ignored).ok());
}

}  // namespace quarkq::test
