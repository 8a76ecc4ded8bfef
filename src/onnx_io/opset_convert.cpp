// SPDX-License-Identifier: MIT
// The library's converter drops unknown parts (metadata, rests, model functions) and treats omitted weights as inputs.
// Therefore only the changes of nodes are taken from its result; everything else is copied from the original by name.
#include "onnx_io/opset_convert.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "ir/edit.h"
#include "ir/graph.h"
#include "onnx_io/check_model.h"
#include "onnx_io/library.h"
#include "onnx_io/model_proto.h"
#include "onnx_io/opset_adapters.h"

namespace quarkq::onnx_io {
namespace {

// Repairs of the results of the onnx library's opset converter. Private to src/onnx_io.

constexpr int64_t kCoordinateModes = 11;  // Resize got coordinate_transformation_mode, roi and sizes
constexpr int64_t kAbsentInputs = 13;     // roi and scales became optional

/// Takes input `index` away from `node`, and its maker with it when nothing else reads that.
void drop_input(ir::GraphEdit& edit, const ir::Graph& graph, ir::NodeId node, size_t index) {
  const ir::ValueId value = graph.node(node).input(index);
  if (!value.valid()) return;
  edit.set_input(node, index, {});
  const ir::Node* maker = graph.producer(value);
  if (maker == nullptr || !maker->is("Constant") || graph.use_count(value) > 0) return;
  edit.remove_node(maker->id);
  edit.remove_value(value);
}

bool is_empty_constant(const ir::Graph& graph, ir::ValueId value) {
  const ir::Tensor* tensor = graph.constant(value);
  return tensor != nullptr && tensor->size() == 0;
}

/// Resize after a conversion from opset `from` to `to` (both of ai.onnx): coordinates of Upsample and of Resize-10 are
/// kept, and empty roi and scales tensors become absent inputs where the opset knows absent ones.
void repair_resize(ir::Graph& graph, int64_t from, int64_t to) {
  ir::GraphEdit edit(graph);
  const std::vector<ir::NodeId> order = graph.order();
  for (const ir::NodeId id : order) {
    if (!graph.is_alive(id) || !graph.node(id).is("Resize")) continue;
    if (from < kCoordinateModes && to >= kCoordinateModes) {
      // Upsample and Resize-10 read x_out / scale, rounded down; later opsets default to half_pixel.
      edit.node(id).set("coordinate_transformation_mode", std::string("asymmetric"));
      const bool is_nearest = graph.node(id).string_or("mode", "nearest") == "nearest";
      if (is_nearest) edit.node(id).set("nearest_mode", std::string("floor"));
      if (to >= kAbsentInputs) drop_input(edit, graph, id, 1);
    }
    if (to < kAbsentInputs) continue;
    for (const size_t index : {size_t{1}, size_t{2}}) {
      if (is_empty_constant(graph, graph.node(id).input(index))) drop_input(edit, graph, id, index);
    }
  }
}

/// Carries over from `old_` to `new_` what the conversion lost.
class Restorer {
 public:
  Restorer(const ir::Model& old_model, const Skeleton& skeleton, ir::Model& new_model)
      : old_(old_model.graph), skeleton_(skeleton), new_(new_model.graph), edit_(new_model.graph) {}

  void run() {
    restore_initializers();
    restore_constant_nodes();
    restore_values();
    restore_nodes();
    give_origins_to_new_nodes();
    new_.name = old_.name;
    new_.extra = old_.extra;
  }
  /// Every weight is there with the same bytes.
  Status check_weights() const;

 private:
  void restore_initializers();
  void restore_constant_nodes();
  void restore_values();
  void restore_nodes();
  void give_origins_to_new_nodes();
  void restore_node(const ir::Node& from, ir::Node& to);

