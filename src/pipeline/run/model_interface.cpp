// SPDX-License-Identifier: MIT
#include "pipeline/run/model_interface.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/strings.h"
#include "ir/constants.h"
#include "ir/dump.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"

namespace quarkq::pipeline {

namespace {

/// `type` with the dimensions `wanted`.
Result<ir::ValueType> with_shape(const ir::Value& input, const std::vector<int64_t>& wanted) {
  ir::ValueType type = input.type;
  const auto refusal = [&] {
    return invalid_argument("--shape ", input.name, "=", join(wanted, ","), ": the model's input is ",
                            ir::dims_text(input.type.dims), "; a dimension that is a number cannot be changed");
  };
  if (type.has_shape && type.dims.size() != wanted.size()) return refusal();
  type.has_shape = true;
  type.dims.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (type.dims[i].known() && type.dims[i].size != wanted[i]) return refusal();
    type.dims[i] = {wanted[i], {}};
  }
  return type;
}

/// The dimensions that legalize.batch makes of an input; the same when its first one is a number.
ir::ValueType with_batch(ir::ValueType type, int64_t batch) {
  if (type.has_shape && !type.dims.empty() && !type.dims[0].known()) type.dims[0] = {batch, {}};
  return type;
}

Status check_names(const ir::Graph& graph, const config::LegalizeBlock& legalize) {
  std::vector<std::string> names;
  for (const ir::ValueId id : graph.required_inputs()) names.push_back(graph.value(id).name);
  for (const auto& [name, dims] : legalize.shapes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return invalid_argument("--shape ", name, ": is not an input of the model, allowed are ", join(names, ", "),
                            did_you_mean(name, names));
  }
  return Status();
}

/// Shapes that the file states for outputs and inner values say "N" where the inputs now have a number.
void forget_symbols(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : graph.order()) {
    for (const ir::ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      for (ir::Dim& dim : edit.mutable_value(output).type.dims) dim.symbol.clear();
    }
  }
}

}  // namespace

Status pin_shapes(ir::Model& model, const config::LegalizeBlock& legalize, Diagnostics& diagnostics) {
  if (legalize.shapes.empty() && !legalize.batch) return Status();
  ir::Graph& graph = model.graph;
  QQ_RETURN_IF_ERROR(check_names(graph, legalize));
  ir::GraphEdit edit(graph);
  bool is_changed = false;
  for (const ir::ValueId id : graph.required_inputs()) {
    const ir::Value& input = graph.value(id);
    ir::ValueType type = input.type;
    if (const auto given = legalize.shapes.find(input.name); given != legalize.shapes.end()) {
      QQ_TRY(type, with_shape(input, given->second));
    } else if (legalize.batch) {
      type = with_batch(std::move(type), *legalize.batch);
    }
    if (ir::dims_text(type.dims) == ir::dims_text(input.type.dims)) continue;
    diagnostics.add("shape-set", input.name,
                    cat(ir::dims_text(input.type.dims), " becomes ", ir::dims_text(type.dims)));
    edit.set_type(id, std::move(type));
    is_changed = true;
  }
  if (!is_changed) return Status();
  forget_symbols(graph);
  onnx_io::correct_shapes(model, diagnostics);  // the file may declare outputs that no run has
  return onnx_io::infer_types(model, diagnostics);
}

namespace {

bool contradicts(const ir::ValueType& a, const ir::ValueType& b) {
  if (!a.has_shape || !b.has_shape) return false;
  if (a.dims.size() != b.dims.size()) return true;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].known() && b.dims[i].known() && a.dims[i].size != b.dims[i].size) return true;
  }
  return false;
}

std::string text(const ir::ValueType& type) {
  if (!type.is_tensor()) return "no tensor";
  std::string text(name(type.element));
  if (!type.has_shape) return text;
  std::vector<std::string> dims;
  for (const ir::Dim& dim : type.dims)
    dims.push_back(dim.known() ? cat(dim.size) : dim.symbol.empty() ? "?" : dim.symbol);
  return text + " [" + join(dims, ", ") + "]";
}

Status check(const char* kind, const ir::Value& wanted, const ir::Value& found) {
  const bool is_same_kind =
      wanted.type.element == found.type.element && wanted.type.other_type.empty() == found.type.other_type.empty();
  if (wanted.name != found.name) {
    return internal_error("the result has the ", kind, " '", found.name, "' instead of '", wanted.name,
                          "'; please report this");
  }
  if (is_same_kind) return Status();
  return internal_error("the ", kind, " '", wanted.name, "' is ", text(wanted.type), " in the model and ",
                        text(found.type), " in the result; please report this");
}

