// SPDX-License-Identifier: MIT
#include "qdq/import/strip.h"

#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "qdq/clamp.h"
#include "qdq/import/lift.h"

namespace quarkq::qdq {
namespace {

class Stripper {
 public:
  explicit Stripper(LiftedModel lifted) : lifted_(std::move(lifted)), edit_(lifted_.model.graph) {}

  ir::Model run() {
    for (const plan::QuantSlot& slot : lifted_.plan.slots()) restore_clamp_of(slot);
    for (const ir::NodeId id : std::vector<ir::NodeId>(graph().order())) remove_block_format(id);
    edit_.remove_unused_initializers();
    return std::move(lifted_.model);
  }

 private:
  const ir::Graph& graph() const { return lifted_.model.graph; }

  void restore_clamp_of(const plan::QuantSlot& slot) {
    const plan::ParamList& params = lifted_.plan.params[slot.stage.params];
    if (slot.stage.kind != plan::StageKind::kPair || params.size() != 1) return;
    restore_clamp(lifted_.model, slot.value, {slot.stage.spec.type, params[0].scale, params[0].zero_point});
  }

  /// A node that rounds its input to a block format: its readers read the input.
  void remove_block_format(ir::NodeId id) {
    const ir::Node node = graph().node(id);
    if (ir::quantizing_part(node.op) != ir::QuantizingPart::kBoth) return;
    if (!node.input(0).valid() || !node.output(0).valid()) return;
    const ir::Value& input = graph().value(node.input(0));
    if (graph().value(node.output(0)).is_output && (input.is_output || !input.producer.valid())) return;
    edit_.remove_node(id);
    edit_.replace_value(node.output(0), node.input(0));
    edit_.remove_value(node.output(0));
  }

  LiftedModel lifted_;
  ir::GraphEdit edit_;
};

}  // namespace

Result<ir::Model> strip(const ir::Model& written) {
  QQ_TRY(LiftedModel lifted, lift(written));
  return strip(std::move(lifted));
}

ir::Model strip(LiftedModel lifted) { return Stripper(std::move(lifted)).run(); }

}  // namespace quarkq::qdq
