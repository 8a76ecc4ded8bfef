// SPDX-License-Identifier: MIT
// Conversion of the plan to the result: bodies of control flow, the phases from write on, and the passes of the user's
// list for the result.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "exec/session.h"
#include "ir/graph.h"
#include "pipeline/run/pass_runner.h"
#include "pipeline/run/run_state.h"

namespace quarkq::pipeline {

// The body of an If, Loop or Scan as a separate model, and back, so that bodies are quantized like models (ADR 0017).

/// A value of the body model that replaces a captured value of the body.
struct StandIn {
  ir::ValueId captured;  ///< In the body.
  ir::ValueId local;     ///< In the model: an input, or an initializer if the enclosing graph stores the value.
  std::string name;      ///< Name by which the body captures it.
};

struct BodyModel {
  ir::Model model;
  std::vector<StandIn> stand_ins;
};

/// Creates the body model. `body` is a graph in an attribute of `node`, which is in `enclosing.graph`. Stand-ins have
/// unique names, so that derived names do not clash with names of the enclosing graph. Fails with kUnsupported if the
/// body returns a captured value unchanged.
Result<BodyModel> make_body_model(const ir::Model& enclosing, const ir::Node& node, const ir::Graph& body);

/// Converts the graph of the model back to a body: stand-ins that are still read are captured again.
ir::Graph body_of(BodyModel model);

// Inputs of the bodies of If, Loop and Scan recorded while the samples run: the samples of the body models.

/// Keeps calls of selected bodies: evenly spread over all calls, as many as the memory bound allows.
class BodyRecorder : public exec::BodySink {
 public:
  using Call = std::map<ir::ValueId, ir::Tensor>;  ///< Keyed by value of the body.

  void listen_to(const ir::Graph& body) { bodies_[&body]; }
  Status on_call(const ir::Graph& body, std::span<const ir::ValueId> values,
                 std::span<const ir::Operand> operands) override;
  /// Returns calls in order. Empty if the body was not called, or was called with a value that is not a tensor.
  const std::vector<Call>& calls(const ir::Graph& body) const { return bodies_.at(&body).kept; }

 private:
  struct Calls {
    std::vector<Call> kept;
    size_t seen = 0, stride = 1;
  };
  std::map<const ir::Graph*, Calls> bodies_;  ///< Only looked up: the order is irrelevant.
};

/// Reads calls as samples. `inputs` contains, for each input of the body model, the corresponding value of the body.
/// Calls without one of them are skipped.
class BodyReader : public calib::DataReader {
 public:
  BodyReader(const std::vector<BodyRecorder::Call>& calls, const std::vector<ir::ValueId>& inputs);

  size_t size() const override { return samples_.size(); }
  Result<calib::Sample> read(size_t index) const override { return samples_[index]; }

 private:
  std::vector<calib::Sample> samples_;
};

// EnableSubgraph: quantization of the bodies of If, Loop and Scan as separate models (ADR 0017).

/// Quantizes the bodies in the nodes of state.model, also nested ones, if the settings request it. Bodies of excluded
/// nodes stay float. Without a call among the samples only weights are quantized. A body that cannot be quantized is
/// reported and stays float. REQUIRES: calibrated and not written yet.
Result<Changed> quantize_bodies(RunState& state);

Status write_plan(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options);

/// Returns whether anything of the plan or in bodies was written.
bool has_written(const std::vector<PassTime>& times);

}  // namespace quarkq::pipeline
