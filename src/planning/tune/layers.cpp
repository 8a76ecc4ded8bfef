// SPDX-License-Identifier: MIT
#include "planning/tune/layers.h"

#include <algorithm>
#include <limits>
#include <map>

#include "ir/constants.h"
#include "ir/quantizing_ops.h"
#include "plan/lowering/lower.h"

namespace quarkq::planning::finetune {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A limit of a Clip: an input from opset 11 on, an attribute before. False: it is not constant.
bool read_limit(const ir::Graph& graph, const ir::Node& node, size_t input, const char* attribute, float& limit) {
  limit = node.float_or(attribute, limit);
  if (!node.input(input).valid()) return true;
  const ir::Tensor* constant = graph.constant(node.input(input));
  const Result<std::vector<double>> values =
      constant == nullptr ? Result<std::vector<double>>(unsupported("computed")) : ir::to_double(*constant);
  if (!values.ok() || values.value().size() != 1) return false;
  limit = static_cast<float>(values.value()[0]);
  return true;
}

/// PRelu: one slope, or one per channel of an image [C, 1, 1].
bool read_slopes(const ir::Graph& graph, const ir::Node& node, std::vector<float>& slopes) {
  const ir::Tensor* constant = graph.constant(node.input(1));
  if (constant == nullptr) return false;
  const bool is_per_channel =
      constant->rank() >= 3 && constant->dims()[constant->rank() == 4 ? 1 : 0] == constant->size();
  if (constant->size() != 1 && !is_per_channel) return false;
  const Result<std::vector<double>> values = ir::to_double(*constant);
  if (!values.ok()) return false;
  slopes.assign(values.value().begin(), values.value().end());
  return true;
}

}  // namespace

bool read_activation(const ir::Graph& graph, const ir::Node& node, Activation& result) {
  using Kind = Activation::Kind;
  if (!node.domain.empty() && !(node.op == "Gelu" && node.domain == ir::kMicrosoftDomain)) return false;
  if (node.op == "Relu") {
    result = {Kind::kClip, 0, kInfinity, {}};
    return true;
  }
  if (node.op == "Clip") {
    result = {Kind::kClip, -kInfinity, kInfinity, {}};
    return read_limit(graph, node, 1, "min", result.low) && read_limit(graph, node, 2, "max", result.high);
  }
  if (node.op == "LeakyRelu") {
    result = {Kind::kLeakyRelu, 0, 0, {node.float_or("alpha", 0.01f)}};
    return true;
  }
  if (node.op == "PRelu") {
    result.kind = Kind::kLeakyRelu;
    return read_slopes(graph, node, result.slopes);
  }
  if (node.op == "Gelu") {
    result.kind = node.string_or("approximate", "none") == "tanh" ? Kind::kTanhGelu : Kind::kGelu;
    return true;
  }
  result.kind = node.op == "Tanh" ? Kind::kTanh : node.op == "Sigmoid" ? Kind::kSigmoid : Kind::kNone;
  return result.kind != Kind::kNone;
}

namespace {

const Layer::Kind* kind_of(const ir::Node& node) {
  static constexpr std::pair<const char*, Layer::Kind> kKinds[] = {
      {"Conv", Layer::Kind::kConv},
      {"ConvTranspose", Layer::Kind::kConvTranspose},
      {"Gemm", Layer::Kind::kProduct},
      {"MatMul", Layer::Kind::kProduct},
      {"InstanceNormalization", Layer::Kind::kInstanceNorm},
      {"LayerNormalization", Layer::Kind::kLayerNorm}};
  for (const auto& [op, kind] : kKinds)
    if (node.op == op) return &kind;
  return nullptr;
}

}  // namespace

