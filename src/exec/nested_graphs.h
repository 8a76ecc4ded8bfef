// SPDX-License-Identifier: MIT
// The graphs in a node's attributes, each with a session of its own that lives as long as the node's stage.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/session.h"

namespace quarkq::exec {

class NestedGraphs {
 public:
  /// `constants`: values of the enclosing graph that are known; captured ones become constants of the nested graphs.
  NestedGraphs(const ir::Node& node, const std::map<std::string, int64_t>& opsets, const RunLimits& limits,
               const std::vector<Constant>& constants);

  /// Where captured values are read from during the next run calls: by ValueId index of the enclosing graph.
  void read_captures_from(const std::vector<ir::Operand>& values) { outer_ = &values; }

  const RunLimits& limits() const { return limits_; }
  /// Null when the node has no graph attribute `name`.
  const ir::Graph* find(std::string_view name) const;
  /// REQUIRES: find(name); as many inputs as that graph has.
  Result<std::vector<ir::Operand>> run(std::string_view name, std::span<const ir::Operand> inputs);

 private:
  struct Entry {
    std::string attribute;
    const ir::Graph* graph = nullptr;
    std::vector<ir::ValueId> captured;  ///< values of the enclosing graph fed after the inputs
    std::vector<ir::ValueId> feeds;     ///< of the nested graph, in the order they are fed
    std::vector<Constant> constants;    ///< captured values that are known
    std::unique_ptr<Session> session;
  };
  void add(const ir::Node& node, const std::string& attribute, const ir::Graph& graph,
           const std::map<std::string, int64_t>& opsets, const std::vector<Constant>& constants);
  Status announce(const Entry& entry, std::span<const ir::Operand> operands) const;
  std::vector<Entry> entries_;
  RunLimits limits_;
  const std::vector<ir::Operand>* outer_ = nullptr;
};

}  // namespace quarkq::exec
