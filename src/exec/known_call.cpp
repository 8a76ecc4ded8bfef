// SPDX-License-Identifier: MIT
#include "exec/known_call.h"

#include "exec/layout_convert.h"

namespace quarkq::exec {

Result<std::optional<std::vector<ir::Tensor>>> run_known(const KnownCall& call,
                                                         const std::vector<const ir::Tensor*>& inputs) {
  const OpDef& op = call.op;
  std::vector<Spec> specs(inputs.size());
  std::vector<bool> present(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    specs[i] = {inputs[i]->type(), inputs[i]->dims(), Layout::kPlain, inputs[i]};
    present[i] = true;
  }
  ir::Tensor image;
  const bool is_image = op.rule == LayoutRule::kImage && !specs.empty() && present[0] && specs[0].rank() >= 3 &&
                        specs[0].rank() <= 5 && bits(specs[0].type) >= 8;
  if (is_image) {
    image = in_layout(*inputs[0], Layout::kChannelsLast);
    specs[0] = {image.type(), image.dims(), Layout::kChannelsLast, &image};
  }
  Prepare prepare(call.node, call.label, call.opset, std::move(specs), std::move(present));
  prepare.set_layout(is_image ? Layout::kChannelsLast : Layout::kPlain);
  prepare.set_max_memory(call.max_memory);
  QQ_TRY(const Kernel kernel, op.prepare(prepare));
  if (!kernel) return std::optional<std::vector<ir::Tensor>>();
  QQ_TRY(std::vector<ir::Tensor> outputs, run_prepared(prepare, kernel, call.max_memory));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (prepare.output(i).declared) outputs[i] = in_onnx_order(outputs[i], prepare.output(i).spec.layout);
  }
  return std::optional(std::move(outputs));
}

}  // namespace quarkq::exec
