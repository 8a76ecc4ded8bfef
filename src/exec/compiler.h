// SPDX-License-Identifier: MIT
// Compiler: one compilation. compile.cpp adds the nodes, finish.cpp returns the program. Four classes decide the rest:
// ValueTable (constants, slots, layouts), Fuser, BufferPlanner and Segmenter.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "exec/buffer_planner.h"
#include "exec/compile.h"
#include "exec/fuser.h"
#include "exec/integer_operands.h"
#include "exec/program.h"
#include "exec/segmenter.h"
#include "exec/value_table.h"

namespace quarkq::exec {

class Compiler {
 public:
  Compiler(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const CompileRequest& request);

  Result<Compiled> compile();

 private:
  using When = ValueTable::When;

  // compile.cpp
  Status bind_feeds();
  std::vector<bool> needed_nodes() const;
  Status add_node(const ir::Node& node);
  Status add_static(const ir::Node& node, const OpDef& op);
  Status add_known(const ir::Node& node, const OpDef& op);
  /// Returns true if the node, with its DQ if it is a Q, became one step.
  bool add_quantize_pair(const ir::Node& node);
  void hold_results(const ir::Node& node, std::vector<ir::Tensor> results);
  Status add_step(const ir::Node& node, Prepare& prepare, Kernel kernel, const std::vector<Bound>& inputs,
                  const std::vector<ir::ValueId>& outputs);
  void defer(const ir::Node& node, const OpDef* op);
  void make_later(const ir::Node& node);
  void cut(std::span<const ir::NodeId> left);
  void tap(ir::ValueId value, int step);
  int64_t opset_of(const ir::Node& node) const { return exec::opset_of(opsets_, node.domain); }

  // finish.cpp
  Result<Compiled> finish();
  Status choose_fetches();
  void bind_fetches();
  void bind_result(const ValueTable::Entry& source, Layout layout, int slot);
  BufferPlan plan() const;
  void allocate(const BufferPlan& plan);
  void place(const BufferPlan& plan, std::byte* memory);
  std::vector<bool> slots_in_use() const;
  void own_constants(const std::vector<bool>& used);
  void leave_out_feeds(const std::vector<bool>& used);

  const ir::Graph& graph_;
  const std::map<std::string, int64_t>& opsets_;
  const CompileRequest& request_;
  Compiled compiled_;
  Program& program_ = compiled_.program;
  ValueTable values_;
  Fuser fuser_;
  IntegerNodes integers_;
  Segmenter segmenter_;
  std::vector<bool> done_;             ///< Already part of a fusion, by node.
  std::vector<bool> tapped_;           ///< Values with a tap, by value.
  std::vector<ir::NodeId> postponed_;  ///< Deferred nodes and the nodes after them.
  std::vector<InPlace> in_place_;
  size_t scratch_bytes_ = 0;
  int64_t result_bytes_ = 0;
  std::vector<Spec> result_specs_;  ///< Type, dims and layout of the program's results.
};

}  // namespace quarkq::exec
