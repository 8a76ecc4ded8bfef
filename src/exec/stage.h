// SPDX-License-Identifier: MIT
// A stage of a session: a program, then the nodes that need whole values, then possibly further stages (ADR 0004).
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

/// The graphs in a node's attributes, each with its own session that exists as long as the node's stage.
class NestedGraphs {
 public:
  /// `constants` are known values of the enclosing graph. Captured ones become constants of the nested graphs.
  /// `scope` must outlive the object.
  NestedGraphs(const ir::Node& node, const SessionScope& scope, const std::vector<Constant>& constants);

  /// Sets the captured values for the next run calls, by ValueId index of the enclosing graph.
  void read_captures_from(const std::vector<ir::Operand>& values) { outer_ = &values; }

  const RunLimits& limits() const { return scope_.limits; }
  /// Returns null if the node has no graph attribute `name`.
  const ir::Graph* find(std::string_view name) const;
  /// REQUIRES: find(name); as many inputs as the graph has.
  Result<std::vector<ir::Operand>> run(std::string_view name, std::span<const ir::Operand> inputs);

 private:
  struct Entry {
    std::string attribute;
    const ir::Graph* graph = nullptr;
    std::vector<ir::ValueId> captured;  ///< Values of the enclosing graph, fed after the inputs.
    std::vector<ir::ValueId> feeds;     ///< Values of the nested graph, in the order in which they are fed.
    std::vector<Constant> constants;    ///< Captured values that are known.
    std::unique_ptr<Session> session;
  };
  void add(const ir::Node& node, const std::string& attribute, const ir::Graph& graph,
           const std::vector<Constant>& constants);
  Status announce(const Entry& entry, std::span<const ir::Operand> operands) const;
  const SessionScope& scope_;
  std::vector<Entry> entries_;
  const std::vector<ir::Operand>* outer_ = nullptr;
};

/// Inputs of a stage that do not depend on shapes.
struct StagePlan {
  std::vector<ir::ValueId> feeds;
  std::vector<ir::ValueId> fetches;  ///< Graph results that no earlier stage computed.
  std::vector<ir::ValueId> taps;     ///< Taps not observed yet.
  std::vector<Constant> constants;
  std::vector<Layout> layouts = {};  ///< Layout of the tensor, by feed; empty: all plain.
  Layout layout_of(size_t feed) const { return layouts.empty() ? Layout::kPlain : layouts[feed]; }
};

/// Kind, type and shape of a feed for which a stage was compiled.
struct FeedShape {
  ir::Operand::Kind kind = ir::Operand::Kind::kNone;
  ElementType type = ElementType::kUndefined;
  ir::Shape dims;  ///< In memory order.

  static FeedShape of(const ir::Operand& operand);
  bool fits(const ir::Operand& operand) const;
  bool operator==(const FeedShape& other) const = default;
};

/// Runs an operator without a kernel, for one set of input types and shapes: the session of its function body, or
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

  /// Reads the node's inputs from `values` (by ValueId index) and stores its outputs there.
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
  std::vector<ir::ValueId> body_inputs_;  ///< Function body: inputs that are not omitted, then captures.
  std::vector<bool> body_constant_;       ///< Whether a body input was known when the stage was created.
  std::unique_ptr<NestedGraphs> graphs_;
  BodySession body_;
};

struct Stage {
  Stage() = default;
  ~Stage();                       ///< Destroys the chain of next stages iteratively, because it may be long.
  std::vector<FeedShape> shapes;  ///< Shapes of StagePlan::feeds.
  Compiled compiled;
  std::vector<DeferredStep> steps;
  std::shared_ptr<const StagePlan> next_plan;  ///< The next stage, or null if nothing is left.
  StageCache next;
};

}  // namespace quarkq::exec
