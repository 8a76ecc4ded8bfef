// SPDX-License-Identifier: MIT
// From the plan to the result: bodies of control flow, the phases from write on, and the passes of the user's list for
// the result.
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

// The body of an If, Loop or Scan as a model of its own, and back: whatever quantizes models quantizes bodies (ADR
// 0017).

/// A value of the body model in the place of one that the body captures.
struct StandIn {
  ir::ValueId captured;  ///< in the body
  ir::ValueId local;     ///< in the model: an input, or an initializer where the enclosing graph stores the value
  std::string name;      ///< that the body captures it by
};

struct BodyModel {
  ir::Model model;
  std::vector<StandIn> stand_ins;
};

/// `body` is a graph in an attribute of `node`, which is in `enclosing.graph`. Stand-ins have names of their own, so
/// that what is named after them does not meet names of the enclosing graph. kUnsupported when the body returns a
/// captured value as it is.
Result<BodyModel> make_body_model(const ir::Model& enclosing, const ir::Node& node, const ir::Graph& body);

/// The graph of the model as a body: stand-ins that are still read are captured again.
ir::Graph body_of(BodyModel model);

// What the bodies of If, Loop and Scan are called with while the samples run: the samples of the bodies as models.

/// Keeps calls of the bodies that it was told to: evenly spread over all calls, so many that memory stays bounded.
class BodyRecorder : public exec::BodySink {
 public:
  using Call = std::map<ir::ValueId, ir::Tensor>;  ///< by value of the body

  void listen_to(const ir::Graph& body) { bodies_[&body]; }
  Status on_call(const ir::Graph& body, std::span<const ir::ValueId> values,
                 std::span<const ir::Operand> operands) override;
  /// In the order they happened. Empty: the body was not called, or with a value that is no tensor.
  const std::vector<Call>& calls(const ir::Graph& body) const { return bodies_.at(&body).kept; }

 private:
  struct Calls {
    std::vector<Call> kept;
    size_t seen = 0, stride = 1;
  };
  std::map<const ir::Graph*, Calls> bodies_;  ///< looked up only: their order means nothing
};

/// Reads calls as samples. `inputs`: for each input of the body model, the value of the body that it stands for. Calls
/// that lack one are left out.
class BodyReader : public calib::DataReader {
 public:
  BodyReader(const std::vector<BodyRecorder::Call>& calls, const std::vector<ir::ValueId>& inputs);

  size_t size() const override { return samples_.size(); }
  Result<calib::Sample> read(size_t index) const override { return samples_[index]; }

 private:
  std::vector<calib::Sample> samples_;
};

// EnableSubgraph: bodies of If, Loop and Scan are quantized as models of their own (ADR 0017).

/// Quantizes the bodies in the nodes of state.model, and those inside of them, where the settings ask for it. REQUIRES:
/// calibrated; not written yet. Bodies whose node is excluded stay float. Without a call among the samples only weights
/// are quantized. What a body lacks for that is reported, and it stays float.
Result<Changed> quantize_bodies(RunState& state);

Status write_plan(RunState& state, std::vector<PassTime>& times, const RunnerOptions& options);

/// Did anything of the plan or in bodies get written?
bool has_written(const std::vector<PassTime>& times);

}  // namespace quarkq::pipeline
