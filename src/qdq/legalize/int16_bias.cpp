// SPDX-License-Identifier: MIT
// Int16Bias (ref:marking#biases): the opset that int16 biases need, and int16 codes for stored int32 biases that the
// plan did not narrow (imported models). Their scales stay, so large biases saturate.
#include <algorithm>
#include <array>
#include <set>

#include "ir/edit.h"
#include "ir/qdq_nodes.h"
#include "pass/convert_opset.h"
#include "qdq/passes.h"

namespace quarkq::qdq {
namespace {

constexpr int64_t kOpsetWithInt16 = 21;

constexpr std::array<std::string_view, 6> kOpsWithBias = {
    "Conv", "ConvTranspose", "Gemm", "LayerNormalization", "InstanceNormalization", "BatchNormalization"};

bool is_stored(const ir::Graph& graph, ir::ValueId id, ElementType type) {
  return graph.value(id).is_initializer() && graph.value(id).constant->type() == type;
}

bool is_stored_int32(const ir::Graph& graph, ir::ValueId id) { return is_stored(graph, id, ElementType::kInt32); }

/// DQ nodes that make biases from integers of this type, in node order.
std::vector<ir::NodeId> bias_dequantizers(const ir::Graph& graph, ElementType type) {
  std::vector<ir::NodeId> found;
  std::set<ir::NodeId> seen;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (std::find(kOpsWithBias.begin(), kOpsWithBias.end(), node.op) == kOpsWithBias.end()) continue;
    const ir::Node* dq = ir::source_of(graph, node, 2);
    if (dq == nullptr || !ir::is_dq(*dq) || !dq->input(0).valid() || !dq->input(2).valid()) continue;
    if (!is_stored(graph, dq->input(0), type) || !is_stored(graph, dq->input(2), type)) continue;
    if (seen.insert(dq->id).second) found.push_back(dq->id);
  }
  return found;
}

struct Narrowed {
  ir::Tensor tensor;
  size_t saturated = 0;
};

Narrowed narrow(const ir::Tensor& wide) {
  Narrowed result{ir::Tensor::allocate(ElementType::kInt16, wide.dims())};
  auto codes = result.tensor.mutable_data<int16_t>();
  const auto from = wide.data<int32_t>();
  for (size_t i = 0; i < from.size(); ++i) {
    codes[i] = static_cast<int16_t>(std::clamp(from[i], -32768, 32767));
    if (codes[i] != from[i]) ++result.saturated;
  }
  return result;
}

/// True when no other node than the dequantizers reads the value.
bool is_read_by_them_only(const ir::Graph& graph, ir::ValueId id, const std::set<ir::NodeId>& dequantizers) {
  const ir::Value& value = graph.value(id);
  return !value.is_output && std::all_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
    return !use.is_capture && dequantizers.contains(use.node);
  });
}

}  // namespace

Result<Changed> int16_bias(pass::QdqContext& context) {
  const bool is_imported = context.plan.slots().empty();  // our own plan has narrowed what is to be narrow
  const bool has_wide = is_imported && !bias_dequantizers(context.graph(), ElementType::kInt32).empty();
  const bool has_narrow = !bias_dequantizers(context.graph(), ElementType::kInt16).empty();
  const bool needs_opset = context.model.opset() < kOpsetWithInt16;
  if (!has_wide && !(has_narrow && needs_opset)) return Changed::kNo;
  if (needs_opset) {
    // Origins stay, and with them what was selected.
    Result<ir::Model> raised = pass::convert_opset(context.model, kOpsetWithInt16);
    if (!raised.ok()) {
      context.diagnostics.add("bias-not-narrowed", "Int16Bias",
                              cat("biases stay int32, the opset cannot be raised: ", raised.status().message()));
      return Changed::kNo;
    }
    raised.value().path = context.model.path;
    context.model = std::move(raised).value();
  }
  if (!has_wide) return Changed::kYes;
  ir::GraphEdit edit(context.graph());
  const std::vector<ir::NodeId> found = bias_dequantizers(context.graph(), ElementType::kInt32);
  const std::set<ir::NodeId> dequantizers(found.begin(), found.end());
  for (const ir::NodeId id : found) {
    for (const size_t input : {size_t{0}, size_t{2}}) {
      const ir::ValueId stored = context.graph().node(id).input(input);
      if (!is_stored_int32(context.graph(), stored)) continue;  // shared, and done
      const std::string name = context.graph().value(stored).name;
      Narrowed narrowed = narrow(*context.graph().value(stored).constant);
      if (narrowed.saturated > 0)
        context.diagnostics.add("bias-saturated", name,
                                cat(narrowed.saturated, " of ", narrowed.tensor.size(), " values do not fit int16"));
      if (is_read_by_them_only(context.graph(), stored, dequantizers)) {
        edit.set_constant(stored, std::move(narrowed.tensor));
      } else {
        edit.set_input(id, input, edit.add_initializer(name + "_int16", std::move(narrowed.tensor)));
      }
    }
  }
  return Changed::kYes;
}

}  // namespace quarkq::qdq
