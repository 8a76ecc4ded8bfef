// SPDX-License-Identifier: MIT
// x * 0.5 * (1 + erf(x / sqrt(2))), multiplied in any order, becomes Gelu (ref:rewrites#gelu).
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ir/quantizing_ops.h"
#include "onnx_io/infer.h"
#include "pass/output_guard.h"
#include "rewrite/driver.h"
#include "rewrite/fuse_group.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

constexpr double kTolerance = 0.001;

/// The reference makes the operator of com.microsoft, although it requires the opset of the standard one.
bool makes_contrib_gelu(const config::Settings& settings) { return !settings.quirk(config::Quirk::kStandardGelu); }

bool is_about(std::optional<double> value, double wanted) { return value && std::abs(*value - wanted) <= kTolerance; }

/// Returns the other operand of a constant of about `factor`, or an invalid id.
ValueId beside_constant(const Graph& graph, const Node& node, double factor) {
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (is_about(scalar(graph, node.input(i)), factor)) return node.input(1 - i);
  }
  return {};
}

/// Add(Erf(x / sqrt(2)), 1): x, else an invalid id.
ValueId match_erf(const Graph& graph, MatchedGroup& group, ValueId value) {
  const Node* sum = group.producer(value, "Add");
  const ValueId erf = sum == nullptr ? ValueId{} : beside_constant(graph, *sum, 1);
  const Node* curve = group.producer(erf, "Erf");
  if (curve == nullptr) return {};
  if (const Node* ratio = group.producer(curve->input(0), "Div"))
    return is_about(scalar(graph, ratio->input(1)), std::sqrt(2.0)) ? ratio->input(0) : ValueId{};
  const Node* product = group.producer(curve->input(0), "Mul");
  return product == nullptr ? ValueId{} : beside_constant(graph, *product, std::sqrt(0.5));
}

/// Mul of `left` and `right`, one of which is half of the rest: x, else an invalid id.
ValueId match_product(const Graph& graph, MatchedGroup& group, ValueId left, ValueId right) {
  // (0.5 (1 + erf)) * x
  if (const Node* half = group.producer(left, "Mul")) {
    const ValueId x = match_erf(graph, group, beside_constant(graph, *half, 0.5));
    return x == right ? x : ValueId{};
  }
  // (1 + erf) * (0.5 x)
  const ValueId x = match_erf(graph, group, left);
  const Node* half = x.valid() ? group.producer(right, "Mul") : nullptr;
  return half != nullptr && beside_constant(graph, *half, 0.5) == x ? x : ValueId{};
}

/// 0.5 * (x * (1 + erf)): x, else an invalid id.
ValueId match_half_of(const Graph& graph, MatchedGroup& group, ValueId value) {
  const Node* product = group.producer(value, "Mul");
  if (product == nullptr) return {};
  const size_t sum =
      graph.producer(product->input(0)) != nullptr && graph.producer(product->input(0))->is("Add") ? 0 : 1;
  const size_t known = group.members().size();
  for (const size_t i : {sum, 1 - sum}) {
    const ValueId x = match_erf(graph, group, product->input(i));
    if (x.valid()) return x == product->input(1 - i) ? x : ValueId{};
    group.keep_first(known);  // the Add may be the bias before the Gelu
  }
  return {};
}

/// The forms with a product of two halves at the end.
std::optional<GeluGroup> match_other(const Graph& graph, const Node& root) {
  if (!root.is("Mul")) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    MatchedGroup group(graph, root);
    const ValueId x = match_product(graph, group, root.input(i), root.input(1 - i));
    if (x.valid() && group.is_closed(x)) return GeluGroup{std::move(group), x};
  }
  return std::nullopt;
}

std::optional<GeluGroup> match_gelu(const Graph& graph, const Node& root) {
  auto halved = match_halved_gelu(graph, root);
  return halved ? std::move(halved) : match_other(graph, root);
}

/// Returns whether the model's opset has the operator. If the target asks for it, a model that spells out Gelu is
/// converted to that opset, unless the onnx library cannot convert it.
Result<bool> has_opset_of_gelu(pass::FloatContext& context) {
  if (context.model.opset() >= kFirstGeluOpset) return true;
  const bool is_wanted = context.settings.legalize.gelu_of_opset_20.value_or(false) &&
                         !context.settings.preprocessing.convert_opset_version;
  const Graph& graph = context.graph();
  if (!is_wanted ||
      std::ranges::none_of(graph.order(), [&](ir::NodeId id) { return match_gelu(graph, graph.node(id)).has_value(); }))
    return false;
  const int64_t found = context.model.opset();
  Result<ir::Model> raised = pass::convert_opset(context.model, context.environment, kFirstGeluOpset);
  if (!raised.ok()) return false;
  context.model = std::move(raised).value();
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(context.model, context.diagnostics));
  context.diagnostics.add("opset-raised", "", cat("opset ", found, " lacks Gelu, raised to ", kFirstGeluOpset));
  return true;
}

}  // namespace

std::optional<GeluGroup> match_halved_gelu(const Graph& graph, const Node& root) {
  const ValueId rest = root.is("Mul") ? beside_constant(graph, root, 0.5) : ValueId{};
  if (!rest.valid()) return std::nullopt;
  MatchedGroup group(graph, root);
  const ValueId x = match_half_of(graph, group, rest);
  if (!x.valid() || !group.is_closed(x)) return std::nullopt;
  return GeluGroup{std::move(group), x};
}

Result<Changed> fuse_gelu(pass::FloatContext& context) {
  QQ_TRY(const bool has_operator, has_opset_of_gelu(context));
  if (!has_operator) return Changed::kNo;
  const std::string domain = makes_contrib_gelu(context.settings) ? ir::kMicrosoftDomain : "";
  int64_t made = 0;
  const auto rule = [&](const Graph& graph, const Node& root) -> Proposal {
    const auto found = match_gelu(graph, root);
    ir::GraphPatch patch;
    if (found) replace_group(patch, found->group, {"Gelu", domain, cat("Gelu_", made++), {found->x}, {}, {}});
    return std::optional(std::move(patch));
  };
  QQ_TRY(const Changed changed, run_once(context.graph(), rule));
  if (changed == Changed::kNo) return changed;
  ir::GraphEdit(context.graph()).remove_unused_initializers();
  if (!domain.empty() && context.model.opset(domain) == 0) context.model.set_opset(domain, 1);
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
