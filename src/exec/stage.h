// SPDX-License-Identifier: MIT
// A stage of a session: a program, then the nodes that need whole values, then perhaps further stages (ADR 0004).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/compile.h"
#include "exec/session.h"

namespace quarkq::exec {

/// The graphs in a node's attributes, each with a session of its own that lives as long as the node's stage.
class NestedGraphs {
 public:
  /// `constants`: values of the enclosing graph that are known; captured ones become constants of the nested graphs.
  /// `scope` must outlive the object.
  NestedGraphs(const ir::Node& node, const SessionScope& scope, const std::vector<Constant>& constants);

  /// Where captured values are read from during the next run calls: by ValueId index of the enclosing graph.
  void read_captures_from(const std::vector<ir::Operand>& values) { outer_ = &values; }

  const RunLimits& limits() const { return scope_.limits; }
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
           const std::vector<Constant>& constants);
  Status announce(const Entry& entry, std::span<const ir::Operand> operands) const;
  const SessionScope& scope_;
  std::vector<Entry> entries_;
  const std::vector<ir::Operand>* outer_ = nullptr;
};

/// What a stage starts from, independent of shapes.
struct StagePlan {
  std::vector<ir::ValueId> feeds;
  std::vector<ir::ValueId> fetches;  ///< graph results that no earlier stage made
  std::vector<ir::ValueId> taps;     ///< taps not observed yet
  std::vector<Constant> constants;
  std::vector<Layout> layouts = {};  ///< by feed: that its tensor lies in; empty: all plain
  Layout layout_of(size_t feed) const { return layouts.empty() ? Layout::kPlain : layouts[feed]; }
};

/// Kind, type and shape of a feed that a stage was compiled for.
struct FeedShape {
  ir::Operand::Kind kind = ir::Operand::Kind::kNone;
  ElementType type = ElementType::kUndefined;
  ir::Shape dims;  ///< in memory order

  static FeedShape of(const ir::Operand& operand);
  bool fits(const ir::Operand& operand) const;
  bool operator==(const FeedShape& other) const = default;
};

/// What runs an operator without a kernel, for one set of input types and shapes: the session of its function body, or
/// another runtime.
struct BodySession {
  std::vector<FeedShape> shapes;
  std::shared_ptr<const ir::Model> body;
  std::unique_ptr<Session> session;
  std::unique_ptr<ForeignNode> foreign;

  bool is_made() const { return session != nullptr || foreign != nullptr; }
};

/// A node that runs between two stages.
class DeferredStep {
 public:
  /// `graph` and `scope` must outlive the step.
  DeferredStep(Deferred deferred, const ir::Graph& graph, const SessionScope& scope,
               const std::vector<Constant>& constants);

  /// Reads the node's inputs in `values` (by ValueId index) and puts its outputs there.
  Status run(std::vector<ir::Operand>& values);
  const ir::Node& node() const { return *deferred_.node; }

 private:
  Result<std::vector<ir::Operand>> run_prepared_now(const std::vector<const ir::Operand*>& inputs) const;
  Result<std::vector<ir::Operand>> run_body(const std::vector<ir::Operand>& values);
  Status make_body(const std::vector<const ir::Operand*>& operands);
  Status make_foreign(const std::vector<const ir::Operand*>& operands);
  Result<std::vector<ir::Operand>> run_foreign(const std::vector<const ir::Operand*>& operands) const;

  Deferred deferred_;
  const ir::Graph& graph_;
  const SessionScope& scope_;
  std::vector<ir::ValueId> body_inputs_;  ///< function body: present inputs, then captures
  std::vector<bool> body_constant_;       ///< by body input: known when the stage was made
  std::unique_ptr<NestedGraphs> graphs_;
  BodySession body_;
};

struct Stage {
  Stage() = default;
  ~Stage();                       ///< the chain below it is taken apart step by step: it may be long
  std::vector<FeedShape> shapes;  ///< of StagePlan::feeds
  Compiled compiled;
  std::vector<DeferredStep> steps;
  std::shared_ptr<const StagePlan> next_plan;  ///< null: there is nothing left
  StageCache next;
};

}  // namespace quarkq::exec
