// SPDX-License-Identifier: MIT
// The state of one compilation. Private to exec: compile.cpp drives it node by node, convert.cpp brings values into the
// layout an operator wants, fuse.cpp finds followers to fuse, finish.cpp plans memory,
// finish.cpp hands out the program.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "exec/compile.h"
#include "exec/memory_plan.h"
#include "exec/program.h"
#include "ir/node.h"

namespace quarkq::exec {

/// Estimate of the memory of the program being compiled, value by value. Determines where a segment ends (ADR 0016).
class SegmentMeter {
 public:
  /// Values of `spilled_from` bytes and more leave memory while they wait; they count only where they are used.
  SegmentMeter(size_t values, int64_t spilled_from) : bytes_(values), readers_(values), spilled_from_(spilled_from) {}

  /// Adds a reader of the value, or marks it as a result.
  void expect_reader(ir::ValueId value) { ++readers_[at(value)]; }

  void add_weights(int64_t bytes) { weights_ += bytes; }
  /// The value is in memory from now on until its last reader has read it.
  void made(ir::ValueId value, int64_t bytes) {
    if (bytes_[at(value)] > 0) return;
    bytes_[at(value)] = bytes;
    live_ += waiting(value);
  }
  /// Records that a node that reads and writes these values runs.
  void use(const std::vector<ir::ValueId>& values) {
    peak_ = std::max(peak_, live_ + sum(values, [&](ir::ValueId value) { return bytes_[at(value)] - waiting(value); }));
  }
  void read(ir::ValueId value) {
    if (readers_[at(value)] == 0 || --readers_[at(value)] > 0) return;
    live_ -= waiting(value);
    bytes_[at(value)] = 0;
  }

  int64_t weights() const { return weights_; }
  int64_t total() const { return weights_ + peak_; }
  /// Returns the memory that is released if the segment ends before the next node, which reads `next`: weights, and
  /// values that wait for later nodes.
  int64_t spared(const std::vector<ir::ValueId>& next) const {
    return weights_ + live_ - sum(next, [&](ir::ValueId value) { return waiting(value); });
  }

 private:
  static size_t at(ir::ValueId value) { return static_cast<size_t>(value.index); }
  /// Returns the memory of the value while no node uses it.
  int64_t waiting(ir::ValueId value) const { return bytes_[at(value)] < spilled_from_ ? bytes_[at(value)] : 0; }
  /// Counts each value once.
  template <typename Bytes>
  static int64_t sum(const std::vector<ir::ValueId>& values, Bytes bytes) {
    int64_t all = 0;
    for (auto value = values.begin(); value != values.end(); ++value) {
      if (std::find(values.begin(), value, *value) == value) all += bytes(*value);
    }
    return all;
  }

  std::vector<int64_t> bytes_;  ///< Bytes of each value while it is in memory.
  std::vector<int32_t> readers_;
  int64_t spilled_from_ = 0;
  int64_t weights_ = 0, live_ = 0, peak_ = 0;
};

class Compiler {
 public:
  Compiler(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const CompileRequest& request)
      : graph_(graph),
        opsets_(opsets),
        request_(request),
        held_(graph.value_count()),
        done_(graph.node_count()),
        meter_(graph.value_count(), request.values.spilled_from()) {}

  Result<Compiled> compile();

 private:
  /// When a value exists: computed or fed in this program, fed but not a tensor, or computed after this program.
  enum class When : uint8_t { kUnset, kNow, kOpaque, kLater };
  /// Location of a value: a known constant, or a slot per layout.
  struct Held {
    When when = When::kUnset;
    ElementType type = ElementType::kUndefined;
    ir::Shape dims;                        ///< In ONNX order.
    Layout native = Layout::kPlain;        ///< The layout in which it was computed.
    int slot = -1;                         ///< In the native layout.
    const ir::Tensor* constant = nullptr;  ///< In ONNX order.
    bool is_stored = false;                ///< A constant computed only from initializers: another segment computes it
                                           ///< again.
  };
  /// A buffer: its size, and the slots that may share it.
  struct Slot {
    int64_t bytes = 0;
    ir::Tensor constant;  ///< If defined, the buffer is not in the arena.
    bool is_feed = false;
    int result = -1;  ///< The fetch whose memory this is, if it is computed in place.
    bool in_arena() const { return !constant.is_defined() && !is_feed && result < 0; }
  };
  struct InPlace {
    int step, output_slot, input_slot;
  };
  /// Locations of buffers over time.
  struct Arena {
    std::vector<size_t> owners;  ///< Slots whose buffers are in the arena.
    std::vector<Piece> pieces;   ///< Pieces of the owners.
    MemoryPlan plan;             ///< Placement by piece.
  };
  /// An input of a node in the layout that its operator requires.
  struct Bound {
    Spec spec;
    int slot = -1;
  };