Status check_all(const char* kind, const ir::Graph& wanted, const std::vector<ir::ValueId>& wanted_ids,
                 const ir::Graph& result, const std::vector<ir::ValueId>& ids) {
  if (wanted_ids.size() != ids.size()) {
    return internal_error("the result has ", ids.size(), " ", kind, "s and the model ", wanted_ids.size(),
                          "; please report this");
  }
  for (size_t i = 0; i < ids.size(); ++i)
    QQ_RETURN_IF_ERROR(check(kind, wanted.value(wanted_ids[i]), result.value(ids[i])));
  return Status();
}

void add_changes(const ir::Graph& loaded, const std::vector<ir::ValueId>& from, const ir::Graph& result,
                 const std::vector<ir::ValueId>& to, std::vector<std::string>& changes) {
  if (from.size() != to.size()) return;
  for (size_t i = 0; i < from.size(); ++i) {
    const ir::ValueType &before = loaded.value(from[i]).type, &after = result.value(to[i]).type;
    if (before.element == after.element && !contradicts(before, after)) continue;
    changes.push_back(cat(result.value(to[i]).name, " is ", text(after), " instead of ", text(before)));
  }
}

}  // namespace

Status check_interface(const ir::Graph& wanted, const ir::Graph& result) {
  QQ_RETURN_IF_ERROR(check_all("input", wanted, wanted.required_inputs(), result, result.required_inputs()));
  return check_all("output", wanted, wanted.outputs(), result, result.outputs());
}

void report_changed_interface(const ir::Graph& loaded, const ir::Graph& result, Diagnostics& diagnostics) {
  constexpr size_t kMostListed = 4;
  std::vector<std::string> changes;
  add_changes(loaded, loaded.required_inputs(), result, result.required_inputs(), changes);
  add_changes(loaded, loaded.outputs(), result, result.outputs(), changes);
  if (changes.empty()) return;
  const size_t more = changes.size() - std::min(changes.size(), kMostListed);
  changes.resize(changes.size() - more);
  diagnostics.add("interface-changed", "", join(changes, "; ") + (more > 0 ? cat("; and ", more, " more") : ""));
}

namespace {

bool is_one_of(const ir::Node& node, std::initializer_list<const char*> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const char* op) { return node.is(op); });
}

/// Shifts or scales by a constant.
bool is_affine(const ir::Graph& graph, const ir::Node& node) {
  if (!is_one_of(node, {"Add", "Sub", "Mul", "Div"})) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ir::ValueId id) { return id.valid() && graph.constant(id) != nullptr; });
}

/// Images pass through these on their way to the first layer.
bool passes_images(const ir::Graph& graph, const ir::Node& node) {
  return is_one_of(node, {"Identity", "Cast", "Transpose", "Pad", "Slice", "Split", "Concat", "Dropout"}) ||
         is_affine(graph, node);
}

std::vector<float> floats_of(const ir::Graph& graph, const ir::Node& node, size_t input) {
  if (input >= node.inputs.size() || !node.inputs[input].valid()) return {};
  const ir::Tensor* tensor = graph.constant(node.inputs[input]);
  if (tensor == nullptr) return {};
  Result<std::vector<float>> values = ir::float_values(*tensor);
  return values.ok() ? std::move(values).value() : std::vector<float>();
}

/// The values of the constant operand of a binary operator; empty when they are not one per channel.
std::vector<float> channel_operand(const ir::Graph& graph, const ir::Node& node, size_t channels) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    std::vector<float> values = floats_of(graph, node, i);
    if (values.size() == channels) return values;
  }
  return {};
}

std::vector<float> norms(const std::vector<float>& weights, size_t channels) {
  std::vector<float> result;
  const size_t each = weights.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    double squares = 0;
    for (size_t i = 0; i < each; ++i) squares += double{weights[c * each + i]} * weights[c * each + i];
    result.push_back(static_cast<float>(std::sqrt(squares)));
  }
  return result;
}

const ir::Node* reader_of(const ir::Graph& graph, ir::ValueId value, const char* op) {
  for (const ir::Use& use : graph.value(value).uses) {
    if (!use.is_capture && graph.node(use.node).is(op)) return &graph.node(use.node);
  }
  return nullptr;
}

void read_batch_norm(const ir::Graph& graph, const ir::Node& node, FirstLayer& layer) {
  const std::vector<float> variance = floats_of(graph, node, 4);
  layer.mean = floats_of(graph, node, 3);
  if (layer.mean.size() != layer.gain.size() || variance.size() != layer.gain.size()) {
    layer.mean.clear();
    return;
  }
  for (const float one : variance) layer.deviation.push_back(std::sqrt(std::max(one, 0.0f)));
}

