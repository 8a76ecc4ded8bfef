// SPDX-License-Identifier: MIT
// Session: a graph ready to run for any input shapes. It is compiled when a set of input shapes is first seen;
// where shapes depend on data, or at control flow and sequences, it is compiled in stages (ADR 0004). Where memory is
// limited, it is compiled and run in segments (ADR 0016).
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

/// Receives what the graphs in the attributes of nodes (bodies of If, Loop and Scan) are called with.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Before each run of `body`: what its inputs and captured values hold. Valid during the call only.
  virtual Status on_call(const ir::Graph& body, std::span<const ir::ValueId> values,
                         std::span<const ir::Operand> operands) = 0;
};

/// What holds for a session and the sessions of the graphs in it: bounds, and who observes those graphs.
struct RunLimits {
  int64_t memory = 0;      ///< bytes of intermediate values and results; 0: the memory of the machine or container
  int64_t loop_trips = 0;  ///< iterations of one Loop; 0: no bound
  /// Bytes of weights and values of one segment; 0: as many as the environment's ceiling leaves, all without a ceiling.
  int64_t segment = 0;
  BodySink* body_sink = nullptr;  ///< null: nobody; must outlive the session
  /// Bound on a program's values in memory at once; 0 bytes: as many as the environment's ceiling leaves, all without a
  /// ceiling.
  ValueLimit values = {};
};

/// Samples that run together: a segment runs all of them before the next one is compiled. Functions may be empty but
/// `inputs`.
struct SampleSet {
  size_t count = 0;
  std::function<Result<std::vector<ir::Tensor>>(size_t sample)> inputs;  ///< asked for once each, in order
  std::function<TapSink*(size_t sample)> sink;                           ///< asked for once for each segment
  /// Once for each sample, in order; the tensors are valid during the call.
  std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)> results;
  std::function<Status(double share)> progress;     ///< the share of all work that is done
  std::function<std::string(size_t sample)> label;  ///< for errors of its run
};

struct SessionOptions {
  std::vector<ir::ValueId> fetches;  ///< empty, and no taps: the graph's outputs
  std::vector<ir::ValueId> taps;     ///< values that a sink observes; never sequences
  RunLimits limits = {};
  std::vector<ir::ValueId> feeds = {};   ///< inputs of a run; empty: the graph's without initializer and constant
  std::vector<Constant> constants = {};  ///< values known beside the graph's own initializers
};

/// Whose graph a session runs. A nested one belongs to a graph whose float16 was dealt with as a whole
/// (simulate.h).
enum class Nesting : uint8_t { kOutermost, kNested };

/// What a session shares with the sessions of the graphs nested in its nodes.
struct SessionScope {
  const std::map<std::string, int64_t>& opsets;
  Environment environment;
  RunLimits limits;
};

struct FeedShape;
struct Stage;
struct StagePlan;

/// The stages made so far for one place of the chain, by types and shapes of their feeds; most recently used first.
struct StageCache {
  std::vector<std::unique_ptr<Stage>> stages;
};

class Session {
 public:
  /// `model` must outlive the session.
  Session(const ir::Model& model, const Environment& environment, SessionOptions options);
  /// The same for a graph and the opset versions it is written in.
  Session(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const Environment& environment,
          SessionOptions options, Nesting nesting = Nesting::kOutermost);
  ~Session();
  Session(Session&&) = delete;

  /// Runs one sample: a tensor per feed, in order. Results are valid until the next run. Fails when an output is not a
  /// tensor.
  Result<const std::vector<ir::Tensor>*> run(std::span<const ir::Tensor> inputs, TapSink* sink = nullptr);

  /// As run() for each of the samples. Where memory is limited, this reads and packs weights once for all of them.
  Status run_samples(const SampleSet& samples);

  /// The same for inputs and outputs that may be sequences or empty optionals.
  Result<const std::vector<ir::Operand>*> run_operands(std::span<const ir::Operand> inputs, TapSink* sink = nullptr);

  /// Bytes of intermediate values of the largest program so far.
  size_t arena_bytes() const { return arena_bytes_; }
  /// That the last run of samples took one after another; 1: one program was enough.
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

  std::unique_ptr<const ir::Graph> promoted_;  ///< the graph with float16 computed as float32, when it has any
  const ir::Graph& graph_;
  const SessionScope scope_;
  Nesting nesting_;
  std::shared_ptr<const StagePlan> first_plan_;
  StageCache first_;
  std::vector<ir::Operand> values_;    ///< by ValueId index: what is known outside of programs during a run
  std::vector<ir::Tensor> inputs_;     ///< tensor feeds of the stage that runs
  std::vector<ir::Operand> operands_;  ///< results of run_operands()
  std::vector<ir::Tensor> tensors_;    ///< results of run()
  size_t arena_bytes_ = 0, segment_count_ = 1;
};

}  // namespace quarkq::exec
