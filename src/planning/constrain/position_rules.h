// SPDX-License-Identifier: MIT
// The table of NPU limits on fixed-point positions (ref:npu#position-rules). A sweep of a rule moves every position
// that violates it. A dry sweep only lists these moves; `quarkq check` finds violations with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/quant_plan.h"
#include "planning/mark/annotated.h"

namespace quarkq::planning {

/// Fixed-point positions of a plan: scale = 2^-position. Finds them around a node like the reference does in the
/// written model: Q/DQ by name, one scan along the node list (ref:npu#positions).
struct Position {
  ir::ValueId value;
  plan::ParamId params;
  int at = 0;
};

class Positions {
 public:
  Positions(const ir::Graph& graph, plan::QuantPlan& plan, const config::Settings& settings);

  const ir::Graph& graph() const { return graph_; }
  int at(plan::ParamId params) const;
  void set(plan::ParamId params, int position);

  /// Returns the position of the DQ that input `i` reads. Pools skip one preceding operator.
  std::optional<Position> input(const ir::Node& node, size_t i = 0) const;
  /// Returns the positions of all inputs, or nullopt if one has none.
  std::optional<std::vector<Position>> all_inputs(const ir::Node& node) const;
  /// Returns the position of the Q after output 0, skipping activations and the DPU's rescaling.
  std::optional<Position> output(const ir::Node& node) const;

  /// Returns whether input `i` of the node reads a value directly instead of its DQ.
  bool reads_raw(const ir::Node& node, size_t i) const;
  /// Returns whether both inputs read the same tensor of the written model.
  bool read_the_same(const ir::Node& a, size_t i, const ir::Node& b, size_t j) const;

 private:
  /// Returns the slot of a value whose Q/DQ are written and whose scales have positions (finite, above 0), or null.
  const plan::QuantSlot* written_slot(ir::ValueId value) const;
  std::optional<Position> read_position(const ir::Node& node, size_t i) const;
  bool is_connected(const ir::Node& node, const ir::Node& reader) const;
  bool has_own_pairs(ir::ValueId value) const;
  int64_t place(ir::NodeId id) const { return place_[static_cast<size_t>(id.index)]; }

  const ir::Graph& graph_;
  plan::QuantPlan& plan_;
  const OpTypes producers_, activations_;
  bool moves_first_channel_only_;
  std::vector<int64_t> place_;  ///< Index in the node list, by id.
};

struct PositionRule;

/// A position that a rule moves, and the reason.
struct PositionMove {
  const PositionRule* rule = nullptr;
  int loop = 0;
  ir::NodeId node;
  Position position;  ///< The position before the move.
  int to = 0;
  const char* measure = "";          ///< The measured quantity, for example "shift_cut".
  int found = 0, low = 0, high = 0;  ///< Value of the measure, and its limits (both allowed).
};

class Sweep {
 public:
  enum class Mode { kMove, kLook };
  Sweep(Positions& positions, Mode mode) : positions_(positions), mode_(mode) {}

  const Positions& positions() const { return positions_; }
  const std::vector<PositionMove>& moves() const { return moves_; }
  /// Runs one sweep over the nodes in list order. Returns true if a move requires another round.
  bool run(const PositionRule& rule, int loop = 0);

  struct Limit {
    const char* measure;
    int found, low, high;
    bool asks_for_round = true;
    int violated() const { return found < low ? low : high; }
    bool holds() const { return found >= low && found <= high; }
  };
  void move(const Position& position, int to, const Limit& limit);

 private:
  Positions& positions_;
  Mode mode_;
  const PositionRule* rule_ = nullptr;
  ir::NodeId node_;
  int loop_ = 0;
  bool asks_for_round_ = false;
  std::vector<PositionMove> moves_;
};

struct PositionRule {
  const char* name;
  bool config::Settings::Npu::*is_enabled;
  std::vector<std::string_view> ops;
  void (*apply)(Sweep& sweep, const ir::Node& node);
  const char* remedy;  ///< Remedy of a violation.
};

/// Returns the rules in the order in which the reference applies them.
const std::vector<PositionRule>& position_rules();

}  // namespace quarkq::planning