std::string read_form(const ir::Node& node, const ir::Shape& weights, Layer& layer) {
  const Layer::Kind* const kind = kind_of(node);
  if (kind == nullptr) return "it is not a layer";
  layer.kind = *kind;
  layer.weight_dims = weights;
  if (layer.kind == Layer::Kind::kProduct) {
    if (weights.size() != 2) return "its weights are not a matrix";
    if (node.op == "MatMul") return "";
    if (node.int_or("transA", 0) != 0) return "its input is transposed";
    layer.transposed = node.int_or("transB", 0) != 0;
    layer.alpha = node.float_or("alpha", 1);
    layer.beta = node.float_or("beta", 1);
    return "";
  }
  if (layer.is_norm()) {
    if (weights.size() != 1) return "its scales are not a vector";
    return node.op == "LayerNormalization" && node.int_or("axis", -1) != -1 ? "its axis is not the last one" : "";
  }
  if (weights.size() < 3 || weights.size() > 5) return "its weights have a rank that is not supported";
  if (node.string_or("auto_pad", "NOTSET") != "NOTSET") return "its padding is automatic";
  if (node.find("output_shape") != nullptr) return "it states its output shape";
  for (const int64_t padding : node.ints_or("output_padding", {}))
    if (padding != 0) return "it pads its output";
  return "";
}

namespace {

class Finder {
 public:
  Finder(const pass::PlanContext& context, const ir::Graph& original, const config::FinetuneSettings& options)
      : graph_(context.model.graph), plan_(context.plan), original_(original), options_(options) {}

  /// Returns false if it is not a layer of a requested kind, or if its input is not quantized. An empty reason means
  /// that it was found.
  bool looks_like_one(const ir::Node& node) const {
    const auto& ops = options_.target_ops;
    if (!node.domain.empty() || std::find(ops.begin(), ops.end(), node.op) == ops.end()) return false;
    const plan::QuantSlot* weight = plan_.find(node.input(1));
    return kind_of(node) != nullptr && weight != nullptr && graph_.value(node.input(1)).is_initializer();
  }

  std::string read(const ir::Node& node, Layer& layer) const {
    layer.node = node.id;
    layer.label = graph_.label(node.id);
    layer.start = node.input(0);
    layer.weight = node.input(1);
    layer.bias = node.input(2);
    if (graph_.value(layer.start).is_initializer()) return "it has no input";
    if (!graph_.producer(layer.start) && !plan_.has(layer.start)) return "its input is not quantized";
    if (!graph_.sole_use(layer.weight)) return "its weights are shared";
    if (ir::stored_floats(original_, layer.weight) == nullptr) return "its weights are not floats";
    if (graph_.value(layer.weight).constant->dims() != original_.value(layer.weight).constant->dims())
      return "its weights changed their shape";
    if (std::string reason = read_form(node, original_.value(layer.weight).constant->dims(), layer); !reason.empty())
      return reason;
    return find_end(node, layer);
  }

 private:
  /// Ends after an activation that alone reads the result, whether the plan's graph has it or left it to the range.
  std::string find_end(const ir::Node& node, Layer& layer) const {
    layer.end = node.output(0);
    const plan::QuantSlot* slot = plan_.find(layer.end);
    const bool is_quantized = slot != nullptr && slot->state != plan::SlotState::kAbsorbed;
    const std::optional<ir::Use> use = graph_.sole_use(layer.end);
    if (!is_quantized && use && !use->is_capture && use->input == 0) {
      const ir::Node& next = graph_.node(use->node);
      if (read_activation(graph_, next, layer.activation)) {
        layer.end = next.output(0);
      } else {
        layer.activation = {};
      }
    }
    return find_original(layer);
  }

  std::string find_original(Layer& layer) const {
    if (static_cast<size_t>(layer.node.index) >= original_.node_count() || !original_.is_alive(layer.node) ||
        static_cast<size_t>(layer.end.index) >= original_.value_count() || !original_.is_alive(layer.end))
      return "the float model has no such layer";
    const ir::Node& float_node = original_.node(layer.node);
    if (float_node.op != graph_.node(layer.node).op) return "the float model has another operator in its place";
    layer.exact = {float_node.input(0), layer.end, layer.weight, layer.bias};
    const ir::Node* last = original_.producer(layer.end);
    if (last == nullptr) return "the float model does not compute its result";
    const bool has_activation = layer.activation.kind != Activation::Kind::kNone;
    if (last->id == layer.node) return has_activation ? "the float model has other operators after it" : "";
    if (last->input(0) != float_node.output(0)) return "the float model has other operators after it";
    if (has_activation || read_activation(original_, *last, layer.activation)) return "";
    return "the float model has other operators after it";
  }

  const ir::Graph& graph_;
  const plan::QuantPlan& plan_;
  const ir::Graph& original_;
  const config::FinetuneSettings& options_;
};

}  // namespace

