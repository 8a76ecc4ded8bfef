// SPDX-License-Identifier: MIT
// The second stages of the plan (ref:marking#second-stages): a node reads and writes one format, whatever its
// neighbours do.
#include "ir/quantizing_ops.h"
#include "numeric/element_type.h"
#include "plan/constant_codes.h"
#include "plan/lowering/qdq_writer.h"

namespace quarkq::plan {
namespace {

/// The first node of a stage.
bool begins_stage(const ir::Node& node) {
  const ir::QuantizingPart part = ir::quantizing_part(&node);
  return part == ir::QuantizingPart::kQuantize || part == ir::QuantizingPart::kBoth || node.op == kFakeQuantize;
}

/// Returns the calibrated range of the value, or of the value whose parameters it shares.
std::optional<numeric::Range> range_of(const QuantPlan& plan, ir::ValueId value) {
  const QuantSlot* slot = plan.find(value);
  for (size_t i = 0; slot != nullptr && i < plan.slots().size(); ++i) {
    if (slot->range || !slot->provider.valid()) return slot->range;
    slot = plan.find(slot->provider);
  }
  return {};
}

}  // namespace

Result<QdqWriter::Parameters> QdqWriter::extra_parameters(const ExtraStage& extra) {
  const auto key = std::make_pair(extra.value, extra.stage.spec.type);
  if (const auto found = extra_parameters_.find(key); found != extra_parameters_.end()) return found->second;
  const std::string& name = extra_names_.at(extra.value);
  numeric::QuantParams params;
  if (extra.stage.spec.needs_range()) {
    const auto range = range_of(plan_, extra.value);
    if (!range) return internal_error("tensor ", name, " has a second format, but no range");
    QQ_TRY(params, numeric::params_for_range(extra.stage.spec, *range));
  }
  const bool is_half = graph_.value(extra.value).type.element == ElementType::kFloat16;
  ir::Tensor scale = ir::Tensor::from<float>({}, {params.scale});
  if (is_half) {
    scale = ir::Tensor::allocate(ElementType::kFloat16, {});
    scale.mutable_data<uint16_t>()[0] = float16_from_float(params.scale);
  }
  Parameters made;
  made.scale = edit_.add_initializer(name + "_additional_scale", std::move(scale));
  made.zero_point = edit_.add_initializer(name + "_additional_zero_point",
                                          store_codes({params.zero_point}, extra.stage.spec.type, {}));
  extra_parameters_[key] = made;
  return made;
}

Result<ir::ValueId> QdqWriter::write_extra(const ExtraStage& extra, ir::ValueId input, const std::string& target) {
  const std::string scope = cat(extra_names_.at(extra.value), "_", graph_.node(extra.node).name, "_", extra.index, "_",
                                target, "_additional_");
  if (extra.stage.kind == StageKind::kBlock) {
    const std::string name = scope + extra.stage.block->op;
    const ir::ValueId output = add_output(name + "_output", extra.value);
    write_block(extra.stage, name, input, output);
    return output;
  }
  QQ_TRY(const Parameters parameters, extra_parameters(extra));
  QdqNames names("");
  names.quantize_node = scope + "ExtendedQuantizeLinear";
  names.dequantize_node = scope + "ExtendedDequantizeLinear";
  names.quantize_output = names.quantize_node + "_output";
  const ir::ValueId output = add_output(names.dequantize_node + "_output", extra.value);
  write_pair(extra.stage, names, parameters, input, output);
  return output;
}

Status QdqWriter::write_extras() {
  for (const ExtraStage& extra : plan_.extras) {
    if (!graph_.is_alive(extra.node)) continue;
    const ir::Node& node = graph_.node(extra.node);
    const auto index = static_cast<size_t>(extra.index);
    if (!extra.is_after) {
      const ir::ValueId input = node.inputs[index];
      QQ_TRY(const ir::ValueId output, write_extra(extra, input, node.name));
      edit_.set_input(extra.node, index, output);
      continue;
    }
    const ir::ValueId made = node.outputs[index];
    for (const ir::Use& use : std::vector<ir::Use>(graph_.value(made).uses)) {
      if (use.is_capture || use.input != 0 || !begins_stage(graph_.node(use.node))) continue;
      QQ_TRY(const ir::ValueId output, write_extra(extra, made, graph_.node(use.node).name));
      edit_.set_input(use.node, 0, output);
    }
  }
  return Status();
}

}  // namespace quarkq::plan
