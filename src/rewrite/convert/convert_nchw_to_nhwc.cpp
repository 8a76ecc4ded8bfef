// SPDX-License-Identifier: MIT
// Nodes inside keep their channels-first shapes; only the boundary moves.
#include <set>

#include "ir/edit.h"
#include "ir/quantizing_ops.h"
#include "plan/lowering/lower.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr int64_t kFirstIrWithFreeInitializers = 4;
const std::vector<int64_t> kToChannelsFirst = {0, 3, 1, 2}, kToChannelsLast = {0, 2, 3, 1};

/// Strings and elements that are packed into bytes stay: samples of them are not moved.
bool may_be_image(const ir::ValueType& type) {
  return type.is_tensor() && type.has_shape && type.dims.size() == 4 && bits(type.element) >= 8;
}

ir::ValueType channels_last(const ir::ValueType& type) {
  ir::ValueType moved = type;
  for (size_t i = 0; i < 4; ++i) moved.dims[i] = type.dims[static_cast<size_t>(kToChannelsLast[i])];
  return moved;
}

class Boundary {
 public:
  explicit Boundary(pass::FloatContext& context) : context_(context), graph_(context.graph()), edit_(graph_) {
    for (const ir::NodeId id : graph_.order()) node_names_.insert(graph_.node(id).name);
    if (!graph_.order().empty()) first_ = graph_.order().front();
  }

  Changed run() {
    free_initializers();
    for (const ir::ValueId input : std::vector<ir::ValueId>(graph_.inputs())) convert_input(input);
    for (const ir::ValueId output : std::vector<ir::ValueId>(graph_.outputs())) convert_output(output);
    return changed_;
  }

 private:
  void free_initializers() {
    for (const ir::ValueId input : std::vector<ir::ValueId>(graph_.inputs())) {
      if (!graph_.value(input).is_initializer()) continue;
      edit_.remove_graph_input(input);
      context_.model.ir_version = std::max(context_.model.ir_version, kFirstIrWithFreeInitializers);
      changed_ = Changed::kYes;
    }
  }

  /// `wanted`, extended by "_1", then "_2", ... until neither a value nor a node has it.
  std::string free_name(std::string wanted) {
    for (int suffix = 1; graph_.find(wanted).valid() || node_names_.contains(wanted); ++suffix) {
      wanted += cat("_", suffix);
    }
    node_names_.insert(wanted);
    return wanted;
  }

  /// Returns whether this pass added the node, so that a second run finds nothing to do.
  static bool is_own_transpose(const ir::Node& node, const std::string& value, const std::vector<int64_t>& perm) {
    return node.is("Transpose") && node.ints_or("perm", {}) == perm && node.name.starts_with(value + "_transpose");
  }

  bool is_converted_input(const ir::Value& input) const {
    if (input.uses.empty()) return false;
    const ir::Node& reader = graph_.node(input.uses[0].node);
    return is_own_transpose(reader, input.name, kToChannelsFirst);
  }

  /// The Transpose that makes an output, looked for through a pair of Q and DQ.
  bool is_converted_output(ir::ValueId output) const {
    const ir::Node* node = graph_.producer(output);
    if (node != nullptr && ir::is_standard_dq(*node)) node = graph_.producer(node->input(0));
    if (node != nullptr && ir::is_standard_q(*node)) node = graph_.producer(node->input(0));
    if (node == nullptr || !node->input(0).valid()) return false;
    return is_own_transpose(*node, graph_.value(node->input(0)).name, kToChannelsLast);
  }

  /// Warns where the sizes do not look like an image's with its channels first.
  void check_sizes(const ir::Value& input) {
    const int64_t channels = input.type.dims[1].size, height = input.type.dims[2].size, width = input.type.dims[3].size;
    if (height > channels && width > channels) return;
    context_.diagnostics.add(
        "channels-not-first", input.name,
        cat("[", channels, ", ", height, ", ", width,
            "] is interpreted as [C, H, W], although an image has more rows and columns than channels"));
  }

