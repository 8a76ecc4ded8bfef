// SPDX-License-Identifier: MIT
// DynamicWriter: operators on integers in place of float ones, with scales that are found while the model runs
// (ref:writing#dynamic-quantization). A value may exist as float, as integers, or as both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/edit.h"
#include "pass/context.h"

namespace quarkq::qdq {

/// A value as integers.
struct Quantized {
  ir::ValueId codes, scale, zero_point;
};

/// How a stored value is quantized.
struct StoredFormat {
  ElementType type = ElementType::kUInt8;
  bool symmetric = false, reduce_range = false;
  std::optional<int64_t> axis = {};  ///< per channel along it
  bool turns = false;                ///< dimensions 1 and 2 of 3 change places, once encoded
};

class DynamicWriter {
 public:
  explicit DynamicWriter(ir::Graph& graph) : graph_(graph), edit_(graph) {}

  /// New nodes come right before `node` from now on.
  void stand_before(ir::NodeId node) { before_ = node; }
  const ir::Graph& graph() const { return graph_; }
  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }

  /// The integers of an activation or stored value of UINT8; a DynamicQuantizeLinear when there are none yet.
  Result<Quantized> quantize(ir::ValueId value, bool reduce_range);
  /// The integers of an initializer. REQUIRES: float32, not quantized with another format before.
  Result<Quantized> store(ir::ValueId value, const StoredFormat& format);
  const Quantized* find(ir::ValueId value) const;
  /// `value` exists as these integers only from now on: its producer is removed. Readers get it by make_float().
  void replace(ir::ValueId value, const Quantized& quantized) { quantized_[value] = quantized; }
  /// Gives a value without a producer one that computes it from its integers.
  void make_float(ir::ValueId value);

  ir::ValueId add_value(const std::string& name, ElementType type, const ir::ValueType& like);
  ir::ValueId add_initializer(const std::string& name, ir::Tensor data) {
    return edit_.add_initializer(name, std::move(data));
  }
  ir::NodeId add_node(ir::NodeSpec spec) { return edit_.add_node(std::move(spec), before_); }
  void remove_node(ir::NodeId node) { edit_.remove_node(node); }
  ir::GraphEdit& edit() { return edit_; }

 private:
  ir::Graph& graph_;
  ir::GraphEdit edit_;
  ir::NodeId before_;
  std::map<ir::ValueId, Quantized> quantized_;
};

}  // namespace quarkq::qdq
