// SPDX-License-Identifier: MIT
// The whole network as one unit of fine-tuning (ADR 0020): the region that is learned, and the values that are compared
// with the teacher.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "calib/data_reader.h"
#include "exec/environment.h"
#include "planning/tune/unit.h"

namespace quarkq::planning::finetune {

/// An end of the region and the teacher's value.
struct Target {
  ir::ValueId end;             ///< In the simulated model.
  ir::ValueId teacher;         ///< In the teacher.
  std::vector<float> factors;  ///< The end's channels are the teacher's, multiplied by these; empty: 1.
  double power = 1;            ///< Mean square of the teacher's values over samples.
  double sigmoid_power = 0;    ///< Mean square of Sigmoid of them; 0: no Sigmoid reads the output.
  bool is_output = false;      ///< An end of the network, not an inner value.
};

struct Network {
  TapeRegion region;
  std::vector<Target> targets;        ///< One per end of the region.
  std::vector<std::string> barriers;  ///< Labels of operators with no backward function that layers follow.
};

/// Finds the region: all nodes that layers or outputs depend on, except `barred` nodes and nodes without a backward
/// function. Such a node before a layer keeps all that precedes it out of the region; one after the last layers keeps
/// out what follows it. The ends are where the region leaves off. `quantized` is the simulated model. Fails with
/// kUnsupported if no layer is left.
Result<Network> find_network(const std::vector<Layer>& layers, const ir::Graph& quantized,
                             const std::set<ir::NodeId>& barred);

/// Models with the same inputs, and samples for all of them.
struct NetworkModels {
  const ir::Model& quantized;  ///< Simulated.
  const ir::Model& exact;      ///< The float model that shares its ids with `quantized`.
  const ir::Model& teacher;    ///< Inner values correspond by name.
  const ir::Model* tail;       ///< The float model after the outputs; may be null.
  const exec::Environment& environment;
  const calib::DataReader& data;
};

/// Pairs ends and inner values with the teacher's, measured on at most `samples` samples, and makes the inner values
/// ends of the region, too. Ends without a partner are removed. Fails with kUnsupported if no end has a partner.
Status find_targets(const NetworkModels& models, size_t samples, Network& network);

}  // namespace quarkq::planning::finetune
