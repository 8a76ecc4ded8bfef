// SPDX-License-Identifier: MIT
// One node as a model that a session compiles and runs: with the layouts, fusions and packed weights of real use.
#pragma once

#include "exec/session.h"
#include "ir/edit.h"
#include "support/op_checks.h"

namespace quarkq::test {

struct NodeRun {
  std::string op;
  std::vector<ir::Attribute> attributes;
  size_t constants_from = 1;  ///< inputs from this one on are initializers, those before it are fed
  int64_t opset = 17;
};

/// The first output. An undefined tensor among `inputs` is an absent optional input.
inline Result<ir::Tensor> run_node(const NodeRun& run, const std::vector<ir::Tensor>& inputs) {
  ir::Model model;
  model.opsets[""] = run.opset;
  ir::GraphEdit edit(model.graph);
  std::vector<ir::ValueId> ids;
  std::vector<ir::Tensor> fed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ids.emplace_back();
    if (!inputs[i].is_defined()) continue;
    ids.back() = edit.add_value(cat("input_", i));
    if (i >= run.constants_from) {
      edit.set_constant(ids.back(), inputs[i]);
    } else {
      edit.add_graph_input(ids.back());
      fed.push_back(inputs[i]);
    }
  }
  const ir::ValueId y = edit.add_value("y");
  edit.add_node({run.op, "", "under_test", ids, {y}, run.attributes});
  edit.add_graph_output(y);
  exec::Session session(model, {}, {});
  QQ_TRY(const std::vector<ir::Tensor>* const results, session.run(fed));
  return (*results)[0];
}

}  // namespace quarkq::test