std::vector<Layer> find_layers(const pass::PlanContext& context, const ir::Graph& original,
                               const config::FinetuneSettings& options) {
  const Finder finder(context, original, options);
  std::vector<Layer> layers;
  for (const ir::NodeId id : context.model.graph.order()) {
    const ir::Node& node = context.model.graph.node(id);
    if (!finder.looks_like_one(node)) continue;
    Layer layer;
    const std::string reason = finder.read(node, layer);
    if (reason.empty()) {
      layers.push_back(std::move(layer));
    } else {
      context.diagnostics.add("not-finetuned", layer.label, reason);
    }
  }
  return layers;
}

Status sort_as_written(const pass::PlanContext& context, std::vector<Layer>& layers) {
  QQ_TRY(const std::vector<ir::NodeId> order, plan::written_order(context.graph(), context.plan));
  std::vector<size_t> place(context.graph().node_count());
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i].index)] = i;
  std::stable_sort(layers.begin(), layers.end(), [&](const Layer& a, const Layer& b) {
    return place[static_cast<size_t>(a.node.index)] < place[static_cast<size_t>(b.node.index)];
  });
  return Status();
}

// RefModelPath (ref:tuning#finetuning-options): what layers should give comes from another model, which may be
// quantized itself.

namespace {

/// A node's name; without one, that of what it makes.
const std::string& reference_name_of(const ir::Graph& graph, const ir::Node& node) {
  return node.name.empty() ? graph.value(node.output(0)).name : node.name;
}

/// Back over Q, DQ and nodes of block formats.
ir::ValueId unquantized(const ir::Graph& graph, ir::ValueId value) {
  for (const ir::Node* node = graph.producer(value); node != nullptr; node = graph.producer(value)) {
    if (!ir::is_q(*node) && !ir::is_dq(*node) && node->domain != ir::kQuarkDomain) break;
    value = node->input(0);
  }
  return value;
}

/// The end after the activation of the layer; the node's result when there is none. Nothing: it is another one.
std::optional<ir::ValueId> end_of(const ir::Graph& graph, const ir::Node& node, const std::string& activation) {
  if (activation.empty()) return node.output(0);
  const std::optional<ir::Use> use = graph.sole_use(node.output(0));
  if (!use || use->input != 0 || graph.node(use->node).op != activation) return {};
  return graph.node(use->node).output(0);
}

/// Empty, or why not.
std::string refer(const ir::Graph& reference, const ir::Node& node, const ir::Graph& original, Layer& layer) {
  const ir::Node& own = original.node(layer.node);
  if (node.op != own.op) return cat("the reference model has a ", node.op, " of this name");
  const ir::Tensor* weights = ir::stored_floats(reference, node.input(1));
  if (weights == nullptr) return "the reference model has no float weights there";
  if (weights->dims() != original.value(layer.exact.weight).constant->dims())
    return "the reference model's weights have another shape";
  if (layer.bias.valid() != node.input(2).valid()) return "only one of both models has a bias there";
  const bool is_bare = layer.exact.end == own.output(0);
  const std::optional<ir::ValueId> end =
      end_of(reference, node, is_bare ? std::string() : original.producer(layer.exact.end)->op);
  if (!end) return "the reference model has another activation after it";
  layer.exact = {unquantized(reference, node.input(0)), *end, node.input(1), node.input(2)};
  return "";
}

}  // namespace

void refer_to(const ir::Graph& reference, const ir::Graph& original, Diagnostics& diagnostics,
              std::vector<Layer>& layers) {
  std::map<std::string, const ir::Node*, std::less<>> nodes;
  for (const ir::NodeId id : reference.order())
    if (reference.node(id).output(0).valid())
      nodes.emplace(reference_name_of(reference, reference.node(id)), &reference.node(id));
  std::erase_if(layers, [&](Layer& layer) {
    const auto found = nodes.find(reference_name_of(original, original.node(layer.node)));
    const std::string reason = found == nodes.end() ? "the reference model has no node of this name"
                                                    : refer(reference, *found->second, original, layer);
    if (!reason.empty()) diagnostics.add("not-finetuned", layer.label, reason);
    return !reason.empty();
  });
}

}  // namespace quarkq::planning::finetune
