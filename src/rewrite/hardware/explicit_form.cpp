// SPDX-License-Identifier: MIT
// Every Conv is written with strides, pads, dilations, kernel_shape and group. All of them have defaults in ONNX, but
// one compiler aborts where they are absent (docs/targets.md, rule conv-implicit-attributes).
#include <algorithm>

#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/traversal.h"
#include "pass/output_guard.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {

namespace {

using Ints = std::vector<int64_t>;

/// Image dimensions of a value, all known and not negative.
std::optional<Ints> image_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::ValueType& type = graph.value(id).type;
  if (!type.has_shape || type.dims.size() < 3) return std::nullopt;
  Ints image;
  for (size_t i = 2; i < type.dims.size(); ++i) {
    if (!type.dims[i].known()) return std::nullopt;
    image.push_back(type.dims[i].size);
  }
  return image;
}

struct Window {
  Ints kernel, strides, dilations;
};

/// Pads of auto_pad SAME_UPPER or SAME_LOWER: the output has ceil(input / stride) values. Nothing when the image is not
/// known, or a number is outside of what a window can have.
std::optional<Ints> same_pads(const ir::Graph& graph, const ir::Node& conv, const Window& window) {
  constexpr int64_t kMost = int64_t{1} << 31;  // keeps the products below in range
  const std::optional<Ints> image = image_of(graph, conv.input(0));
  const size_t rank = window.kernel.size();
  if (!image || image->size() != rank) return std::nullopt;
  const bool more_at_end = conv.string_or("auto_pad", "") == "SAME_UPPER";
  Ints pads(2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    for (const int64_t number : {(*image)[i], window.kernel[i], window.strides[i], window.dilations[i]}) {
      if (number < 1 || number >= kMost) return std::nullopt;
    }
    const int64_t outputs = ((*image)[i] - 1) / window.strides[i] + 1;
    const int64_t covered = (outputs - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t total = std::max<int64_t>(0, covered - (*image)[i]);
    pads[i] = more_at_end ? total / 2 : total - total / 2;
    pads[i + rank] = total - pads[i];
  }
  return pads;
}

std::optional<Ints> pads_of(const ir::Graph& graph, const ir::Node& conv, const Window& window) {
  const std::string automatic = conv.string_or("auto_pad", "NOTSET");
  if (automatic.starts_with("SAME_")) return same_pads(graph, conv, window);
  Ints none(2 * window.kernel.size(), 0);
  return automatic == "VALID" ? none : conv.ints_or("pads", none);
}

/// Returns the missing attributes of `conv`. Returns an empty list if its weight contradicts its attributes.
std::vector<ir::Attribute> missing_attributes(const ir::Graph& graph, const ir::Node& conv) {
  const std::optional<Ints> kernel = image_of(graph, conv.input(1));
  if (!kernel) return {};
  const Ints ones(kernel->size(), 1);
  const Window window{*kernel, conv.ints_or("strides", ones), conv.ints_or("dilations", ones)};
  if (window.strides.size() != ones.size() || window.dilations.size() != ones.size()) return {};
  std::vector<ir::Attribute> all = {{"kernel_shape", window.kernel, {}, {}},
                                    {"strides", window.strides, {}, {}},
                                    {"dilations", window.dilations, {}, {}},
                                    {"group", int64_t{1}, {}, {}}};
  if (const std::optional<Ints> pads = pads_of(graph, conv, window)) all.push_back({"pads", *pads, {}, {}});
  std::erase_if(all, [&](const ir::Attribute& one) { return conv.find(one.name) != nullptr; });
  return all;
}

}  // namespace

Result<Changed> explicit_conv_attributes(pass::FloatContext& context) {
  ir::Graph& graph = context.graph();
  ir::GraphEdit edit(graph);
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : graph.order()) {
    if (!graph.node(id).is("Conv")) continue;
    for (ir::Attribute& missing : missing_attributes(graph, graph.node(id))) {
      if (missing.name == "pads") edit.node(id).erase("auto_pad");  // the two exclude each other
      edit.node(id).set(missing.name, std::move(missing.value));
      changed = Changed::kYes;
    }
  }
  return changed;
}

// Pad and Resize of opset 18 may name the axes that they change. ONNX Runtime fails when it moves Transposes across
// such a node (ref:writing#runtime-kernels), so the lists are written for all dimensions, which changes nothing else.

namespace {

using Ints = std::vector<int64_t>;

/// `list` has one value for each of `axes`, or several rows of such; every dimension gets one, by default `absent[i]`.
template <typename T>
std::optional<std::vector<T>> spread(const std::vector<T>& list, const Ints& axes, const std::vector<T>& absent) {
  if (axes.empty() || list.size() % axes.size() != 0) return std::nullopt;
  const size_t rank = absent.size();
  std::vector<T> all;
  for (size_t row = 0; row < list.size() / axes.size(); ++row) {
    all.insert(all.end(), absent.begin(), absent.end());
    for (size_t i = 0; i < axes.size(); ++i)
      all[row * rank + static_cast<size_t>(axes[i])] = list[row * axes.size() + i];
  }
  return all;
}

class Speller {
 public:
  explicit Speller(ir::Graph& graph) : graph_(graph), edit_(graph) {}

