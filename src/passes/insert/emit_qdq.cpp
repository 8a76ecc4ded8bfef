// SPDX-License-Identifier: MIT
// Writes the plan into the graph (spec 02 A.6): pairs of activations and stored weights in marking order, then tensors
// that share a scale, then int32 biases; then the node order of spec 02 B.1.
#include <map>

#include "ir/edit.h"
#include "ir/topo.h"
#include "numeric/half.h"
#include "passes/calibrate/constants.h"
#include "passes/insert/names.h"
#include "passes/passes.h"
#include "plan/flavors.h"

namespace quarkq::passes {
namespace {

constexpr const char kMicrosoft[] = "com.microsoft";

class QdqWriter {
 public:
  explicit QdqWriter(PassContext& context)
      : context_(context), graph_(context.model.graph), edit_(context.model.graph), domain_(qdq_domain(context)) {}

  void write_pairs_and_weights() {
    for (const plan::QuantSlot& slot : context_.plan.slots()) {
      if (slot.provider.valid() || slot.role == plan::Role::kBias) continue;
      if (slot.role == plan::Role::kWeight) {
        write_weight(slot);
      } else {
        // An absorbed slot has parameters only when another one shares them.
        if (!context_.plan.params[slot.stages[0].params].empty()) write_parameters(slot);
        if (slot.state != plan::SlotState::kAbsorbed) write_pair(slot);
      }
    }
  }

  void write_sharing() {
    for (const plan::QuantSlot& slot : context_.plan.slots()) {
      if (slot.provider.valid() && slot.state != plan::SlotState::kAbsorbed) write_pair(slot);
    }
  }

  void write_biases() {
    for (const plan::QuantSlot& slot : context_.plan.slots()) {
      if (slot.role == plan::Role::kBias) write_bias(slot);
    }
  }

 private:
  /// The initializers of one parameter id.
  struct Parameters {
    ir::ValueId scale, zero_point;
  };

  /// Spec 02 B.3.
  static std::string qdq_domain(const PassContext& context) {
    const plan::Flavor& flavor = plan::flavor_of(context.settings.quantizer);
    if (flavor.domains == plan::DomainPolicy::kContrib) return kMicrosoft;
    if (flavor.domains == plan::DomainPolicy::kAlwaysStandard) return "";
    if (context.settings.use_qdq_contrib_ops) return kMicrosoft;
    constexpr int64_t kFirstOpsetWith16Bits = 21;
    const bool wide = bits(plan::element_type(context.settings.activation_type)) == 16 ||
                      bits(plan::element_type(context.settings.weight_type)) == 16;
    return wide && context.model.opset() < kFirstOpsetWith16Bits ? kMicrosoft : "";
  }

  const std::string& name_of(ir::ValueId value) const { return graph_.value(value).name; }

  ir::Tensor scale_tensor(const plan::QuantSlot& slot, const ir::Shape& dims) const {
    std::vector<float> scales;
    for (const numeric::QuantParams& params : context_.plan.params[slot.stages[0].params])
      scales.push_back(params.scale);
    if (graph_.value(slot.value).type.element != ElementType::kFloat16) return ir::Tensor::from<float>(dims, scales);
    ir::Tensor halves = ir::Tensor::allocate(ElementType::kFloat16, dims);
    for (size_t i = 0; i < scales.size(); ++i) halves.mutable_data<uint16_t>()[i] = float16_from_float(scales[i]);
    return halves;
  }

  ir::Tensor zero_point_tensor(const plan::QuantSlot& slot, const ir::Shape& dims) const {
    std::vector<int32_t> zeros;
    for (const numeric::QuantParams& params : context_.plan.params[slot.stages[0].params])
      zeros.push_back(params.zero_point);
    return store_codes(zeros, slot.stages[0].spec.type, dims);
  }

  ir::Shape parameter_dims(const plan::QuantSlot& slot) const {
    if (!slot.stages[0].spec.per_channel) return {};
    return {static_cast<int64_t>(context_.plan.params[slot.stages[0].params].size())};
  }

  /// Activations: zero point first, then scale (the reference's order of initializers).
  void write_parameters(const plan::QuantSlot& slot) {
    const std::string name = name_of(slot.value);
    Parameters made;
    made.zero_point = edit_.add_initializer(zero_point_name(name), zero_point_tensor(slot, {}));
    made.scale = edit_.add_initializer(scale_name(name), scale_tensor(slot, {}));
    parameters_[slot.stages[0].params] = made;
  }

