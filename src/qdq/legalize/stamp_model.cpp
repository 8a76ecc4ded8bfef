// SPDX-License-Identifier: MIT
// The producer, names that are unique, and the types of all values that nodes make: readers of the model need them
// where shape inference stops, at the operators of com.amd.quark.
#include <optional>
#include <string_view>

#include "exec/session.h"
#include "ir/edit.h"
#include "pass/output_guard.h"
#include "qdq/passes.h"
#include "quarkq/status.h"

namespace quarkq::qdq {

// Reports of compilers and their partition files go by the names of nodes.

Result<Changed> name_nodes(pass::QdqContext& context) {
  ir::Graph& graph = context.model.graph;
  ir::UniqueNames names;
  for (const ir::NodeId id : graph.order()) names.add(graph.node(id).name);
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.name.empty()) continue;
    const bool has_output = !node.outputs.empty() && node.output(0).valid();
    edit.node(id).name = names.take(has_output ? cat(graph.value(node.output(0)).name, "_", node.op) : node.op);
    changed = Changed::kYes;
  }
  return changed;
}

namespace {

/// The onnx library invents such names; in a file they could meet others of another meaning.
constexpr std::string_view kInvented = "unk__";

/// The value_info written for inner values.
Changed store_known_types(ir::Graph& graph) {
  Changed changed = Changed::kNo;
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      ir::Value& value = edit.mutable_value(output);
      if (value.has_info || value.is_output || !value.type.is_tensor() || !value.type.has_shape) continue;
      value.has_info = true;
      changed = Changed::kYes;
      for (ir::Dim& dim : value.type.dims) {
        if (dim.symbol.starts_with(kInvented)) dim.symbol.clear();
      }
    }
  }
  return changed;
}

}  // namespace

Result<Changed> stamp_model(pass::QdqContext& context) {
  ir::Model& model = context.model;
  const bool is_stamped = model.producer_name == "quarkq" && model.producer_version == version();
  model.producer_name = "quarkq";
  model.producer_version = version();
  const size_t renamed = ir::make_names_unique(model.graph);
  QQ_TRY(const Changed retyped, pass::infer_types_again(model, context.diagnostics));
  const Changed told = store_known_types(model.graph);
  const bool is_same = is_stamped && renamed == 0 && retyped == Changed::kNo && told == Changed::kNo;
  return is_same ? Changed::kNo : Changed::kYes;
}

// FillAllValueInfo (ref:writing#post-processing): one sample is run, and each tensor's type and shape is written down
// as seen.

namespace {

struct Seen {
  ElementType element = ElementType::kUndefined;
  ir::Shape dims;
};

/// Notes what the executor announces.
class TypeNotes : public exec::TapSink {
 public:
  explicit TypeNotes(size_t values) : seen(values) {}

  Status on_value(ir::ValueId value, const exec::TensorView& view) override {
    seen[static_cast<size_t>(value.index)] = {view.type, exec::logical_dims(*view.stored_dims, view.layout)};
    return Status();
  }

  std::vector<std::optional<Seen>> seen;  ///< Indexed by value.
};

/// The values that nodes make.
std::vector<ir::ValueId> made_values(const ir::Graph& graph) {
  std::vector<ir::ValueId> values;
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (output.valid() && graph.value(output).type.other_type.empty()) values.push_back(output);
    }
  }
  return values;
}

bool contradicts(const ir::ValueType& type, const Seen& seen) {
  if (type.element != ElementType::kUndefined && type.element != seen.element) return true;
  if (!type.has_shape) return false;
  if (type.dims.size() != seen.dims.size()) return true;
  for (size_t i = 0; i < seen.dims.size(); ++i) {
    if (type.dims[i].known() && type.dims[i].size != seen.dims[i]) return true;
  }
  return false;
}

Changed write_type(pass::QdqContext& context, ir::ValueId id, Seen seen) {
  const ir::Value& value = context.graph().value(id);
  // The executor computes float16 as float32 (ADR 0005).
  if (value.type.element == ElementType::kFloat16 && seen.element == ElementType::kFloat)
    seen.element = ElementType::kFloat16;
  if (contradicts(value.type, seen))
    context.diagnostics.add("value-info-fixed", value.name, "the stored type is not the one found with a sample");
  ir::ValueType type;
  type.element = seen.element;
  type.has_shape = true;
  for (const int64_t dim : seen.dims) type.dims.push_back({dim, {}});
  const bool is_inner = !value.is_input && !value.is_output;
  if (value.type == type && (value.has_info || !is_inner)) return Changed::kNo;
  ir::GraphEdit edit(context.graph());
  edit.set_type(id, std::move(type));
  if (is_inner) edit.mutable_value(id).has_info = true;
  return Changed::kYes;
}

}  // namespace

Result<Changed> fill_all_value_info(pass::QdqContext& context) {
  const auto left_out = [&](const std::string& why) {
    context.diagnostics.add("value-info-not-filled", "FillAllValueInfo", why);
    return Changed::kNo;
  };
  if (context.data == nullptr || context.data->size() == 0) return left_out("there is no sample to run");
  const ir::Graph& graph = context.graph();
  QQ_TRY(const calib::Sample sample, context.data->read(0));
  TypeNotes notes(graph.value_count());
  {
    exec::SessionOptions options;
    options.taps = made_values(graph);
    exec::Session session(context.model, context.environment, std::move(options));
    const auto ran = session.run(sample.inputs, &notes);
    if (!ran.ok()) return left_out(ran.status().message());
  }
  const std::vector<ir::ValueId> inputs = graph.required_inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    notes.seen[static_cast<size_t>(inputs[i].index)] = {sample.inputs[i].type(), sample.inputs[i].dims()};
  Changed changed = Changed::kNo;
  for (size_t i = 0; i < notes.seen.size(); ++i) {
    if (!notes.seen[i]) continue;
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (write_type(context, id, *notes.seen[i]) == Changed::kYes) changed = Changed::kYes;
  }
  return changed;
}

}  // namespace quarkq::qdq
