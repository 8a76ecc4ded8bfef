// SPDX-License-Identifier: MIT
// Split becomes one Slice per output, with bounds in Constant nodes named after the output as the reference does.
#include "ir/arguments.h"
#include "ir/axes.h"
#include "pass/tidy_up.h"
#include "rewrite/driver.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

/// The reference gives up at the first Split that does not write its sizes, and leaves all after it, too.
bool stops_at_unwritten_sizes(const config::Settings& settings) {
  return !settings.quirk(config::Quirk::kSliceUnwrittenSplits);
}

/// The sizes as written; empty when they are to be equal, nothing when they are computed.
std::optional<std::vector<int64_t>> written_sizes(const ir::Graph& graph, const ir::Node& split) {
  return ir::integers_of(graph, split, 1, "split");
}

/// Equal parts of the axis, the last one smaller when they do not fit. Nothing when its length is unknown.
std::optional<std::vector<int64_t>> equal_sizes(const ir::Graph& graph, const ir::Node& split, int64_t axis) {
  const ir::ValueType& type = graph.value(split.input(0)).type;
  if (!type.has_shape) return std::nullopt;
  const Result<int64_t> place = ir::normalize_axis(axis, static_cast<int64_t>(type.dims.size()));
  if (!place.ok()) return std::nullopt;
  const int64_t length = type.dims[static_cast<size_t>(place.value())].size;
  const auto parts = static_cast<int64_t>(split.outputs.size());
  const int64_t part = (length + parts - 1) / parts;
  if (length < 0 || part * (parts - 1) > length) return std::nullopt;
  std::vector<int64_t> sizes(split.outputs.size(), part);
  sizes.back() = length - part * (parts - 1);
  return sizes;
}

/// May these be the parts of an axis? None is negative, and their sum is a length.
bool are_lengths(const std::vector<int64_t>& sizes) {
  std::optional<int64_t> total = 0;
  for (const int64_t size : sizes) {
    if (size >= 0 && total) total = ir::checked_sum(*total, size);
    if (size < 0 || !total) return false;
  }
  return true;
}

/// Slice's bounds are inputs from opset 10 on.
constexpr int64_t kSliceWithInputs = 10;

ir::GraphPatch slices_for(const ir::Graph& graph, const ir::Node& split, const std::vector<int64_t>& sizes) {
  ir::GraphPatch patch;
  patch.remove(split.id);
  patch.place_at_end();
  const int64_t axis = split.int_or("axis", 0);
  const ir::ValueType one_integer{ElementType::kInt64, /*has_shape=*/true, {{1, {}}}, {}};
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const ir::ValueId output = split.outputs[i];
    const int64_t end = start + sizes[i];
    if (output.valid()) {
      const std::string name = graph.value(output).name;
      std::vector<ir::PatchValue> inputs = {split.input(0)};
      const std::pair<const char*, int64_t> bounds[] = {{"starts", start}, {"ends", end}, {"axes", axis}, {"steps", 1}};
      for (const auto& [what, number] : bounds) {
        const ir::Tensor tensor = ir::Tensor::from<int64_t>({1}, std::vector<int64_t>{number});
        inputs.push_back(patch.value(cat(name, "_", what, "_", i), one_integer));
        patch.node({"Constant", "", "", {}, {inputs.back()}, {{"value", tensor, {}, {}}}});
      }
      patch.node({"Slice", "", cat(name, "_", i), std::move(inputs), {output}, {}});
    }
    start = end;
  }
  return patch;
}

}  // namespace

Result<Changed> convert_split_to_slice(pass::FloatContext& context) {
  bool stopped = false;
  const auto rule = [&](const ir::Graph& graph, const ir::Node& split) -> Proposal {
    if (stopped || !split.is("Split") || !context.selection.selects(split)) return std::optional<ir::GraphPatch>();
    std::optional<std::vector<int64_t>> sizes = written_sizes(graph, split);
    const bool unwritten = !sizes || sizes->empty();
    if (sizes && sizes->empty()) sizes = equal_sizes(graph, split, split.int_or("axis", 0));
    stopped = unwritten && stops_at_unwritten_sizes(context.settings);
    const bool fits = sizes && sizes->size() == split.outputs.size() && are_lengths(*sizes);
    if (!stopped && fits && context.model.opset() >= kSliceWithInputs)
      return std::optional(slices_for(graph, split, *sizes));
    context.diagnostics.add("split-kept", graph.label(split.id),
                            stopped ? "its sizes are not stored; it and all Splits after it are kept"
                                    : "its sizes are not known, or the opset has no Slice with inputs; it is kept");
    return std::optional<ir::GraphPatch>();
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  return pass::tidy_up(context.graph(), changed);
}

}  // namespace quarkq::rewrite
