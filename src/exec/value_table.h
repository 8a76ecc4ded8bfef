// SPDX-License-Identifier: MIT
// ValueTable: the values of a program while it is compiled. A value is a constant or has a slot of the buffer table per
// memory layout that its readers require.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "exec/op_def.h"
#include "exec/program.h"
#include "ir/graph.h"

namespace quarkq::exec {

/// A buffer of the program.
struct Slot {
  int64_t bytes = 0;
  ir::Tensor constant = {};  ///< defined: the buffer is this tensor's
  bool is_feed = false;      ///< the buffer is the caller's
  bool is_made() const { return !constant.is_defined() && !is_feed; }
};

/// An input of a node in the layout that its operator requires.
struct Bound {
  Spec spec;
  int slot = -1;
};

class ValueTable {
 public:
  /// When a value is available: fed or computed in this program, fed but not a tensor, computed after this program.
  enum class When : uint8_t { kUnset, kNow, kOpaque, kLater };
  struct Entry {
    When when = When::kUnset;
    ElementType type = ElementType::kUndefined;
    ir::Shape dims = {};                   ///< ONNX order
    Layout native = Layout::kPlain;        ///< the layout it was computed in
    int slot = -1;                         ///< in the native layout
    const ir::Tensor* constant = nullptr;  ///< ONNX order
    bool is_stored = false;                ///< a constant made of initializers only: another segment makes it again
  };

  /// `graph` must outlive the table. Steps that convert between layouts are appended to `steps`.
  ValueTable(const ir::Graph& graph, std::vector<Step>& steps)
      : graph_(graph), steps_(steps), entries_(graph.value_count()) {}

  Entry& at(ir::ValueId value) { return entries_[static_cast<size_t>(value.index)]; }
  const Entry& at(ir::ValueId value) const { return entries_[static_cast<size_t>(value.index)]; }
  const std::vector<Slot>& slots() const { return slots_; }

  /// The value is `tensor`, which must outlive the table.
  void set_constant(ir::ValueId value, const ir::Tensor& tensor);
  /// The value is `tensor`, which the table keeps.
  const ir::Tensor& own_constant(ir::ValueId value, ir::Tensor tensor);
  int add_slot(int64_t bytes);
  int add_feed_slot(int64_t bytes);
  /// Returns the slot of the value in its native layout; a constant without one gets a slot.
  int native_slot(ir::ValueId value);
  /// Returns the slot of the value in a layout, with ones in front of its dimensions up to `rank`. Each conversion is
  /// made once.
  int slot_in(ir::ValueId value, Layout layout, int64_t rank);

  /// Returns the layout in which an operator with this rule computes the node.
  Layout choose_layout(const ir::Node& node, LayoutRule rule) const;
  /// Returns the inputs of the node as an operator with this rule requires them if it computes in `layout`.
  std::vector<Bound> bind_inputs(const ir::Node& node, LayoutRule rule, Layout layout);
  Bound bind(ir::ValueId value, Layout layout, int64_t rank);

 private:
  using Form = std::tuple<int, int, int>;  // value, layout, rank

  int constant_slot(const ir::Tensor& tensor);
  const ir::Tensor& constant_in(ir::ValueId value, Layout layout, int64_t rank);

  const ir::Graph& graph_;
  std::vector<Step>& steps_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::map<Form, int> converted_;
  std::map<Form, ir::Tensor> converted_constants_;
  std::vector<std::unique_ptr<ir::Tensor>> owned_;  ///< addresses stay valid
};

/// Appends the inputs and captures of the node.
void append_reads(const ir::Node& node, std::vector<ir::ValueId>& reads);

}  // namespace quarkq::exec
