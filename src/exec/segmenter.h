// SPDX-License-Identifier: MIT
// Segmenter: where a program ends because it has used its share of memory, and what the next segment starts from
// (ADR 0016). The other choices of the compiler (layouts, fusion, order) are those of one program for the whole graph,
// so the bits are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/compile.h"
#include "exec/value_table.h"

namespace quarkq::exec {

/// Estimates what the program that is being compiled takes, value by value.
class SegmentMeter {
 public:
  /// Values of `spilled_from` bytes and more leave memory while they wait: they count only while a node uses them.
  SegmentMeter(size_t values, int64_t spilled_from) : bytes_(values), readers_(values), spilled_from_(spilled_from) {}

  /// One more node will read the value, or it is a result.
  void expect_reader(ir::ValueId value) { ++readers_[at(value)]; }
  void add_weights(int64_t bytes) { weights_ += bytes; }
  /// The value exists from now on until its last reader has read it.
  void made(ir::ValueId value, int64_t bytes);
  /// A node that reads and computes these values runs.
  void use(const std::vector<ir::ValueId>& values);
  void read(ir::ValueId value);

  int64_t weights() const { return weights_; }
  int64_t total() const { return weights_ + peak_; }
  /// Returns what ends with the segment if the next node reads `next`: weights, and values that wait for later nodes.
  int64_t spared(const std::vector<ir::ValueId>& next) const;

 private:
  static size_t at(ir::ValueId value) { return static_cast<size_t>(value.index); }
  /// Returns what the value takes while no node uses it.
  int64_t waiting(ir::ValueId value) const { return bytes_[at(value)] < spilled_from_ ? bytes_[at(value)] : 0; }

  std::vector<int64_t> bytes_;  ///< by value, while it exists
  std::vector<int32_t> readers_;
  int64_t spilled_from_ = 0;
  int64_t weights_ = 0, live_ = 0, peak_ = 0;
};

class Segmenter {
 public:
  /// What later segments read of this one.
  struct Border {
    std::vector<Carried> carried;     ///< values that this program computes
    std::vector<Carried> handed_on;   ///< its feeds
    std::vector<Constant> constants;  ///< folded values
  };

  /// All must outlive the segmenter.
  Segmenter(const ir::Graph& graph, const CompileRequest& request, const ValueTable& values)
      : graph_(graph), request_(request), values_(values), meter_(graph.value_count(), request.values.spilled_from()) {}

  /// False: the program has all nodes.
  bool is_on() const { return request_.segment_bytes > 0; }
  /// Returns the needed nodes of `order`, a valid order, and expects their reads. Nodes that read only constants are
  /// placed right before the first node that needs what they compute: computed weights (from stored integers, say)
  /// belong to the segment that reads them.
  std::vector<ir::NodeId> begin(const std::vector<ir::NodeId>& order, const std::vector<bool>& needed);
  void add_weights(int64_t bytes) { meter_.add_weights(bytes); }
  /// The bytes of constants that the program holds so far.
  int64_t weights() const { return meter_.weights(); }
  /// Counts what the node reads and computes, after it was added on its own or as a part of another one.
  void measure(const ir::Node& node);
  /// Whether the program ends before `left`, the rest of begin()'s order: it is full, and a cut is worth reading values
  /// again. `done`: by node, those in `left` that are part of an earlier step.
  bool ends(std::span<const ir::NodeId> left, const std::vector<bool>& done) const;
  /// Returns what the nodes `later` read of this program.
  Border border(std::span<const ir::NodeId> later) const;

 private:
  bool is_feed(ir::ValueId value) const;

  const ir::Graph& graph_;
  const CompileRequest& request_;
  const ValueTable& values_;
  SegmentMeter meter_;
  std::vector<bool> folds_;  ///< by node: it reads constants only
};

}  // namespace quarkq::exec
