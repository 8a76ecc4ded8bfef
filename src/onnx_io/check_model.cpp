// SPDX-License-Identifier: MIT
#include "onnx_io/check_model.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "onnx_io/library.h"
#include "onnx_io/proto.h"

namespace quarkq::onnx_io {

namespace {

// Shapes that cannot be computed with and that the onnx library's inference lets pass. Private to src/onnx_io.

using Dims = std::vector<int64_t>;
constexpr int64_t kUnknown = -1;  ///< which shape_text() prints as "?"

class Shapes {
 public:
  explicit Shapes(const onnx::GraphProto& graph) {
    for (const onnx::ValueInfoProto& info : graph.input()) add(info);
    for (const onnx::ValueInfoProto& info : graph.value_info()) add(info);
    for (const onnx::ValueInfoProto& info : graph.output()) add(info);
    for (const onnx::TensorProto& tensor : graph.initializer())
      dims_[tensor.name()] = Dims(tensor.dims().begin(), tensor.dims().end());
  }

  /// Returns the dimensions of an input of the node, kUnknown for unknown dimensions, or nullopt if the rank is
  /// unknown.
  std::optional<Dims> of(const onnx::NodeProto& node, int input) const {
    if (input >= node.input_size()) return std::nullopt;
    const auto found = dims_.find(node.input(input));
    return found == dims_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void add(const onnx::ValueInfoProto& info) {
    if (!info.type().tensor_type().has_shape()) return;
    Dims& dims = dims_[info.name()];
    dims.clear();
    for (const auto& dim : info.type().tensor_type().shape().dim())
      dims.push_back(dim.has_dim_value() ? dim.dim_value() : kUnknown);
  }

  std::unordered_map<std::string, Dims> dims_;
};

int64_t attribute(const onnx::NodeProto& node, const char* name, int64_t otherwise) {
  for (const onnx::AttributeProto& one : node.attribute())
    if (one.name() == name && one.type() == onnx::AttributeProto::INT) return one.i();
  return otherwise;
}

bool differ(int64_t a, int64_t b) { return a != kUnknown && b != kUnknown && a != b; }

/// Description of a contradiction; empty if none is known.
using Problem = std::string;

Problem gemm(const onnx::NodeProto& node, const Shapes& shapes) {
  const auto a = shapes.of(node, 0), b = shapes.of(node, 1);
  if (!a || !b || a->size() != 2 || b->size() != 2) return {};  // ranks: the library's inference
  const bool turn_a = attribute(node, "transA", 0) != 0, turn_b = attribute(node, "transB", 0) != 0;
  if (!differ((*a)[turn_a ? 0 : 1], (*b)[turn_b ? 1 : 0])) return {};
  return cat("inner dimensions differ: ", shape_text(*a), " times ", shape_text(*b), " with transA ", turn_a,
             ", transB ", turn_b);
}

Problem matmul_nbits(const onnx::NodeProto& node, const Shapes& shapes) {
  const auto a = shapes.of(node, 0);
  const int64_t inner = attribute(node, "K", kUnknown);
  if (a && !a->empty() && differ(a->back(), inner))
    return cat("inner dimensions differ: the input is ", shape_text(*a), ", K is ", inner);
  const auto codes = shapes.of(node, 1);
  const int64_t columns = attribute(node, "N", kUnknown), block = attribute(node, "block_size", 0);
  const int64_t bits = attribute(node, "bits", 4);
  constexpr int64_t kMostDepth = int64_t{1} << 40, kMostBlock = 1 << 20;  // so that no product overflows
  const bool is_known = inner > 0 && inner < kMostDepth && block > 0 && block <= kMostBlock && bits > 0 && bits <= 8;
  if (!codes || codes->size() != 3 || !is_known) return {};
  const int64_t blocks = (inner + block - 1) / block, bytes = block * bits / 8;
  if (!differ((*codes)[0], columns) && !differ((*codes)[1], blocks) && !differ((*codes)[2], bytes)) return {};
  return cat("the codes are ", shape_text(*codes), ", N ", columns, ", K ", inner, ", block_size ", block, " and bits ",
             bits, " need ", columns, "x", blocks, "x", bytes);
}

/// x: [N, channels, ...], w: [outputs, channels / group, ...]
Problem conv(const onnx::NodeProto& node, const Shapes& shapes, int weights) {
  const auto x = shapes.of(node, 0), w = shapes.of(node, weights);
  const int64_t group = attribute(node, "group", 1);
  if (!x || !w || x->size() < 2 || w->size() < 2 || group < 1) return {};
  const int64_t channels = (*x)[1], outputs = (*w)[0], part = (*w)[1];
  if (channels != kUnknown && part != kUnknown && (channels % group != 0 || channels / group != part)) {
    return cat("the input ", shape_text(*x), " has ", channels, " channels, the weights ", shape_text(*w),
               " with group ", group, " are for ", part, " in each group");
  }
  if (outputs != kUnknown && outputs % group != 0)
    return cat("group ", group, " does not divide ", outputs, " outputs");
  return {};
}

Problem plain_conv(const onnx::NodeProto& node, const Shapes& shapes) { return conv(node, shapes, 1); }
Problem quantized_conv(const onnx::NodeProto& node, const Shapes& shapes) { return conv(node, shapes, 3); }

/// x: [N, channels, ...], w: [channels, outputs / group, ...]
Problem conv_transpose(const onnx::NodeProto& node, const Shapes& shapes) {
  const auto x = shapes.of(node, 0), w = shapes.of(node, 1);
  const int64_t group = attribute(node, "group", 1);
  if (!x || !w || x->size() < 2 || w->size() < 2 || group < 1) return {};
  const int64_t channels = (*x)[1];
  if (differ(channels, (*w)[0])) {
    return cat("the input ", shape_text(*x), " has ", channels, " channels, the weights are ", shape_text(*w));
  }
  if (channels != kUnknown && channels % group != 0)
    return cat("group ", group, " does not divide ", channels, " channels");
  return {};
}

struct Rule {
  std::string_view op, domain;
  Problem (*problem)(const onnx::NodeProto&, const Shapes&);
};

/// The library's inference compares what MatMul, Concat and broadcasting operators read; not what these do.
constexpr Rule kRules[] = {
    {"Gemm", "", gemm},
    {"Conv", "", plain_conv},
    {"ConvInteger", "", plain_conv},
    {"QLinearConv", "", quantized_conv},
    {"ConvTranspose", "", conv_transpose},
    {"MatMulNBits", "com.microsoft", matmul_nbits},
};

/// Fails with kCorruptModel on the first node of the main graph whose known dimensions cannot be multiplied: products
/// of matrices, convolutions. The message names the node and both shapes. Graphs inside nodes may never run and are not
/// checked. REQUIRES: `graph` contains the results of inference.
Status check_shapes(const onnx::GraphProto& graph) {
  const Shapes shapes(graph);
  for (const onnx::NodeProto& node : graph.node()) {
    const auto* const rule = std::ranges::find_if(
        kRules, [&](const Rule& one) { return node.op_type() == one.op && node.domain() == one.domain; });
    if (rule == std::end(kRules)) continue;
    const Problem problem = rule->problem(node, shapes);
    if (problem.empty()) continue;
    const std::string& name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
    return corrupt_model("node ", name, " (", node.op_type(), "): ", problem);
  }
  return Status();
}

Status check_types(const onnx::GraphProto& graph) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (input.type().value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return corrupt_model("graph input '", input.name(), "' has no type; declare its element type");
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (output.type().value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return corrupt_model("graph output '", output.name(), "' has no type, and it does not follow from the graph");
  }
  return Status();
}

Status check_structure(onnx::ModelProto& proto) {
  QQ_RETURN_IF_ERROR(check_types(proto.graph()));
  return library_check(proto);
}

}  // namespace

Status check_model(const ir::Model& model) {
  Skeleton skeleton = make_skeleton(model);
  QQ_RETURN_IF_ERROR(check_structure(skeleton.proto));
  QQ_RETURN_IF_ERROR(library_infer(skeleton.proto, Inference::kStrict));
  return check_shapes(skeleton.proto.graph());
}

Status check_result(ir::Model& model, Diagnostics& findings) {
  Status status = check_model(model);
  if (status.ok()) return status;
  correct_shapes(model, findings);
  return check_model(model);
}

namespace {

bool is_sound(const ir::Model& model) {
  Skeleton skeleton = make_skeleton(model);
  return library_infer(skeleton.proto, Inference::kStrict).ok();
}

bool contradict(const ir::ValueType& stored, const ir::ValueType& inferred) {
  if (!stored.has_shape || !inferred.has_shape) return false;
  if (stored.dims.size() != inferred.dims.size()) return true;
  for (size_t i = 0; i < stored.dims.size(); ++i) {
    const ir::Dim &a = stored.dims[i], &b = inferred.dims[i];
    if (a.known() && b.known() && a.size != b.size) return true;
  }
  return false;
}

std::string shape_of(const ir::ValueType& type) {
  std::vector<int64_t> dims;
  for (const ir::Dim& dim : type.dims) dims.push_back(dim.size);
  return shape_text(dims);
}

/// Infers the types from the operators. Uses only the stored shapes of the graph's inputs.
Result<onnx::GraphProto> infer_without_hints(const ir::Model& model, Inference inference) {
  Skeleton skeleton = make_skeleton(model);
  onnx::GraphProto& graph = *skeleton.proto.mutable_graph();
  graph.clear_value_info();
  for (onnx::ValueInfoProto& output : *graph.mutable_output())
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  QQ_RETURN_IF_ERROR(library_infer(skeleton.proto, inference));
  return std::move(graph);
}

void correct_value(ir::Graph& graph, onnx::ValueInfoProto& info, Diagnostics& findings) {
  const ir::ValueId id = graph.find(info.name());
  if (!id.valid() || graph.value(id).is_input || graph.value(id).constant) return;
  const std::string name = info.name();
  const Result<ir::ValueType> inferred = take_type(info);
  if (!inferred.ok()) return;
  ir::ValueType type = graph.value(id).type;
  const bool is_untyped = !type.is_tensor() && type.other_type.empty();
  if (is_untyped) {
    ir::GraphEdit(graph).set_type(id, inferred.value());
  } else if (contradict(type, inferred.value())) {
    findings.add("value-info-fixed", name,
                 cat("the stored shape is ", shape_of(type), ", the graph computes ", shape_of(inferred.value())));
    type.dims = inferred.value().dims;
    ir::GraphEdit(graph).set_type(id, std::move(type));
  }
}

/// Removes the stored shapes of all values of `graph` but its inputs, and of graphs nested in it.
void drop_shapes(ir::Graph& graph);

void drop_nested_shapes(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  const auto replace = [](ir::GraphPtr& nested) {
    ir::Graph copy = *nested;
    drop_shapes(copy);
    nested = std::make_shared<const ir::Graph>(std::move(copy));
  };
  for (const ir::NodeId id : graph.order()) {
    for (ir::Attribute& attribute : edit.node(id).attributes) ir::change_nested(attribute, replace);
  }
}

void drop_shapes(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (!graph.is_alive(id) || graph.value(id).is_input || graph.value(id).constant) continue;
    edit.mutable_value(id).type.has_shape = false;
    edit.mutable_value(id).type.dims.clear();
  }
  drop_nested_shapes(graph);
}

bool declares_types(const ir::Graph& graph) {
  return std::ranges::all_of(graph.outputs(), [&](ir::ValueId id) {
    const ir::ValueType& type = graph.value(id).type;
    return type.is_tensor() || !type.other_type.empty();
  });
}

}  // namespace

void correct_shapes(ir::Model& model, Diagnostics& findings) {
  // Inference of more nodes than any network has would dominate the load.
  constexpr size_t kMostCorrected = 200'000;
  if (model.graph.order().size() > kMostCorrected) return;
  if (declares_types(model.graph) && is_sound(model)) return;
  // Each finds shapes that the other does not: after computed shapes, and after operators of unknown types.
  for (const Inference inference : {Inference::kFollowsValues, Inference::kStrict}) {
    Result<onnx::GraphProto> inferred = infer_without_hints(model, inference);
    if (!inferred.ok()) continue;
    onnx::GraphProto& graph = inferred.value();
    for (onnx::ValueInfoProto& info : *graph.mutable_value_info()) correct_value(model.graph, info, findings);
    for (onnx::ValueInfoProto& info : *graph.mutable_output()) correct_value(model.graph, info, findings);
    if (is_sound(model)) return;
  }
  // The remaining contradictions are inside nested graphs, or where the library infers only partially (sequences).
  for (const auto drop : {drop_nested_shapes, drop_shapes}) {
    ir::Model without = model;
    drop(without.graph);
    if (!is_sound(without)) continue;
    model = std::move(without);
    findings.add("value-info-fixed", "", "stored shapes contradicted the graph and were dropped");
    return;
  }
}

}  // namespace quarkq::onnx_io