  ir::NodeId write_dequantize(const std::string& node_name, ir::ValueId codes, const Parameters& parameters,
                              ir::ValueId output, const plan::QuantSlot& slot) {
    ir::NodeSpec spec{
        "DequantizeLinear", domain_, node_name, {codes, parameters.scale, parameters.zero_point}, {output}};
    if (slot.stages[0].spec.per_channel) spec.attributes.push_back({"axis", slot.stages[0].spec.axis, {}, {}});
    return edit_.add_node(std::move(spec));
  }

  /// Q and DQ reading `input`; `output` is the DQ's.
  void write_q_and_dq(const plan::QuantSlot& slot, const QdqNames& names, ir::ValueId input, ir::ValueId output) {
    const Parameters& parameters = parameters_.at(slot.stages[0].params);
    ir::ValueType coded = graph_.value(input).type;
    coded.element = slot.stages[0].spec.type;
    const ir::ValueId codes = edit_.add_value(names.quantize_output, coded);
    edit_.add_node(
        {"QuantizeLinear", domain_, names.quantize_node, {input, parameters.scale, parameters.zero_point}, {codes}});
    write_dequantize(names.dequantize_node, codes, parameters, output, slot);
  }

  void write_pair(const plan::QuantSlot& slot) {
    const std::string name = name_of(slot.value);
    const auto& readers = context_.plan.dedicated_uses[static_cast<size_t>(slot.value.index)];
    if (context_.plan.dedicated_pairs && readers.size() >= 2) {
      for (size_t i = 0; i < readers.size(); ++i) {
        const QdqNames names(name, cat("_", i + 1));
        const ir::ValueId output = edit_.add_value(names.dequantize_output, graph_.value(slot.value).type);
        edit_.set_input(readers[i].node, static_cast<size_t>(readers[i].input), output);
        write_q_and_dq(slot, names, slot.value, output);
      }
      return;
    }
    const QdqNames names(name);
    const ir::ValueId output = edit_.add_value(names.dequantize_output, graph_.value(slot.value).type);
    if (graph_.value(slot.value).is_output) {
      edit_.replace_value(slot.value, output);  // the DQ takes the output's name
      edit_.rename(slot.value, names.quantize_input);
    } else {
      move_node_uses(slot.value, output);
    }
    write_q_and_dq(slot, names, slot.value, output);
  }

  /// Readers in nested graphs go on reading the float value.
  void move_node_uses(ir::ValueId from, ir::ValueId to) {
    for (const ir::Use& use : std::vector<ir::Use>(graph_.value(from).uses)) {
      if (!use.is_capture) edit_.set_input(use.node, static_cast<size_t>(use.input), to);
    }
  }

  void write_weight(const plan::QuantSlot& slot) {
    const std::string name = name_of(slot.value);
    const ir::Shape dims = parameter_dims(slot);
    Parameters made;
    made.scale = edit_.add_initializer(scale_name(name), scale_tensor(slot, dims));
    made.zero_point = edit_.add_initializer(zero_point_name(name), zero_point_tensor(slot, dims));
    parameters_[slot.stages[0].params] = made;
    const ir::ValueId codes = edit_.add_initializer(stored_name(name), *slot.codes);
    const QdqNames names(name);
    const ir::ValueId output = edit_.add_value(names.dequantize_output, graph_.value(slot.value).type);
    move_node_uses(slot.value, output);
    write_dequantize(names.dequantize_node, codes, made, output, slot);
  }

  /// The DQ's output has the bias's own name, so its reader is not rewired.
  void write_bias(const plan::QuantSlot& slot) {
    const std::string name = name_of(slot.value), stored = stored_name(name);
    const auto count = static_cast<int64_t>(context_.plan.params[slot.stages[0].params].size());
    const ir::ValueId codes = edit_.add_initializer(stored, *slot.codes);
    Parameters made;
    made.scale = edit_.add_initializer(scale_name(stored), scale_tensor(slot, {count}));
    made.zero_point = edit_.add_initializer(zero_point_name(stored), zero_point_tensor(slot, parameter_dims(slot)));
    edit_.clear_constant(slot.value);
    write_dequantize(QdqNames(name).dequantize_node, codes, made, slot.value, slot);
  }

  PassContext& context_;
  const ir::Graph& graph_;
  ir::GraphEdit edit_;
  std::string domain_;
  std::map<plan::ParamId, Parameters> parameters_;
};

}  // namespace

Result<Changed> emit_qdq(PassContext& context) {
  if (context.plan.slots().empty()) return Changed::kNo;
  QdqWriter writer(context);
  writer.write_pairs_and_weights();
  writer.write_sharing();
  writer.write_biases();
  QQ_RETURN_IF_ERROR(ir::sort_topologically(context.graph()).status());
  ir::GraphEdit(context.graph()).remove_unused_initializers();
  return Changed::kYes;
}

}  // namespace quarkq::passes