  // compile.cpp
  Status bind_feeds();
  std::vector<bool> needed_nodes() const;
  Status add_node(const ir::Node& node);
  Status add_static(const ir::Node& node, const OpDef& op);
  Status add_known(const ir::Node& node, const OpDef& op);
  void hold_results(const ir::Node& node, std::vector<ir::Tensor> results);
  bool folds_from_stored(const ir::Node& node) const;
  Status add_step(const ir::Node& node, Prepare& prepare, Kernel kernel, const std::vector<Bound>& inputs,
                  const std::vector<ir::ValueId>& outputs);
  void defer(const ir::Node& node, const OpDef* op);
  void make_later(const ir::Node& node);
  static void append_reads(const ir::Node& node, std::vector<ir::ValueId>& reads);
  int64_t opset_of(const ir::Node& node) const;
  bool is_tapped(ir::ValueId value) const { return tapped_[static_cast<size_t>(value.index)]; }
  bool is_fetched(ir::ValueId value) const { return fetched_[static_cast<size_t>(value.index)]; }
  Held& held(ir::ValueId value) { return held_[static_cast<size_t>(value.index)]; }
  const Held& held(ir::ValueId value) const { return held_[static_cast<size_t>(value.index)]; }
  int new_slot(int64_t bytes);
  int constant_slot(const ir::Tensor& tensor);
  void hold_constant(ir::ValueId value, const ir::Tensor& tensor);
  void tap(ir::ValueId value, int step);

  // convert.cpp
  Layout choose_layout(const ir::Node& node, LayoutRule rule) const;
  Result<std::vector<Bound>> bind_inputs(const ir::Node& node, LayoutRule rule, Layout layout);
  Result<Bound> bind(ir::ValueId value, Layout layout, int64_t rank);
  const ir::Tensor& constant_in(ir::ValueId value, Layout layout, int64_t rank);
  int slot_in(ir::ValueId value, Layout layout, int64_t rank);

  // segment.cpp
  std::vector<ir::NodeId> folding_order(const std::vector<ir::NodeId>& order, const std::vector<bool>& needed);
  void begin_measuring(const std::vector<bool>& needed);
  void measure(const ir::Node& node);
  bool ends_segment(const std::vector<ir::NodeId>& order, const std::vector<bool>& needed, size_t next) const;
  void cut(std::span<const ir::NodeId> left);
  bool is_feed(ir::ValueId value) const;

  // fuse.cpp
  bool add_quantize_pair(const ir::Node& node);  ///< Returns true if the node and its DQ became one step.

  // fuse.cpp
  struct Fusion {
    std::vector<PostOp> post_ops;
    std::vector<const ir::Node*> nodes;  ///< Followers in order.
    std::vector<ir::ValueId> added;      ///< Values of kAdd post-ops, appended to the inputs.
    ir::ValueId output;                  ///< Output of the last follower.
    void pop(ir::ValueId first_output);  ///< Removes the last follower.
  };
  Fusion find_fusion(const ir::Node& node, const OpDef& op) const;
  bool extend_fusion(Fusion& fusion) const;

  // finish.cpp
  Result<Compiled> finish();
  Status choose_fetches();
  void bind_fetches();
  void bind_result(const Held& source, Layout layout, int slot);
  std::vector<bool> slots_in_use() const;
  void own_constants(const std::vector<bool>& used);
  void leave_out_feeds(const std::vector<bool>& used);
  void plan_slots(std::vector<int>& root, std::vector<int>& last);
  void place_in_results(const std::vector<int>& root);
  void allocate(const Arena& arena, const std::vector<int>& root);

  // finish.cpp
  std::vector<BufferUse> buffer_uses(const std::vector<int>& root, std::vector<size_t>& owners) const;
  ValueLimit arena_limit() const;
  Arena plan_arena(const std::vector<int>& root) const;
  void place(const Arena& arena, std::byte* memory, const std::vector<int>& root);

  const ir::Graph& graph_;
  const std::map<std::string, int64_t>& opsets_;
  const CompileRequest& request_;
  Compiled compiled_;
  Program& program_ = compiled_.program;
  std::vector<Held> held_;
  std::vector<bool> done_;             ///< Already part of a fusion, by node.
  std::vector<bool> folds_;            ///< Reads only constants, by node.
  std::vector<ir::NodeId> postponed_;  ///< Deferred nodes and the nodes after them.
  SegmentMeter meter_;
  std::vector<bool> tapped_, fetched_;
  std::vector<Slot> slots_;
  std::vector<InPlace> in_place_;
  std::map<std::tuple<int, int, int>, int> converted_;  ///< (value, layout, rank) -> slot
  std::map<std::tuple<int, int, int>, ir::Tensor> converted_constants_;
  std::vector<std::unique_ptr<ir::Tensor>> folded_;  ///< Constants computed here; addresses stay valid.
  size_t scratch_bytes_ = 0;
  int64_t result_bytes_ = 0;
  std::vector<Spec> result_specs_;  ///< Type, dims and layout of the program's results.
};

}  // namespace quarkq::exec