  const ir::Graph& old_;
  const Skeleton& skeleton_;
  ir::Graph& new_;
  ir::GraphEdit edit_;
};

/// Initializers in their old order, those that the converter made after them.
void Restorer::restore_initializers() {
  std::vector<std::pair<ir::ValueId, ir::Tensor>> made;
  const std::vector<ir::ValueId> present = new_.initializers();
  for (const ir::ValueId id : present) {
    const ir::ValueId original = old_.find(new_.value(id).name);
    const bool known = original.valid() && old_.value(original).constant;
    if (!known) made.emplace_back(id, *new_.value(id).constant);
    edit_.clear_constant(id);
  }
  for (const ir::ValueId original : old_.initializers()) {
    const ir::Value& value = old_.value(original);
    ir::ValueId id = new_.find(value.name);
    if (!id.valid()) id = edit_.add_value(value.name);
    edit_.set_constant(id, *value.constant);
    edit_.mutable_value(id).tensor_extra = value.tensor_extra;
    if (new_.value(id).is_input && !value.is_input) edit_.remove_graph_input(id);
  }
  for (auto& [id, tensor] : made) edit_.set_constant(id, std::move(tensor));
}

/// Constant nodes too large for the skeleton go before their first reader.
void Restorer::restore_constant_nodes() {
  if (skeleton_.left_out_nodes.empty()) return;
  std::vector<size_t> place(new_.node_count(), 0);
  for (size_t i = 0; i < new_.order().size(); ++i) place[static_cast<size_t>(new_.order()[i].index)] = i;
  for (const ir::NodeId left_out : skeleton_.left_out_nodes) {
    const ir::Node& original = old_.node(left_out);
    const ir::ValueId value = new_.find(old_.value(original.output(0)).name);
    if (!value.valid()) continue;
    edit_.remove_graph_input(value);
    ir::NodeId first;
    for (const ir::Use& use : new_.value(value).uses) {
      const auto at = [&](ir::NodeId id) { return place[static_cast<size_t>(id.index)]; };
      if (!first.valid() || at(use.node) < at(first)) first = use.node;
    }
    ir::NodeSpec spec;
    spec.op = "Constant";
    spec.outputs = {value};
    spec.attributes = original.attributes;
    edit_.add_node(std::move(spec), first);
  }
}

void Restorer::restore_values() {
  for (size_t i = 0; i < new_.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!new_.is_alive(id)) continue;
    ir::Value& value = edit_.mutable_value(id);
    value.has_info = false;
    const ir::ValueId original = old_.find(value.name);
    if (!original.valid()) continue;
    value.has_info = old_.value(original).has_info;
    value.extra = old_.value(original).extra;
    value.type = old_.value(original).type;
  }
}

void Restorer::restore_node(const ir::Node& from, ir::Node& to) {
  to.origins = from.origins;
  const bool is_same = to.op == from.op || (from.op == "Upsample" && to.op == "Resize");
  if (!is_same) return;
  to.name = from.name;
  to.extra = from.extra;
  for (ir::Attribute& attribute : to.attributes) {
    if (const ir::Attribute* original = from.find(attribute.name)) attribute.extra = original->extra;
  }
}

/// A node is found again by what it makes; where the converter gave its output to an added node, by its name.
void Restorer::restore_nodes() {
  std::unordered_map<std::string, const ir::Node*> by_name;
  for (const ir::NodeId id : old_.order()) {
    const ir::Node& node = old_.node(id);
    if (node.name.empty()) continue;
    const auto [entry, is_new] = by_name.emplace(node.name, &node);
    if (!is_new) entry->second = nullptr;
  }
  for (const ir::NodeId id : new_.order()) {
    ir::Node& node = edit_.node(id);
    node.origins.clear();
    const ir::ValueId output = node.output(0);
    const ir::ValueId original = output.valid() ? old_.find(new_.value(output).name) : ir::ValueId{};
    const ir::Node* from = original.valid() ? old_.producer(original) : nullptr;
    if (from == nullptr) {
      const auto named = by_name.find(node.name);
      if (named != by_name.end()) from = named->second;
    }
    if (from != nullptr) restore_node(*from, node);
  }
}

void Restorer::give_origins_to_new_nodes() {
  for (auto it = new_.order().rbegin(); it != new_.order().rend(); ++it) {
    ir::Node& node = edit_.node(*it);
    if (!node.origins.empty()) continue;
    for (const ir::ValueId output : node.outputs) {
      if (!output.valid()) continue;
      for (const ir::Use& use : new_.value(output).uses) {
        const auto& reader = new_.node(use.node).origins;
        node.origins.insert(node.origins.end(), reader.begin(), reader.end());
      }
    }
    std::sort(node.origins.begin(), node.origins.end());
    node.origins.erase(std::unique(node.origins.begin(), node.origins.end()), node.origins.end());
  }
}

Status Restorer::check_weights() const {
  for (const ir::ValueId original : old_.initializers()) {
    const ir::Value& value = old_.value(original);
    const ir::ValueId id = new_.find(value.name);
    const bool same = id.valid() && new_.value(id).constant && new_.value(id).constant->same_as(*value.constant);
    if (!same) return internal_error("initializer '", value.name, "' was lost");
  }
  return Status();
}

void restore_model(const ir::Model& from, int64_t target, ir::Model& to) {
  to.ir_version = from.ir_version;
  to.opsets = from.opsets;
  to.opset_order = from.opset_order;
  to.set_opset("", target);
  to.producer_name = from.producer_name;
  to.producer_version = from.producer_version;
  to.extra = from.extra;
  to.path = from.path;
}

/// The converter trusts its input and crashes on some that are not sound.
Status check_before(onnx::ModelProto& proto) {
  QQ_RETURN_IF_ERROR(library_check(proto));
  const onnx::GraphProto& graph = proto.graph();
  std::unordered_set<std::string> defined;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& node : graph.node()) defined.insert(node.output().begin(), node.output().end());
  for (const auto& output : graph.output()) {
    if (!defined.contains(output.name())) return unsupported("nothing makes the output '", output.name(), "'");
  }
  return Status();
}

