// SPDX-License-Identifier: MIT
#include "planning/tune/mixed_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/strings.h"
#include "ir/constants.h"
#include "numeric/encode.h"
#include "numeric/metrics.h"
#include "plan/constant_codes.h"
#include "plan/stage.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

std::string names_of_values(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ir::ValueId value : values) names.push_back(value.valid() ? graph.value(value).name : "");
  return join(names, ",");
}

}  // namespace

std::string sensitivity_key(const ir::Graph& graph, const config::MixedSettings& options) {
  ContentHash hash;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    hash.add(cat(node.name, "|", node.op, "|", names_of_values(graph, node.inputs), "|",
                 names_of_values(graph, node.outputs)));
  }
  for (const std::string& layer : options.target_texts) hash.add(layer);
  for (const auto* names : {&options.target_ops, &options.include, &options.exclude}) hash.add(join(*names, ","));
  hash.add(cat(static_cast<int>(options.metric), " ", options.output_index, " ", options.data_size, " ",
               options.unshares, " ", options.skip_shared_inputs, " ", options.dual_pairs));
  if (!options.subgraph_file.empty()) {
    const Result<std::string> groups = read_text_file(options.subgraph_file);
    hash.add(groups.ok() ? groups.value() : options.subgraph_file);
  }
  return hash.text();
}

namespace {

using plan::QuantSlot;
using plan::StageKind;

bool is_stored_integer(const QuantSlot& slot) {
  return slot.codes && slot.stage.kind == StageKind::kStored && is_integer(slot.stage.spec.type);
}

/// Stored integers as numbers.
std::vector<double> code_values(const ir::Tensor& codes) { return ir::to_double(codes).value(); }

}  // namespace

Status MixedPlan::promote(ir::NodeId id, const MixedConfig& config) {
  const ir::Node node = context_.graph().node(id);
  nodes_.insert(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const bool is_constant = context_.graph().value(node.inputs[i]).is_initializer();
    const auto& own = i == 1 ? config.weight : config.bias;
    QQ_RETURN_IF_ERROR(promote_value(node.inputs[i], is_constant && (i == 1 || i == 2) ? own : config.input));
  }
  for (const ir::ValueId output : node.outputs) QQ_RETURN_IF_ERROR(promote_value(output, config.output));
  return encodes_from_floats() ? Status() : rescale_bias(node);
}

Status MixedPlan::promote_value(ir::ValueId value, const std::optional<MixedFormat>& format) {
  QuantSlot* slot = context_.plan.find(value);
  const bool has_stage =
      slot != nullptr && slot->role != plan::Role::kBias && slot->state != plan::SlotState::kAbsorbed;
  if (!format || !has_stage) return Status();
  tensors_.insert(value);
  context_.plan.decisions.push_back({value, plan::DecisionKind::kPromoted});
  if (format->stage.kind == StageKind::kBlock) {
    make_block(*slot, *format);
    return Status();
  }
  return context_.graph().value(value).is_initializer() ? promote_constant(*slot, *format)
                                                        : promote_activation(*slot, *format);
}

/// A block format needs no parameters, so none are shared with it.
void MixedPlan::make_block(QuantSlot& slot, const MixedFormat& format) {
  const ir::Value& value = context_.graph().value(slot.value);
  plan::Stage stage = format.stage;
  if (value.is_initializer()) stage.block = plan::for_constant(*stage.block, value.constant->rank());
  stage.params = context_.plan.own_params(slot);
  context_.plan.params.set(stage.params, {numeric::QuantParams{}});
  slot.provider = {};
  slot.codes.reset();
  slot.stage = std::move(stage);
}

/// Returns nullopt for a tensor that was not measured. A tensor that shares parameters may have a narrower range than
/// their owner, which the reference then clips.
std::optional<numeric::Range> MixedPlan::range_of(const QuantSlot& slot) const {
  if (slot.range) return slot.range;
  if (!encodes_from_floats() && context_.measured != nullptr) {
    const auto own = context_.measured->ranges.find(slot.value);
    if (own != context_.measured->ranges.end()) return own->second;
  }
  const QuantSlot* source = &slot;
  for (size_t i = 0; !source->range && source->provider.valid() && i < context_.plan.slots().size(); ++i) {
    source = &context_.plan.slot(source->provider);
  }
  return source->range;
}

Status MixedPlan::promote_activation(QuantSlot& slot, const MixedFormat& format) {
  const config::Settings& settings = context_.settings;
  plan::Stage stage = format.stage;
  stage.kind = StageKind::kPair;
  stage.params = slot.stage.params;
  stage.spec.symmetric =
      settings.origins.contains("ActivationSymmetric") ? settings.formats.activation_symmetric : format.symmetric;
  const std::optional<numeric::Range> range = range_of(slot);
  if (stage.spec.needs_range() && !range) {
    return internal_error("tensor ", context_.graph().value(slot.value).name, " has no range for its new format");
  }
  QQ_TRY(const numeric::QuantParams params, numeric::params_for_range(stage.spec, range.value_or(numeric::Range{})));
  if (options_.unshares || slot.stage.kind == StageKind::kBlock) {
    stage.params = context_.plan.own_params(slot);
    slot.provider = {};
    slot.stage = stage;
  } else {
    for (QuantSlot& other : context_.plan.slots()) {
      if (other.role == plan::Role::kActivation && other.stage.params == stage.params) other.stage = stage;
    }
  }
  context_.plan.params.set(stage.params, {params});
  return Status();
}

