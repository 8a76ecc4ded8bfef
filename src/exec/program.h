// SPDX-License-Identifier: MIT
// Program: a graph compiled for one set of input shapes. Every choice is made by compile(); run() only computes. A
// second run allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/memory_plan.h"
#include "exec/op_def.h"
#include "ir/graph.h"

namespace quarkq::exec {

/// A value in its memory layout right after it was computed. Valid during the call only.
struct TensorView {
  ElementType type = ElementType::kUndefined;
  const ir::Shape* stored_dims = nullptr;  ///< in memory order of `layout`
  Layout layout = Layout::kPlain;
  const std::byte* data = nullptr;
  int64_t count = 0;  ///< elements
};

/// The one read-only hook into a run: called once per tapped value and run, while the value is in cache.
class TapSink {
 public:
  virtual ~TapSink() = default;
  virtual Status on_value(ir::ValueId value, const TensorView& view) = 0;
};

/// One kernel call. Slots index the buffer table of the program; -1 is an absent input or an output nothing reads.
struct Step {
  Kernel kernel;
  std::vector<int> inputs, outputs;
  std::string label;
};

/// Call of the sink after step `after_step` (-1: before the first step).
struct Tap {
  ir::ValueId value;
  int slot = -1;
  int after_step = -1;
  Spec spec;
};

class Program {
 public:
  /// Computes the fetches. `inputs` in the order of the feeds given to compile(), of exactly those types and shapes,
  /// in ONNX order. `sink` observes the taps; null to observe nothing.
  Status run(std::span<const ir::Tensor> inputs, TapSink* sink = nullptr);

  /// Results of the last run, in fetch order and ONNX layout. They are overwritten by the next run unless copied.
  const std::vector<ir::Tensor>& results() const { return results_; }
  /// Bytes of the arena that intermediate values share.
  size_t arena_bytes() const { return arena_bytes_; }
  size_t step_count() const { return steps_.size(); }
  /// Returns how often a value leaves memory during a run.
  size_t spill_count() const { return spills_.count(); }
  /// One line per step, for tests.
  std::string text() const;

 private:
  friend class Compiler;
  void take_result_memory();
  Status announce(const Tap& tap, TapSink& sink) const;

  std::vector<Step> steps_;
  std::vector<Tap> taps_;            ///< sorted by after_step
  std::vector<std::byte*> buffers_;  ///< one per slot
  std::vector<int> feed_slots_;
  std::vector<Spec> feeds_;
  std::vector<std::string> feed_names_;
  std::vector<int> fetch_slots_;
  std::vector<std::vector<int>> result_slots_;  ///< Slots stored in the result, by fetch; empty if the result is
                                                ///< copied.
  std::vector<ir::Tensor> results_;
  std::vector<ir::Tensor> owned_;  ///< constants made while compiling
  std::shared_ptr<std::byte> arena_;
  size_t arena_bytes_ = 0;
  std::vector<const std::byte*> input_pointers_;  // reused by run()
  std::vector<std::byte*> output_pointers_;
  std::byte* scratch_ = nullptr;
  Spills spills_;
};

}  // namespace quarkq::exec
