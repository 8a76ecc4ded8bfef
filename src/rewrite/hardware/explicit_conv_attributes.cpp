// SPDX-License-Identifier: MIT
// Every Conv is written with strides, pads, dilations, kernel_shape and group. All of them have defaults in ONNX, but
// one compiler aborts where they are absent (docs/targets.md, rule conv-implicit-attributes).
#include <algorithm>

#include "ir/edit.h"
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

/// What `conv` lacks. Nothing when its weight or its own attributes do not fit together.
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

}  // namespace quarkq::rewrite
