// SPDX-License-Identifier: MIT
// ValueTable: the values of a program during its compilation. A value is a constant, or it has a slot of the buffer
// table per memory layout that its readers require.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "exec/op_def.h"
#include "exec/program.h"
#include "exec/quantize_pair.h"
#include "ir/graph.h"

namespace quarkq::exec {

/// A buffer of the program.
struct Slot {
  int64_t bytes = 0;
  ir::Tensor constant = {};  ///< If defined, the buffer belongs to this tensor.
  bool is_feed = false;      ///< The buffer belongs to the caller.
  bool is_made() const { return !constant.is_defined() && !is_feed; }
};

/// An input of a node in the layout that its operator requires.
struct Bound {
  Spec spec;
  int slot = -1;
};

class ValueTable {
 public:
  /// When a value exists: computed or fed in this program, fed but not a tensor, or computed after this program.
  enum class When : uint8_t { kUnset, kNow, kOpaque, kLater };
  struct Entry {
    When when = When::kUnset;
    ElementType type = ElementType::kUndefined;
    ir::Shape dims = {};                   ///< In ONNX order.
    Layout native = Layout::kPlain;        ///< The layout in which it was computed.
    int slot = -1;                         ///< In the native layout.
    int codes = -1;                        ///< Slot of its integers, in the native layout; it may be all there is.
    PairParams params = {};                ///< Parameters of these integers.
    const ir::Tensor* constant = nullptr;  ///< In ONNX order.
    bool is_stored = false;                ///< A constant computed only from initializers: another segment computes it
                                           ///< again.
  };

  /// `graph` must outlive the table. Steps that convert between layouts are appended to `steps`.
  ValueTable(const ir::Graph& graph, std::vector<Step>& steps)
      : graph_(graph), steps_(steps), entries_(graph.value_count()) {}

  Entry& at(ir::ValueId value) { return entries_[static_cast<size_t>(value.index)]; }
  const Entry& at(ir::ValueId value) const { return entries_[static_cast<size_t>(value.index)]; }
  const std::vector<Slot>& slots() const { return slots_; }

  /// Records that the value is `tensor`, which must outlive the table.
  void set_constant(ir::ValueId value, const ir::Tensor& tensor);
  /// Records that the value is `tensor`, which the table keeps. Returns the kept tensor.
  const ir::Tensor& own_constant(ir::ValueId value, ir::Tensor tensor);
  int add_slot(int64_t bytes);
  int add_feed_slot(int64_t bytes);
  /// Returns the slot of the value in its native layout. Adds a slot for a constant without one, and a step for a value
  /// of which there are only integers.
  int native_slot(ir::ValueId value);
  /// Returns the slot of the value in a layout, with dimensions of 1 added in front up to `rank`. Each conversion is
  /// computed once.
  int slot_in(ir::ValueId value, Layout layout, int64_t rank);

  /// Returns the layout in which an operator with this rule computes the node.
  Layout choose_layout(const ir::Node& node, LayoutRule rule) const;
  /// Returns the inputs of the node in the form that an operator with this rule requires if it computes in `layout`.
  /// With `source`, input 0 is bound as the integers with these parameters.
  std::vector<Bound> bind_inputs(const ir::Node& node, LayoutRule rule, Layout layout,
                                 const PairParams* source = nullptr);
  Bound bind(ir::ValueId value, Layout layout, int64_t rank);

 private:
  using Form = std::tuple<int, int, int>;  // value, layout, rank

  int constant_slot(const ir::Tensor& tensor);
  /// Adds a step that computes a new slot from slot `from`. Returns the new slot.
  int add_conversion(int from, int64_t bytes, std::string label, Kernel kernel);
  /// Returns the slot of the integers of the value, which is computed once.
  int codes_in(ir::ValueId value, Layout layout, const PairParams& params);
  const ir::Tensor& constant_in(ir::ValueId value, Layout layout, int64_t rank);

  const ir::Graph& graph_;
  std::vector<Step>& steps_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::map<Form, int> converted_;
  std::map<std::pair<int, int>, int> codes_;  ///< Keyed by value and layout: integers made of floats.
  std::map<Form, ir::Tensor> converted_constants_;
  std::vector<std::unique_ptr<ir::Tensor>> owned_;  ///< Addresses stay valid.
};

/// Appends the inputs and captures of the node.
void append_reads(const ir::Node& node, std::vector<ir::ValueId>& reads);

}  // namespace quarkq::exec
