// SPDX-License-Identifier: MIT
#include "exec/evaluation.h"

#include "exec/environment.h"
#include "exec/layout.h"
#include "exec/stage.h"

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

Result<const ir::Tensor*> Evaluation::tensor(size_t i) const {
  if (!has(i)) return corrupt("input ", i, " is missing");
  if (!in(i).is_tensor()) return cannot("input ", i, " is a sequence or an empty optional, allowed: a tensor");
  return &in(i).tensor;
}

Result<const std::vector<ir::Tensor>*> Evaluation::sequence(size_t i) const {
  if (!has(i)) return corrupt("input ", i, " is missing");
  if (!in(i).is_sequence()) return cannot("input ", i, " is not a sequence");
  return &in(i).sequence;
}

Result<int64_t> Evaluation::integer(size_t i) const {
  QQ_TRY(const ir::Tensor* const value, tensor(i));
  if (value->size() != 1) return corrupt("input ", i, " has ", value->size(), " elements, allowed: 1");
  QQ_TRY(const std::vector<int64_t> values, ir::to_int64(*value));
  return values[0];
}

Result<bool> Evaluation::boolean(size_t i) const {
  QQ_TRY(const ir::Tensor* const value, tensor(i));
  if (value->type() != ElementType::kBool) return cannot("input ", i, " is ", name(value->type()), ", allowed: BOOL");
  QQ_TRY(const int64_t number, integer(i));
  return number != 0;
}

Result<const ir::Graph*> Evaluation::graph(std::string_view attribute) const {
  const ir::Graph* found = graphs_ == nullptr ? nullptr : graphs_->find(attribute);
  if (found == nullptr) return corrupt("attribute ", attribute, " with a graph is missing");
  return found;
}

int64_t Evaluation::max_trips() const {
  const int64_t bound = graphs_ == nullptr ? 0 : graphs_->limits().loop_trips;
  return bound > 0 ? bound : INT64_MAX;
}

int64_t Evaluation::allowed_memory() const {
  return exec::allowed_memory(graphs_ == nullptr ? 0 : graphs_->limits().memory);
}

Result<std::vector<ir::Operand>> Evaluation::run_graph(std::string_view attribute,
                                                       std::span<const ir::Operand> inputs) {
  QQ_TRY(const ir::Graph* const nested, graph(attribute));
  if (nested->inputs().size() != inputs.size()) {
    return corrupt("the graph in attribute ", attribute, " takes ", nested->inputs().size(), " inputs, ", inputs.size(),
                   " are given");
  }
  return graphs_->run(attribute, inputs).context(std::string(attribute));
}

}  // namespace quarkq::exec