  void convert_input(ir::ValueId id) {
    const ir::Value& input = graph_.value(id);
    if (!may_be_image(input.type) || !input.type.dims[1].known() || !input.type.dims[2].known() ||
        !input.type.dims[3].known()) {
      context_.diagnostics.add(
          "input-not-channels-last", input.name,
          "stays as it is: not of rank 4 with known channels, height and width, or not of elements of whole "
          "bytes");
      return;
    }
    if (is_converted_input(input)) return;
    check_sizes(input);
    const std::string name = free_name(input.name + "_transpose");
    const ir::ValueType type = input.type;
    const ir::ValueId inside = edit_.add_value(name, type);
    edit_.replace_uses(id, inside);
    const ir::NodeId node = edit_.add_node({"Transpose", "", name, {id}, {inside}}, first_);
    edit_.node(node).set("perm", kToChannelsFirst);
    edit_.set_type(id, channels_last(type));
    if (context_.channels_last_inputs != nullptr) context_.channels_last_inputs->push_back(graph_.value(id).name);
    changed_ = Changed::kYes;
  }

  void convert_output(ir::ValueId id) {
    const ir::Value& output = graph_.value(id);
    if (!may_be_image(output.type) || output.is_input || is_converted_output(id)) return;
    const ir::Node* dequantize = graph_.producer(id);
    const std::vector<ir::NodeId> origins = dequantize == nullptr ? std::vector<ir::NodeId>{} : dequantize->origins;
    const bool is_pair = dequantize != nullptr && is_quantized(*dequantize);
    const ir::ValueType type = channels_last(output.type);
    const std::string name = free_name(output.name + "_transpose");
    const ir::ValueId last = take_output_place(id, name, type);
    const ir::ValueId moved = is_pair ? edit_.add_value(plan::QdqNames(name).quantize_input, type) : last;
    const ir::NodeId node = edit_.add_node({"Transpose", "", name, {id}, {moved}, {}, origins});
    edit_.node(node).set("perm", kToChannelsLast);
    if (is_pair) add_pair(*graph_.producer(id), name, moved, last);
    changed_ = Changed::kYes;
  }

  /// A new value called `name` that is an output instead of `id`, which keeps its name and readers.
  ir::ValueId take_output_place(ir::ValueId id, const std::string& name, const ir::ValueType& type) {
    const ir::ValueId made = edit_.add_value("", type);
    const std::string old_name = graph_.value(id).name;
    edit_.replace_value(id, made);
    edit_.replace_uses(made, id);
    edit_.rename(made, name);
    edit_.rename(id, old_name);
    return made;
  }

  /// Q and DQ with one scale, or one for each index of an axis.
  bool is_quantized(const ir::Node& dequantize) const {
    const ir::Node* quantize = ir::is_standard_dq(dequantize) ? graph_.producer(dequantize.input(0)) : nullptr;
    return quantize != nullptr && ir::is_standard_q(*quantize) && quantize->int_or("block_size", 0) == 0;
  }

  /// The pair before the Transpose once more, after it.
  void add_pair(const ir::Node& dequantize, const std::string& name, ir::ValueId from, ir::ValueId to) {
    const plan::QdqNames names(name);
    const ir::ValueId codes = edit_.add_value(names.quantize_output);
    const ir::NodeId first = graph_.producer(dequantize.input(0))->id, second = dequantize.id;
    copy_node(first, names.quantize_node, from, codes);
    copy_node(second, names.dequantize_node, codes, to);
    ir::ValueType type = graph_.value(to).type;
    type.element = graph_.value(graph_.node(second).input(0)).type.element;
    edit_.set_type(codes, std::move(type));
  }

  void copy_node(ir::NodeId id, const std::string& name, ir::ValueId from, ir::ValueId to) {
    const ir::Node& source = graph_.node(id);
    ir::NodeSpec spec{source.op, source.domain, name, source.inputs, {to}, source.attributes, source.origins};
    spec.inputs[0] = from;
    const ir::NodeId copy = edit_.add_node(std::move(spec));
    if (graph_.node(copy).find("axis") == nullptr) return;
    const Result<int64_t> axis = ir::normalize_axis(graph_.node(copy).int_or("axis", 1), 4);
    if (!axis.ok()) return;  // with one scale for the whole tensor the axis is irrelevant
    edit_.node(copy).set("axis", int64_t{axis.value() == 0 ? 0 : axis.value() == 1 ? 3 : axis.value() - 1});
  }

  pass::FloatContext& context_;
  ir::Graph& graph_;
  ir::GraphEdit edit_;
  std::set<std::string> node_names_;
  ir::NodeId first_;
  Changed changed_ = Changed::kNo;
};

}  // namespace

Result<Changed> convert_nchw_to_nhwc(pass::FloatContext& context) { return Boundary(context).run(); }

}  // namespace quarkq::rewrite
