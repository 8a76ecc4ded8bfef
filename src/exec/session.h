// SPDX-License-Identifier: MIT
// Session: a graph ready to run for any input shapes. It is compiled when a set of input shapes is first seen. If
// shapes depend on data, and at control flow and sequences, it is compiled in stages (ADR 0004). If memory is limited,
// it is compiled and run in segments (ADR 0016).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/compile.h"
#include "exec/environment.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace quarkq::exec {

/// Receives the inputs of the graphs in the attributes of nodes (bodies of If, Loop and Scan).
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Called before each run of `body` with its inputs and captured values, which are valid only during the call.
  virtual Status on_call(const ir::Graph& body, std::span<const ir::ValueId> values,
                         std::span<const ir::Operand> operands) = 0;
};

/// Bounds and observers for a session and the sessions of its nested graphs.
struct RunLimits {
  int64_t memory = 0;      ///< Bytes of intermediate values and results; 0: the memory of the machine or container.
  int64_t loop_trips = 0;  ///< Upper bound on the iterations of one Loop; 0: no bound.
  /// Bytes of weights and values of one segment; 0: the remaining memory under the ceiling of the environment,
  /// unbounded if there is none.
  int64_t segment = 0;
  BodySink* body_sink = nullptr;  ///< May be null; must outlive the session.
  /// Bound on a program's values in memory at once; 0 bytes: the remaining memory under the ceiling of the environment,
  /// unbounded if there is none.
  ValueLimit values = {};
};

/// Samples that run together: a segment runs all of them before the next one is compiled. All functions except `inputs`
/// may be empty.
struct SampleSet {
  size_t count = 0;
  std::function<Result<std::vector<ir::Tensor>>(size_t sample)> inputs;  ///< Called once per sample, in order.
  std::function<TapSink*(size_t sample)> sink;                           ///< Called once per sample and segment.
  /// Called once per sample, in order. The tensors are valid during the call.
  std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)> results;
  std::function<Status(double share)> progress;     ///< Receives the completed share of all work.
  std::function<std::string(size_t sample)> label;  ///< Label for errors of a sample's run.
};

struct SessionOptions {
  std::vector<ir::ValueId> fetches;  ///< Empty, and no taps: the graph's outputs.
  std::vector<ir::ValueId> taps;     ///< Values that a sink observes; never sequences.
  RunLimits limits = {};
  std::vector<ir::ValueId> feeds = {};   ///< Inputs of a run; empty: the graph's inputs that are neither initializers
                                         ///< nor constants.
  std::vector<Constant> constants = {};  ///< Values known in addition to the graph's own initializers.
};

/// Whose graph a session runs. A nested graph belongs to a graph whose float16 was already converted as a whole
/// (simulate.h).
enum class Nesting : uint8_t { kOutermost, kNested };

/// Properties that a session shares with the sessions of the graphs nested in its nodes.
struct SessionScope {
  const std::map<std::string, int64_t>& opsets;
  Environment environment;
  RunLimits limits;
};

struct FeedShape;
struct Stage;
struct StagePlan;

/// The stages created for one position of the chain, by types and shapes of their feeds; most recently used first.
struct StageCache {
  std::vector<std::unique_ptr<Stage>> stages;
};

class Session {
 public:
  /// `model` must outlive the session.
  Session(const ir::Model& model, const Environment& environment, SessionOptions options);
  /// Creates a session for a graph with these opset versions.
  Session(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const Environment& environment,
          SessionOptions options, Nesting nesting = Nesting::kOutermost);
  ~Session();
  Session(Session&&) = delete;

  /// Runs one sample: a tensor per feed, in order. Results are valid until the next run. Fails if an output is not a
  /// tensor.
  Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs, TapSink* sink = nullptr);

  /// Runs several samples. If memory is limited, weights are read and packed once for all of them.
  Status run_samples(const SampleSet& samples);

  /// Runs one sample whose inputs and outputs may be sequences or empty optionals.
  Result<const std::vector<ir::Operand>*> run_operands(std::span<const ir::Operand> inputs, TapSink* sink = nullptr);

  /// Returns the bytes of intermediate values of the largest program so far.
  size_t arena_bytes() const { return arena_bytes_; }
  /// Returns the number of segments of the last run of samples; 1: one program was sufficient.
  size_t segment_count() const { return segment_count_; }

 private:
  class Walk;

  bool is_segmented() const;
  int64_t segment_bytes() const;
  ValueLimit value_limit() const;
  Result<const std::vector<ir::Tensor>*> run_segments(std::span<const ir::Tensor> inputs, TapSink* sink);
  Result<Stage*> stage_for(const StagePlan& plan, StageCache& cache);
  Result<Stage*> stage_for(const StagePlan& plan, StageCache& cache, std::vector<FeedShape> shapes,
                           int64_t segment_bytes);
  Result<std::unique_ptr<Stage>> make_stage(const StagePlan& plan, std::vector<FeedShape> shapes,
                                            int64_t segment_bytes);
  static StagePlan next_segment(const StagePlan& plan, const Stage& stage);
  void plan_next(const StagePlan& plan, Stage& stage) const;
  Status run_program(const StagePlan& plan, Stage& stage, TapSink* sink);
  Status check_count(size_t given) const;
  Status not_a_tensor(ir::ValueId fetch) const;
  Result<Stage*> run_first(TapSink* sink);
  Status run_rest(Stage& first, TapSink* sink);
  void forget_values();
  ir::Operand& value(ir::ValueId id) { return values_[static_cast<size_t>(id.index)]; }

  std::unique_ptr<const ir::Graph> promoted_;  ///< The graph with float16 computed as float32; null if it has none.
  const ir::Graph& graph_;
  const SessionScope scope_;
  Nesting nesting_;
  std::shared_ptr<const StagePlan> first_plan_;
  StageCache first_;
  std::vector<ir::Operand> values_;    ///< Values known outside of programs during a run, by ValueId index.
  std::vector<ir::Tensor> inputs_;     ///< Tensor feeds of the running stage.
  std::vector<ir::Operand> operands_;  ///< Results of run_operands().
  std::vector<ir::Tensor> tensors_;    ///< Results of run().
  size_t arena_bytes_ = 0, segment_count_ = 1;
};

}  // namespace quarkq::exec
