// SPDX-License-Identifier: MIT
// Runs the conversions in the reference's order (ref:npu#dpu-simulation), each over the nodes in list order.
#include "planning/restructure/simulate_dpu.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "numeric/element_type.h"
#include "plan/lowering/lower.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

constexpr int64_t kLargestKernel = 255;

struct FixedFactor {
  int64_t kernel;
  double factor;
};
constexpr FixedFactor kFixedFactors[] = {
    {3, 9.0 * 7 / 64}, {5, 25.0 * 10 / 256}, {6, 36.0 * 7 / 256}, {7, 49.0 * 21 / 1024}, {14, 196.0 * 21 / 4096},
};

}  // namespace

double mean_factor(int64_t count) {
  QQ_CHECK(count > 0);
  const auto size = static_cast<double>(count);
  const int shifts = 7 + static_cast<int>(std::ceil(std::log2(size)));
  double best_factor = 1, best_error = HUGE_VAL;
  for (int n = 0; n < shifts; ++n) {
    const double multiplier = std::nearbyint(std::ldexp(1.0, n) / size);
    const double quotient = std::ldexp(multiplier, -n), error = std::abs(quotient - 1 / size);
    if (error < best_error) {
      best_error = error;
      best_factor = quotient * size;
    }
  }
  return best_factor;
}

double average_pool_factor(int64_t kernel) {
  if (kernel > kLargestKernel) return 1;
  for (const FixedFactor& row : kFixedFactors) {
    if (row.kernel == kernel) return row.factor;
  }
  return mean_factor(kernel * kernel);
}

float dpu_leaky_relu_alpha(float alpha) {
  return static_cast<float>(std::nearbyint(static_cast<double>(alpha) * 256) / 256);
}

bool has_dpu_hard_sigmoid_attributes(const ir::Node& node) {
  constexpr double kTolerance = 1e-6;
  const auto* alpha = node.get<float>("alpha");
  const auto* beta = node.get<float>("beta");
  return alpha != nullptr && std::abs(static_cast<double>(*alpha) - 1.0 / 6) < kTolerance &&
         (beta == nullptr || std::abs(static_cast<double>(*beta) - 0.5) < kTolerance);
}

namespace {

bool has_own_pairs(const plan::QuantPlan& plan, ir::ValueId value) {
  const auto place = static_cast<size_t>(value.index);
  return plan.dedicated_pairs && place < plan.dedicated_uses.size() && plan.dedicated_uses[place].size() >= 2;
}

bool has_pair(const plan::QuantPlan& plan, ir::ValueId value) {
  const plan::QuantSlot* slot = plan.find(value);
  return slot != nullptr && slot->state != plan::SlotState::kAbsorbed;
}

ir::Tensor scalar(float value, ElementType type) {
  if (type != ElementType::kFloat16) return ir::Tensor::scalar<float>(value);
  ir::Tensor half = ir::Tensor::allocate(ElementType::kFloat16, {});
  half.mutable_data<uint16_t>()[0] = float16_from_float(value);
  return half;
}

/// The reference looks shapes up through a standard DQ, and only among inner values (ref:npu#pools).
bool finds_shape(const pass::RestructureContext& context, ir::ValueId value) {
  if (context.settings.quirk(config::Quirk::kSimulateAnyShape)) return true;
  const ir::Value& found = context.model.graph.value(value);
  if (found.is_input || found.is_output) return false;
  return context.settings.traits().finds_shapes_through_pairs || !has_pair(context.plan, value);
}

}  // namespace

std::string Simulation::written_name(ir::ValueId value) const {
  const ir::Value& named = graph().value(value);
  const bool is_renamed = named.is_output && has_pair(context_.plan, value) && !has_own_pairs(context_.plan, value);
  return is_renamed ? plan::QdqNames(named.name).quantize_input : named.name;
}