  bool spell(const ir::Node& node) {
    if (!node.input(0).valid() || !graph_.value(node.input(0)).type.has_shape) return false;
    const bool is_pad = node.is("Pad") && node.input(3).valid(), is_resize = node.is("Resize") && node.find("axes");
    return is_pad ? spell_pad(node) : is_resize && spell_resize(node);
  }

 private:
  const std::vector<ir::Dim>& dims_of(const ir::Node& node) const { return graph_.value(node.input(0)).type.dims; }

  /// Axes counted from the front, or nullopt if they are computed or outside of the rank.
  std::optional<Ints> axes_of(const ir::Node& node, std::optional<Ints> axes) const {
    if (!axes) return std::nullopt;
    for (int64_t& axis : *axes) {
      const Result<int64_t> counted = ir::normalize_axis(axis, static_cast<int64_t>(dims_of(node).size()));
      if (!counted.ok()) return std::nullopt;
      axis = counted.value();
    }
    return axes;
  }

  void store(const ir::Node& node, size_t input, const char* suffix, ir::Tensor tensor) {
    const std::string name = graph_.value(node.output(0)).name + suffix;
    edit_.set_input(node.id, input, edit_.add_initializer(name, std::move(tensor)));
  }

  bool spell_pad(const ir::Node& node) {
    const auto axes = axes_of(node, ir::integers_of(graph_, node, 3, ""));
    const auto pads = ir::integers_of(graph_, node, 1, "");
    if (!axes || !pads || pads->size() != 2 * axes->size()) return false;
    const auto all = spread(*pads, *axes, Ints(dims_of(node).size(), 0));
    if (!all) return false;
    const ir::NodeId id = node.id;
    store(node, 1, "_pads", ir::Tensor::from<int64_t>({static_cast<int64_t>(all->size())}, *all));
    edit_.set_input(id, 3, {});
    return true;
  }

  std::optional<std::vector<float>> floats_of(const ir::Node& node, size_t input) const {
    const ir::Tensor* stored = node.input(input).valid() ? graph_.constant(node.input(input)) : nullptr;
    if (stored == nullptr) return std::nullopt;
    Result<std::vector<float>> values = ir::float_values(*stored);
    return values.ok() ? std::optional(std::move(values).value()) : std::nullopt;
  }

  /// Returns the sizes of all dimensions, or nullopt if one that does not change is unknown.
  std::optional<Ints> all_sizes(const ir::Node& node, const Ints& axes) const {
    const auto sizes = ir::integers_of(graph_, node, 3, "");
    Ints absent;
    for (const ir::Dim& dim : dims_of(node)) absent.push_back(dim.size);
    const auto all = sizes && sizes->size() == axes.size() ? spread(*sizes, axes, absent) : std::nullopt;
    const bool is_known = all && std::ranges::none_of(*all, [](int64_t size) { return size < 0; });
    return is_known ? all : std::nullopt;
  }

  /// A policy that keeps the aspect ratio would scale the other dimensions as well, and a region has entries for the
  /// axes.
  bool spell_resize(const ir::Node& node) {
    const auto axes = axes_of(node, node.ints_or("axes", {}));
    const bool has_region = node.string_or("coordinate_transformation_mode", "") == "tf_crop_and_resize";
    if (!axes || has_region || node.string_or("keep_aspect_ratio_policy", "stretch") != "stretch") return false;
    const ir::NodeId id = node.id;
    if (node.input(3).valid()) {
      const auto sizes = all_sizes(node, *axes);
      if (!sizes) return false;
      store(node, 3, "_sizes", ir::Tensor::from<int64_t>({static_cast<int64_t>(sizes->size())}, *sizes));
    } else {
      const auto scales = floats_of(node, 2);
      if (!scales || scales->size() != axes->size()) return false;
      const auto all = spread(*scales, *axes, std::vector<float>(dims_of(node).size(), 1.0f));
      if (!all) return false;
      store(node, 2, "_scales", ir::Tensor::from<float>({static_cast<int64_t>(all->size())}, *all));
    }
    edit_.node(id).erase("axes");
    return true;
  }

  ir::Graph& graph_;
  ir::GraphEdit edit_;
};

}  // namespace

Result<Changed> spell_out_axes(pass::FloatContext& context) {
  Speller speller(context.graph());
  Changed changed = Changed::kNo;
  for (const ir::NodeId id : std::vector<ir::NodeId>(context.graph().order())) {
    const ir::Node node = context.graph().node(id);
    if (speller.spell(node)) changed = Changed::kYes;
  }
  return changed;
}

// The node order that marking and insertion depend on (ref:writing#node-order), and fresh types for whatever the passes
// before made.

Result<Changed> sort_nodes(pass::FloatContext& context) {
  const std::vector<ir::NodeId> before = context.graph().order();
  QQ_TRY(const bool sorted, ir::sort_topologically(context.graph()));
  if (!sorted) context.diagnostics.add("sort-fallback", "", "nodes keep a stable order: nested graphs depend on it");
  QQ_TRY(const Changed retyped, pass::infer_types_again(context.model, context.diagnostics));
  return context.graph().order() == before ? retyped : Changed::kYes;
}

}  // namespace quarkq::rewrite