/// The reference quantizes what it stored; the float values are better.
Result<std::vector<float>> MixedPlan::values_of(const QuantSlot& slot) const {
  const ir::Tensor& tensor = *context_.graph().value(slot.value).constant;
  if (encodes_from_floats() || !is_stored_integer(slot)) return ir::float_values(tensor);
  const plan::ParamList& params = context_.plan.params[slot.stage.params];
  const numeric::ChannelSplit split = numeric::split_channels(tensor.dims(), slot.stage.spec);
  std::vector<float> values;
  for (const double code : code_values(*slot.codes)) {
    const auto channel = static_cast<size_t>(static_cast<int64_t>(values.size()) / split.inner % split.channels);
    values.push_back((static_cast<float>(code) - static_cast<float>(params[channel].zero_point)) *
                     params[channel].scale);
  }
  return values;
}

Status MixedPlan::promote_constant(QuantSlot& slot, const MixedFormat& format) {
  const config::Settings& settings = context_.settings;
  const ir::Shape dims = context_.graph().value(slot.value).constant->dims();
  QQ_TRY(const std::vector<float> values, values_of(slot));
  plan::Stage stage = format.stage;
  stage.kind = settings.qdq.add_qdq_pair_to_weight ? StageKind::kPair : StageKind::kStored;
  stage.spec.symmetric =
      settings.origins.contains("WeightSymmetric") ? settings.formats.weight_symmetric : format.symmetric;
  stage.params = context_.plan.own_params(slot);
  const numeric::ChannelSplit split = numeric::split_channels(dims, stage.spec);
  numeric::IntegerRange limits;
  slot.clip = plan::ClipPolicy::kFullType;
  if (is_integer(stage.spec.type)) limits = numeric::integer_range(stage.spec.type, numeric::RangeKind::kFull);
  QQ_TRY(plan::ParamList params, numeric::weight_params(values, split, stage.spec, limits, false));
  slot.codes.reset();
  if (stage.kind == StageKind::kStored) {
    slot.codes = is_integer(stage.spec.type) ? plan::encode_constant(values, dims, stage.spec, params, limits)
                                             : plan::store_scaled_floats(values, split, params, stage.spec.type, dims);
  }
  context_.plan.params.set(stage.params, std::move(params));
  slot.stage = std::move(stage);
  return Status();
}

/// Like the reference: the integers times old scale / new scale, truncated. They saturate beyond int32.
Status MixedPlan::rescale_bias(const ir::Node& node) {
  QuantSlot* bias = context_.plan.find(node.input(2));
  if (bias == nullptr || !bias->bias || bias->bias->node != node.id || !bias->codes) return Status();
  const QuantSlot *input = context_.plan.find(bias->bias->input), *weight = context_.plan.find(bias->bias->weight);
  if (input == nullptr || weight == nullptr) return Status();
  const float scale =
      context_.plan.params[input->stage.params][0].scale * context_.plan.params[weight->stage.params][0].scale;
  const plan::ParamList old = context_.plan.params[bias->stage.params];
  std::vector<double> codes;
  for (const double code : code_values(*bias->codes)) {
    const float value = static_cast<float>(code) * old[old.size() > 1 ? codes.size() : 0].scale;
    codes.push_back(static_cast<double>(value / scale));
  }
  bias->codes = plan::store_saturated(codes, ElementType::kInt32, bias->codes->dims());
  bias->stage.spec.type = ElementType::kInt32;
  bias->stage.spec.per_channel = false;
  context_.plan.params.set(bias->stage.params, {{scale, 0}});
  return Status();
}

Status MixedPlan::refresh_constraints() const {
  Diagnostics said_before;
  pass::PlanContext context{.model = context_.model,
                            .settings = context_.settings,
                            .selection = context_.selection,
                            .plan = context_.plan,
                            .diagnostics = said_before,
                            .environment = context_.environment};
  if (context.settings.bias.int16_bias) QQ_RETURN_IF_ERROR(narrow_biases(context).status());
  context.plan.raw_reads.clear();
  return context.settings.removes_pairs() ? remove_pairs_between(context).status() : Status();
}

Status MixedPlan::finish() {
  if (encodes_from_floats()) QQ_RETURN_IF_ERROR(encode_biases_again());
  return refresh_constraints();
}

Status MixedPlan::encode_biases_again() {
  std::vector<ir::ValueId> homeless;
  for (const QuantSlot& slot : context_.plan.slots()) {
    if (slot.role != plan::Role::kBias) continue;
    const QuantSlot *input = context_.plan.find(slot.bias->input), *weight = context_.plan.find(slot.bias->weight);
    const bool has_scales = input != nullptr && weight != nullptr && input->stage.kind != StageKind::kBlock &&
                            weight->stage.kind != StageKind::kBlock;
    if (!has_scales) homeless.push_back(slot.value);
  }
  for (const ir::ValueId bias : homeless) context_.plan.remove(bias);
  if (context_.settings.widens_weight_scales()) QQ_RETURN_IF_ERROR(widen_weight_scales(context_).status());
  return encode_biases(context_).status();
}

}  // namespace quarkq::planning
