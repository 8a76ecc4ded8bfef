// SPDX-License-Identifier: MIT
// Segmenter: decides where a program ends because it has used its share of memory, and lists the values with which the
// next segment starts (ADR 0016). Layouts, fusion and order do not depend on it, so the bits are equal to the bits of
// one program for the whole graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/compile.h"
#include "exec/value_table.h"

namespace quarkq::exec {

/// Estimate of the memory of the program being compiled, value by value.
class SegmentMeter {
 public:
  /// Values of `spilled_from` bytes and more leave memory while they wait: they count only where they are used.
  SegmentMeter(size_t values, int64_t spilled_from) : bytes_(values), readers_(values), spilled_from_(spilled_from) {}

  /// Adds a reader of the value, or marks it as a result.
  void expect_reader(ir::ValueId value) { ++readers_[at(value)]; }
  void add_weights(int64_t bytes) { weights_ += bytes; }
  /// The value is in memory from now on until its last reader has read it.
  void made(ir::ValueId value, int64_t bytes);
  /// Records that a node that reads and writes these values runs.
  void use(const std::vector<ir::ValueId>& values);
  void read(ir::ValueId value);

  int64_t weights() const { return weights_; }
  int64_t total() const { return weights_ + peak_; }
  /// Returns the memory that is released if the segment ends before the next node, which reads `next`: weights, and
  /// values that wait for later nodes.
  int64_t spared(const std::vector<ir::ValueId>& next) const;

 private:
  static size_t at(ir::ValueId value) { return static_cast<size_t>(value.index); }
  /// Returns the memory of the value while no node uses it.
  int64_t waiting(ir::ValueId value) const { return bytes_[at(value)] < spilled_from_ ? bytes_[at(value)] : 0; }

  std::vector<int64_t> bytes_;  ///< Bytes of each value while it is in memory.
  std::vector<int32_t> readers_;
  int64_t spilled_from_ = 0;
  int64_t weights_ = 0, live_ = 0, peak_ = 0;
};

class Segmenter {
 public:
  /// The values of this program that later segments read.
  struct Border {
    std::vector<Carried> carried;     ///< Values that this program computes.
    std::vector<Carried> handed_on;   ///< Feeds of this program.
    std::vector<Constant> constants;  ///< Folded values.
  };

  /// All arguments must outlive the segmenter.
  Segmenter(const ir::Graph& graph, const CompileRequest& request, const ValueTable& values)
      : graph_(graph), request_(request), values_(values), meter_(graph.value_count(), request.values.spilled_from()) {}

  /// Returns false if the program contains all nodes.
  bool is_on() const { return request_.segment_bytes > 0; }
  /// Returns the needed nodes of `order`, a valid order, and expects their reads. Nodes that read only constants are
  /// placed right before the first node that needs their results: computed weights (for example from stored integers)
  /// belong to the segment that reads them.
  std::vector<ir::NodeId> begin(const std::vector<ir::NodeId>& order, const std::vector<bool>& needed);
  void add_weights(int64_t bytes) { meter_.add_weights(bytes); }
  /// Returns the bytes of the constants that the program contains so far.
  int64_t weights() const { return meter_.weights(); }
  /// Counts the values that the node reads and computes, after the node was added alone or as a part of another node.
  void measure(const ir::Node& node);
  /// Returns true if the program ends before `left`, the rest of begin()'s order: it is full, and a cut releases enough
  /// memory to justify reading values again. `done` marks the nodes in `left` that are part of an earlier step.
  bool ends(std::span<const ir::NodeId> left, const std::vector<bool>& done) const;
  /// Returns the values of this program that the nodes `later` read.
  Border border(std::span<const ir::NodeId> later) const;

 private:
  bool is_feed(ir::ValueId value) const;

  const ir::Graph& graph_;
  const CompileRequest& request_;
  const ValueTable& values_;
  SegmentMeter meter_;
  std::vector<bool> folds_;  ///< Whether a node reads only constants.
};

}  // namespace quarkq::exec