void Simulation::rescale(ir::NodeId id, float factor) {
  const ir::Node node = graph().node(id);
  const ir::ValueId output = node.outputs[0];
  const std::string name = written_name(output);
  const ir::ValueType type = graph().value(output).type;
  const ir::ValueId unscaled = edit_.add_value(name + "_Mul", type);
  if (node.name.empty()) edit_.node(id).name = name;
  edit_.set_output(id, 0, unscaled);
  ir::ValueType scalar_type;
  scalar_type.element = type.element == ElementType::kFloat16 ? ElementType::kFloat16 : ElementType::kFloat;
  scalar_type.has_shape = true;
  const ir::ValueId scale = edit_.add_value(name + "_Scale", scalar_type);
  edit_.add_node({.op = "Constant",
                  .domain = "",
                  .name = "",
                  .inputs = {},
                  .outputs = {scale},
                  .attributes = {{"value", scalar(factor, scalar_type.element), {}, {}}},
                  .origins = node.origins});
  edit_.add_node({.op = "Mul",
                  .domain = "",
                  .name = name + "_Mul",
                  .inputs = {unscaled, scale},
                  .outputs = {output},
                  .attributes = {},
                  .origins = node.origins});
  changed = true;
}

void Simulation::move_to_end(ir::NodeId id) {
  std::vector<ir::NodeId> order = graph().order();
  std::erase(order, id);
  order.push_back(id);
  edit_.set_order(std::move(order));
}

void Simulation::hand_over_read(ir::ValueId value, ir::NodeId from, ir::NodeId to) {
  const auto place = static_cast<size_t>(value.index);
  if (place >= context_.plan.dedicated_uses.size()) return;
  for (ir::Use& use : context_.plan.dedicated_uses[place]) {
    if (use.node == from) use.node = to;
  }
}

std::optional<std::vector<int64_t>> Simulation::sizes(ir::ValueId value) const {
  if (!value.valid() || !finds_shape(context_, value)) return {};
  const ir::ValueType& type = graph().value(value).type;
  if (!type.has_shape) return {};
  std::vector<int64_t> sizes;
  for (const ir::Dim& dim : type.dims) sizes.push_back(dim.size);
  return sizes;
}

void Simulation::leave(const ir::Node& node, const std::string& why) {
  context_.diagnostics.add("dpu-conversion-left-out", graph().label(node.id), why + "; it is kept as it is");
}

namespace {

struct Conversion {
  bool config::Settings::Npu::*is_enabled;
  std::vector<std::string_view> ops;
  bool needs_op_in_set;  ///< else only the lists of included and excluded nodes count
  Convert convert;
};

const std::vector<Conversion>& conversions() {
  using config::Settings;
  static const std::vector<Conversion> kConversions = {
      {&Settings::Npu::convert_leaky_relu_to_dpu_version, {"LeakyRelu"}, true, convert_leaky_relu},
      {&Settings::Npu::convert_sigmoid_to_hard_sigmoid, {"Sigmoid"}, true, convert_sigmoid},
      {&Settings::Npu::convert_hard_sigmoid_to_dpu_version, {"HardSigmoid"}, false, convert_hard_sigmoid},
      {&Settings::Npu::convert_avg_pool_to_dpu_version,
       {"AveragePool", "GlobalAveragePool"},
       true,
       convert_average_pool},
      {&Settings::Npu::convert_reduce_mean_to_dpu_version, {"ReduceMean"}, true, convert_reduce_mean},
      {&Settings::Npu::convert_softmax_to_dpu_version, {"Softmax"}, true, convert_softmax},
      {&Settings::Npu::convert_instance_norm_to_dpu_version, {"InstanceNormalization"}, true, convert_instance_norm},
      {&Settings::Npu::convert_clip_to_dpu_version, {"Clip"}, true, convert_clip},
  };
  return kConversions;
}

bool is_selected(const plan::Selection& selection, const ir::Node& node, const Conversion& conversion) {
  if (conversion.needs_op_in_set) return selection.selects(node);
  return (selection.included.empty() || selection.included.contains(node)) && !selection.excluded.contains(node);
}

}  // namespace

Result<Changed> simulate_dpu(pass::RestructureContext& context) {
  Simulation simulation(context);
  for (const Conversion& conversion : conversions()) {
    if (!(context.settings.npu.*conversion.is_enabled)) continue;
    const std::vector<ir::NodeId> order = context.graph().order();
    for (const ir::NodeId id : order) {
      const ir::Node& node = context.graph().node(id);
      const bool is_its_op = node.domain.empty() &&
                             std::find(conversion.ops.begin(), conversion.ops.end(), node.op) != conversion.ops.end();
      if (is_its_op && is_selected(context.selection, node, conversion)) conversion.convert(simulation, id);
    }
  }
  return simulation.changed ? Changed::kYes : Changed::kNo;
}

}  // namespace quarkq::planning
