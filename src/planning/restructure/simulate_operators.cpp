// SPDX-License-Identifier: MIT
// The conversions that take few nodes (ref:npu#dpu-simulation, ref:npu#pools).
#include <algorithm>
#include <cmath>

#include "ir/quantizing_ops.h"
#include "ir/shape.h"
#include "planning/restructure/simulate_dpu.h"

namespace quarkq::planning {
namespace {

constexpr float kDefaultLeakyAlpha = 0.01f;
constexpr float kSigmoidSlope = 1.0f / 6;

/// The reference rounds an alpha that is written only, not the default 0.01.
bool rounds_default_alpha(const Simulation& simulation) { return !simulation.is_compat(); }
/// The reference rounds the bounds of a Clip in place, whatever else reads them.
bool edits_shared_bounds(const Simulation& simulation) { return simulation.is_compat(); }

/// Length of the square side that the pool averages over; 0 when there is none.
int64_t square_kernel(const Simulation& simulation, const ir::Node& node) {
  std::vector<int64_t> kernel;
  if (node.is("AveragePool")) {
    kernel = node.ints_or("kernel_shape", {});
  } else if (const auto sizes = simulation.sizes(node.input(0)); sizes && sizes->size() == 4) {
    kernel = {(*sizes)[2], (*sizes)[3]};
  }
  return kernel.size() == 2 && kernel[0] == kernel[1] && kernel[0] > 0 ? kernel[0] : 0;
}

/// Number of values that a ReduceMean averages; 0 when it is not known.
int64_t mean_count(const Simulation& simulation, const ir::Node& node) {
  std::vector<int64_t> axes = node.ints_or("axes", {});
  if (node.input(1).valid() && simulation.graph().value(node.input(1)).is_initializer()) {
    const Result<std::vector<int64_t>> given = ir::to_int64(*simulation.graph().constant(node.input(1)));
    if (given.ok()) axes = given.value();
  }
  const auto sizes = simulation.sizes(node.input(0));
  if (axes.empty() || !sizes) return 0;
  const auto places = ir::normalize_axes(axes, static_cast<int64_t>(sizes->size()));
  if (!places.ok()) return 0;
  ir::Shape averaged;
  for (const int64_t place : places.value()) averaged.push_back((*sizes)[static_cast<size_t>(place)]);
  const Result<int64_t> count = ir::element_count(averaged);
  return count.ok() ? count.value() : 0;
}

/// Rounds a bound that is a stored scalar; true when it was one.
bool round_bound(Simulation& simulation, ir::NodeId id, size_t input) {
  const ir::ValueId bound = simulation.graph().node(id).input(input);
  if (!bound.valid() || simulation.context().plan.has(bound)) return false;
  const ir::Value& value = simulation.graph().value(bound);
  if (!value.is_initializer() || value.constant->type() != ElementType::kFloat || value.constant->size() != 1) {
    return false;
  }
  const float given = value.constant->data<float>()[0];
  const float rounded = std::clamp(std::nearbyint(given), -128.0f, 127.0f);
  if (rounded == given) return true;
  const ir::Tensor stored = ir::Tensor::from<float>(value.constant->dims(), std::vector<float>{rounded});
  if (value.uses.size() <= 1 || edits_shared_bounds(simulation)) {
    simulation.edit().set_constant(bound, stored);
  } else {
    simulation.edit().set_input(id, input, simulation.edit().add_initializer(value.name + "_dpu", stored));
  }
  simulation.changed = true;
  return true;
}

void add_bound(Simulation& simulation, ir::NodeId id, size_t input, const char* suffix, float bound) {
  if (simulation.graph().node(id).input(input).valid()) return;
  const std::string name = simulation.graph().node(id).name + suffix;
  const ir::ValueId added = simulation.edit().add_initializer(name, ir::Tensor::scalar<float>(bound));
  if (input < simulation.graph().node(id).inputs.size()) {
    simulation.edit().set_input(id, input, added);
  } else {
    simulation.edit().append_input(id, added);
  }
  simulation.changed = true;
}

}  // namespace

void convert_leaky_relu(Simulation& simulation, ir::NodeId id) {
  ir::Node& node = simulation.edit().node(id);
  const auto* alpha = node.get<float>("alpha");
  if (alpha == nullptr && !rounds_default_alpha(simulation)) return;
  const float rounded = dpu_leaky_relu_alpha(alpha != nullptr ? *alpha : kDefaultLeakyAlpha);
  if (alpha != nullptr && rounded == *alpha) return;
  node.set("alpha", rounded);
  simulation.changed = true;
}

void convert_sigmoid(Simulation& simulation, ir::NodeId id) {
  ir::Node& node = simulation.edit().node(id);
  node.op = "HardSigmoid";
  node.attributes.clear();
  node.set("alpha", kSigmoidSlope);
  simulation.move_to_end(id);
  simulation.changed = true;
}

void convert_hard_sigmoid(Simulation& simulation, ir::NodeId id) {
  if (has_dpu_hard_sigmoid_attributes(simulation.graph().node(id))) simulation.rescale(id, kHardSigmoidFactor);
}

void convert_average_pool(Simulation& simulation, ir::NodeId id) {
  const ir::Node& node = simulation.graph().node(id);
  if (const int64_t kernel = square_kernel(simulation, node); kernel > 0) {
    simulation.rescale(id, static_cast<float>(average_pool_factor(kernel)));
  } else {
    simulation.leave(node, "the DPU averages over squares of a known size only");
  }
}

void convert_reduce_mean(Simulation& simulation, ir::NodeId id) {
  const ir::Node& node = simulation.graph().node(id);
  if (const int64_t count = mean_count(simulation, node); count > 0) {
    simulation.rescale(id, static_cast<float>(mean_factor(count)));
  } else {
    simulation.leave(node, "the number of values that it averages is not known");
  }
}

void convert_instance_norm(Simulation& simulation, ir::NodeId id) {
  constexpr float kDefaultEpsilon = 1e-5f;
  ir::Node& node = simulation.edit().node(id);
  const float epsilon = node.float_or("epsilon", kDefaultEpsilon);
  node.op = "ExtendedInstanceNormalization";
  node.domain = ir::kQuarkDomain;
  node.attributes.clear();
  node.set("epsilon", epsilon);
  simulation.changed = true;
}

void convert_clip(Simulation& simulation, ir::NodeId id) {
  constexpr size_t kMin = 1, kMax = 2;
  const bool has_min = round_bound(simulation, id, kMin), has_max = round_bound(simulation, id, kMax);
  if (!has_min && !has_max) {
    simulation.leave(simulation.graph().node(id), "neither of its bounds is a stored scalar");
    return;
  }
  add_bound(simulation, id, kMin, "_dpu_min", -128.0f);
  add_bound(simulation, id, kMax, "_dpu_max", 127.0f);
}

}  // namespace quarkq::planning
