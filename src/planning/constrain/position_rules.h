// SPDX-License-Identifier: MIT
// THE table of limits that the NPU sets to fixed-point positions (ref:npu#position-rules). One sweep of a rule moves
// what violates it; a sweep that only looks lists what it would move, which is how `quarkq check` finds violations.
#pragma once

#include <string_view>
#include <vector>

#include "planning/constrain/positions.h"

namespace quarkq::planning {

struct PositionRule;

/// One position that a rule moves, and why.
struct PositionMove {
  const PositionRule* rule = nullptr;
  int loop = 0;
  ir::NodeId node;
  Position position;  ///< before
  int to = 0;
  const char* measure = "";          ///< what the limit is about, for example "shift_cut"
  int found = 0, low = 0, high = 0;  ///< of the measure, both limits allowed
};

class Sweep {
 public:
  enum class Mode { kMove, kLook };
  Sweep(Positions& positions, Mode mode) : positions_(positions), mode_(mode) {}

  const Positions& positions() const { return positions_; }
  const std::vector<PositionMove>& moves() const { return moves_; }
  /// One sweep over the nodes in list order. True when a move asks for another round.
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
  const char* remedy;  ///< remedy of a violation
};

/// In the order in which the reference applies them.
const std::vector<PositionRule>& position_rules();

}  // namespace quarkq::planning