Result<ir::Model> convert(const ir::Model& model, int64_t target) {
  Skeleton skeleton = make_skeleton(model);
  QQ_RETURN_IF_ERROR(check_before(skeleton.proto));
  // Several adapters need ranks. If inference fails, they report it themselves.
  onnx::ModelProto typed = skeleton.proto;
  if (library_infer(typed, Inference::kFollowsValues).ok()) skeleton.proto.Swap(&typed);
  // From IR version 4 on, initializers need not be among the inputs, which the converter relies on.
  skeleton.proto.set_ir_version(std::max<int64_t>(skeleton.proto.ir_version(), 4));
  QQ_TRY(const bool needs_library, adapt_nodes(skeleton.proto, model.opset(), target));
  onnx::ModelProto proto = skeleton.proto;
  if (needs_library) {
    QQ_TRY(proto, library_convert(skeleton.proto, target));
  }
  reveal_nodes(*proto.mutable_graph());
  QQ_TRY(ir::Model converted, import_own_model(proto));
  Restorer restorer(model, skeleton, converted);
  restorer.run();
  restore_model(model, target, converted);
  repair_resize(converted.graph, model.opset(), target);
  QQ_RETURN_IF_ERROR(restorer.check_weights());
  Diagnostics corrected;  // older inference may not have seen that a stored shape is wrong
  if (Status status = check_result(converted, corrected); !status.ok()) {
    return unsupported("the converted model is not valid: ", status.message());
  }
  return converted;
}

}  // namespace

Result<ir::Model> convert_opset(const ir::Model& model, int64_t target) {
  const int64_t from = model.opset();
  if (target < 1 || target > kNewestOpset) {
    return unsupported("conversion to opset ", target, ", possible are 1 to ", kNewestOpset);
  }
  if (from == 0) {  // all of its operators are of other domains
    ir::Model same = model;
    same.opsets[""] = target;
    return same;
  }
  if (from == target) return model;
  return convert(model, target).context(cat("conversion from opset ", from, " to ", target));
}

}  // namespace quarkq::onnx_io