/// A BatchNormalization in the form of a product and a sum.
void read_affine(const ir::Graph& graph, FirstLayer& layer) {
  const ir::Node* mul = reader_of(graph, layer.output, "Mul");
  if (mul == nullptr) return;
  const ir::Node* add = reader_of(graph, mul->outputs[0], "Add");
  if (add == nullptr) return;
  const std::vector<float> factor = channel_operand(graph, *mul, layer.gain.size());
  const std::vector<float> bias = channel_operand(graph, *add, layer.gain.size());
  if (factor.empty() || bias.empty()) return;
  for (size_t c = 0; c < bias.size(); ++c) {
    layer.gain[c] *= std::abs(factor[c]);
    layer.bias[c] = layer.bias[c] * factor[c] + bias[c];
  }
  layer.output = add->outputs[0];
}

FirstActivation activation_after(const ir::Graph& graph, ir::ValueId value) {
  FirstActivation found = FirstActivation::kOther;
  for (const ir::Use& use : graph.value(value).uses) {
    if (use.is_capture) continue;
    const ir::Node& node = graph.node(use.node);
    if (is_one_of(node, {"Clip", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu", "Selu", "Softplus", "Mish",
                         "Gelu", "Erf", "Swish"}))
      return FirstActivation::kScaled;
    if (is_one_of(node, {"Relu", "LeakyRelu", "PRelu"})) found = FirstActivation::kLinear;
  }
  return found;
}

std::optional<FirstLayer> read_layer(const ir::Graph& graph, const ir::Node& conv) {
  const std::vector<float> weights = floats_of(graph, conv, 1);
  if (weights.empty() || !conv.outputs[0].valid()) return std::nullopt;
  const auto channels = static_cast<size_t>(graph.constant(conv.inputs[1])->dims()[0]);
  if (channels == 0) return std::nullopt;
  FirstLayer layer{conv.id, conv.outputs[0], norms(weights, channels), floats_of(graph, conv, 2), {}, {}};
  if (layer.bias.size() != channels) layer.bias.assign(channels, 0);
  if (const ir::Node* norm = reader_of(graph, layer.output, "BatchNormalization")) {
    read_batch_norm(graph, *norm, layer);
    return layer;
  }
  read_affine(graph, layer);
  layer.activation = activation_after(graph, layer.output);
  return layer;
}

/// The layer with stored weights that makes `value`, through operators that keep magnitudes; null when there is none.
const ir::Node* layer_that_makes(const ir::Graph& graph, ir::ValueId value) {
  constexpr int kFar = 8;
  const ir::Node* node = graph.producer(value);
  for (int i = 0; i < kFar && node != nullptr; ++i) {
    if (is_one_of(*node, {"Conv", "Gemm", "MatMul"}))
      return node->inputs.size() > 1 && graph.constant(node->inputs[1]) != nullptr ? node : nullptr;
    const bool passes = is_one_of(*node, {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Split",
                                          "Identity", "BatchNormalization"}) ||
                        (node->is("Add") && is_affine(graph, *node));
    if (!passes || node->inputs.empty()) return nullptr;
    node = graph.producer(node->inputs[0]);
  }
  return nullptr;
}

}  // namespace

std::optional<FirstLayer> find_first_layer(const ir::Graph& graph, ir::ValueId input) {
  std::vector<ir::ValueId> reached = {input};
  std::set<int32_t> known = {input.index};
  for (size_t at = 0; at < reached.size(); ++at) {
    for (const ir::Use& use : graph.value(reached[at]).uses) {
      if (use.is_capture) continue;
      const ir::Node& node = graph.node(use.node);
      if (node.is("Conv") && use.input == 0) return read_layer(graph, node);
      if (use.input != 0 && !is_affine(graph, node) && !node.is("Concat")) continue;
      if (!passes_images(graph, node)) continue;
      for (const ir::ValueId output : node.outputs) {
        if (output.valid() && known.insert(output.index).second) reached.push_back(output);
      }
    }
  }
  return std::nullopt;
}

std::vector<ir::ValueId> find_scores(const ir::Graph& graph) {
  constexpr size_t kMost = 4;
  std::vector<ir::ValueId> scores;
  const auto add = [&](ir::ValueId value) {
    if (std::find(scores.begin(), scores.end(), value) == scores.end()) scores.push_back(value);
  };
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (is_one_of(node, {"Softmax", "LogSoftmax", "Sigmoid"}) && layer_that_makes(graph, node.inputs[0]) != nullptr)
      add(node.inputs[0]);
  }
  if (scores.empty()) {
    for (const ir::ValueId output : graph.outputs()) {
      if (ir::rank_of(graph, output) == 2 && layer_that_makes(graph, output) != nullptr) add(output);
    }
  }
  if (scores.size() > kMost) scores.erase(scores.begin(), scores.end() - kMost);
  return scores;
}

}  // namespace quarkq::pipeline
