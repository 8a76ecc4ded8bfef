// SPDX-License-Identifier: MIT
#include "ir/check_graph.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "ir/quantizing_ops.h"
#include "ir/shape.h"
#include "ir/traversal.h"

namespace quarkq::ir {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), reads_(graph.value_count(), 0) {}
  Status run();

 private:
  bool is_live(ValueId id) const {
    return id.valid() && static_cast<size_t>(id.index) < graph_.value_count() && graph_.is_alive(id);
  }
  Status check_order() const;
  Status check_node(const Node& node);
  Status check_nested(const Node& node, const Graph& nested) const;
  Status check_value(const Value& value) const;
  Status check_uses(const Value& value) const;
  Status check_list(const std::vector<ValueId>& list, const char* what, bool (*has_flag)(const Value&)) const;

  const Graph& graph_;
  std::vector<size_t> reads_;  ///< Number of node inputs and captures that read a value, by value index.
};

Status Verifier::check_order() const {
  std::vector<bool> listed(graph_.node_count(), false);
  size_t alive = 0;
  for (size_t i = 0; i < graph_.node_count(); ++i) alive += graph_.is_alive(NodeId{static_cast<int32_t>(i)}) ? 1 : 0;
  for (const NodeId id : graph_.order()) {
    if (!id.valid() || static_cast<size_t>(id.index) >= graph_.node_count() || !graph_.is_alive(id)) {
      return internal_error("node order: lists node id ", id.index, ", which is not alive");
    }
    if (listed[static_cast<size_t>(id.index)]) return internal_error("node order: lists ", graph_.label(id), " twice");
    listed[static_cast<size_t>(id.index)] = true;
  }
  if (graph_.order().size() == alive) return Status();
  return internal_error("node order: lists ", graph_.order().size(), " nodes of ", alive, " alive");
}

Status Verifier::check_nested(const Node& node, const Graph& nested) const {
  QQ_RETURN_IF_ERROR(verify(nested));
  for (const ValueId id : nested.captured()) {
    const std::string& name = nested.value(id).name;
    const bool known = std::any_of(node.captures.begin(), node.captures.end(),
                                   [&](const Capture& capture) { return capture.name == name; });
    if (!known) return internal_error("its nested graph reads '", name, "', which it does not capture");
  }
  return Status();
}

Status Verifier::check_node(const Node& node) {
  for (const ValueId input : node.inputs) {
    if (!input.valid()) continue;
    if (!is_live(input)) return internal_error("reads value id ", input.index, ", which is not alive");
    ++reads_[static_cast<size_t>(input.index)];
  }
  for (const Capture& capture : node.captures) {
    if (!is_live(capture.outer)) {
      return internal_error("captures value id ", capture.outer.index, ", which is not alive");
    }
    ++reads_[static_cast<size_t>(capture.outer.index)];
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    if (!output.valid()) continue;
    if (!is_live(output)) return internal_error("makes value id ", output.index, ", which is not alive");
    if (graph_.value(output).producer != node.id) {
      return internal_error("makes '", graph_.value(output).name, "', which names another producer");
    }
    if (std::count(node.outputs.begin(), node.outputs.end(), output) > 1) {
      return internal_error("makes '", graph_.value(output).name, "' twice");
    }
  }
  for (const Graph* nested : nested_graphs(node)) QQ_RETURN_IF_ERROR(check_nested(node, *nested));
  return Status();
}

Status Verifier::check_uses(const Value& value) const {
  for (const Use& use : value.uses) {
    const bool alive = use.node.valid() && static_cast<size_t>(use.node.index) < graph_.node_count() &&
                       graph_.is_alive(use.node) && use.input >= 0;
    if (!alive) return internal_error("has a use by node id ", use.node.index, ", which is not alive");
    const Node& reader = graph_.node(use.node);
    const auto at = static_cast<size_t>(use.input);
    const ValueId read =
        use.is_capture ? (at < reader.captures.size() ? reader.captures[at].outer : ValueId{}) : reader.input(at);
    if (read != value.id) return internal_error("has a use by ", graph_.label(use.node), ", which does not read it");
  }
  std::vector<std::tuple<NodeId, int32_t, bool>> sorted;
  for (const Use& use : value.uses) sorted.emplace_back(use.node, use.input, use.is_capture);
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return internal_error("lists a use twice");
  const size_t reads = reads_[static_cast<size_t>(value.id.index)];
  if (value.uses.size() == reads) return Status();
  return internal_error("lists ", value.uses.size(), " uses, nodes read it ", reads, " times");
}

Status Verifier::check_value(const Value& value) const {
  if (value.name.empty()) return internal_error("value id ", value.id.index, " has no name");
  if (graph_.find(value.name) != value.id) return internal_error("the name leads to another value");
  QQ_RETURN_IF_ERROR(check_uses(value));
  const bool is_given = value.is_input || value.constant || value.is_captured;
  if (!value.producer.valid()) {
    const bool read = !value.uses.empty() || value.is_output;
    return read && !is_given ? internal_error("is read, but nothing defines it") : Status();
  }
  if (is_given) return internal_error("has a producer and is an input, initializer or captured value, too");
  if (static_cast<size_t>(value.producer.index) >= graph_.node_count() || !graph_.is_alive(value.producer)) {
    return internal_error("its producer, node id ", value.producer.index, ", is not alive");
  }
  const auto& made = graph_.node(value.producer).outputs;
  if (std::find(made.begin(), made.end(), value.id) != made.end()) return Status();
  return internal_error("its producer ", graph_.label(value.producer), " does not make it");
}

/// The list holds live values that carry the flag, and as many as carry it.
Status Verifier::check_list(const std::vector<ValueId>& list, const char* what, bool (*has_flag)(const Value&)) const {
  std::vector<bool> listed(graph_.value_count(), false);
  for (const ValueId id : list) {
    if (!is_live(id)) return internal_error(what, ": value id ", id.index, " is not alive");
    if (!has_flag(graph_.value(id))) {
      return internal_error(what, ": '", graph_.value(id).name, "' is not marked as one");
    }
    listed[static_cast<size_t>(id.index)] = true;
  }
  for (size_t i = 0; i < graph_.value_count(); ++i) {
    const ValueId id{static_cast<int32_t>(i)};
    if (graph_.is_alive(id) && has_flag(graph_.value(id)) && !listed[i]) {
      return internal_error(what, ": '", graph_.value(id).name, "' is marked as one, but not listed");
    }
  }
  return Status();
}

Status Verifier::run() {
  QQ_RETURN_IF_ERROR(check_order());
  for (const NodeId id : graph_.order()) {
    if (Status status = check_node(graph_.node(id)); !status.ok()) return std::move(status).context(graph_.label(id));
  }
  for (size_t i = 0; i < graph_.value_count(); ++i) {
    const ValueId id{static_cast<int32_t>(i)};
    if (!graph_.is_alive(id)) continue;
    const Value& value = graph_.value(id);
    if (Status status = check_value(value); !status.ok()) {
      return std::move(status).context(cat("value '", value.name, "'"));
    }
  }
  QQ_RETURN_IF_ERROR(check_list(graph_.inputs(), "graph inputs", [](const Value& value) { return value.is_input; }));
  QQ_RETURN_IF_ERROR(check_list(graph_.outputs(), "graph outputs", [](const Value& value) { return value.is_output; }));
  QQ_RETURN_IF_ERROR(
      check_list(graph_.initializers(), "initializers", [](const Value& value) { return value.is_initializer(); }));
  return check_list(graph_.captured(), "captured values", [](const Value& value) { return value.is_captured; });
}

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();

/// Allowed values of an attribute of this name, for every operator and rank.
struct Limit {
  std::string_view attribute;
  int64_t low, high;
};

constexpr Limit kLimits[] = {
    {"axis", -kMaxRank, kMaxRank},
    {"axes", -kMaxRank, kMaxRank},
    {"scan_input_axes", -kMaxRank, kMaxRank},
    {"scan_output_axes", -kMaxRank, kMaxRank},
    {"batch_axis", -kMaxRank, kMaxRank},
    {"time_axis", -kMaxRank, kMaxRank},
    {"batch_dims", 0, kMaxRank},
    {"group", 1, kMaxCount},
    {"offset_group", 1, kMaxCount},
    {"num_groups", 1, kMaxCount},
    {"num_outputs", 1, kMaxCount},
    {"num_scan_inputs", 1, kMaxCount},
    {"kernel_shape", 1, kMaxCount},
    {"strides", 1, kMaxCount},
    {"dilations", 1, kMaxCount},
    {"pads", -kMaxCount, kMaxCount},
    {"output_padding", 0, kMaxCount},
    {"output_shape", -kMaxCount, kMaxCount},
    {"blocksize", 1, kMaxCount},
    {"block_size", 0, kMaxCount},
    {"hidden_size", 0, kMaxCount},
    {"num_heads", 0, kMaxCount},
    {"q_num_heads", 1, kMaxCount},
    {"kv_num_heads", 1, kMaxCount},
    {"rotary_embedding_dim", 0, kMaxCount},
    {"output_height", 0, kMaxCount},
    {"output_width", 0, kMaxCount},
    {"sampling_ratio", 0, kMaxCount},
    {"split", 0, kMostElements},
    {"transA", 0, 1},  // the onnx library looks at 32 of their bits, others at all
    {"transB", 0, 1},
};

/// Axes of input 0 of an operator: as an attribute, or stored as an input.
struct AxisRule {
  std::string_view op;
  std::string_view attribute = "axis";
  size_t input = 0;            ///< 0: an attribute in all opsets
  int64_t flat_until = 0;      ///< opset from which on the axis after the last one is no longer allowed
  bool counts_itself = false;  ///< the output's dimensions are meant, of which each axis adds one
  bool is_unique = false;      ///< none may come twice
};

constexpr AxisRule kAxisRules[] = {
    {.op = "Softmax", .flat_until = 13},
    {.op = "LogSoftmax", .flat_until = 13},
    {.op = "Hardmax", .flat_until = 13},
    {"Concat"},
    {"Split"},
    {"Gather"},
    {"GatherElements"},
    {"Scatter"},
    {"ScatterElements"},
    {"ArgMax"},
    {"ArgMin"},
    {"TopK"},
    {"LayerNormalization"},
    {"RMSNormalization"},
    {"LpNormalization"},
    {"Compress"},
    {"Unique"},
    {"SplitToSequence"},
    {.op = "Flatten", .flat_until = kAlways},
    {.op = "OneHot", .counts_itself = true},
    {.op = "CumSum", .input = 1},
    {.op = "CumProd", .input = 1},
    {.op = "Squeeze", .attribute = "axes", .input = 1, .is_unique = true},
    {.op = "Unsqueeze", .attribute = "axes", .input = 1, .counts_itself = true, .is_unique = true},
    {.op = "Slice", .attribute = "axes", .input = 3},
    {.op = "Pad", .attribute = "axes", .input = 3},
    {.op = "Resize", .attribute = "axes"},
    {.op = "CenterCropPad", .attribute = "axes"},
    {.op = "MeanVarianceNormalization", .attribute = "axes"},
    {.op = "ReduceL1", .attribute = "axes", .input = 1},
    {.op = "ReduceL2", .attribute = "axes", .input = 1},
    {.op = "ReduceLogSum", .attribute = "axes", .input = 1},
    {.op = "ReduceLogSumExp", .attribute = "axes", .input = 1},
    {.op = "ReduceMax", .attribute = "axes", .input = 1},
    {.op = "ReduceMean", .attribute = "axes", .input = 1},
    {.op = "ReduceMin", .attribute = "axes", .input = 1},
    {.op = "ReduceProd", .attribute = "axes", .input = 1},
    {.op = "ReduceSum", .attribute = "axes", .input = 1},
    {.op = "ReduceSumSquare", .attribute = "axes", .input = 1},
};

std::string text_of(const Attribute& attribute) {
  if (const auto* one = std::get_if<int64_t>(&attribute.value)) return cat(*one);
  const auto* list = std::get_if<Ints>(&attribute.value);
  return list == nullptr ? "of another type" : cat("[", join(*list, ","), "]");
}

/// The integers of an attribute of either kind; null for others.
std::span<const int64_t> ints_of(const Attribute& attribute) {
  if (const auto* one = std::get_if<int64_t>(&attribute.value)) return {one, 1};
  const auto* list = std::get_if<Ints>(&attribute.value);
  return list == nullptr ? std::span<const int64_t>() : std::span<const int64_t>(*list);
}

class Checker {
 public:
  Checker(const Graph& graph, int64_t opset) : graph_(graph), opset_(opset) {}

  Status check(const Node& node) const {
    for (const Attribute& attribute : node.attributes) {
      if (attribute.reference.empty()) QQ_RETURN_IF_ERROR(check_limits(node, attribute));
    }
    if (!node.domain.empty()) return Status();
    if (node.op == "Transpose") return check_transpose(node);
    if (node.op == "GatherND") return check_batch_dims(node);
    if (node.op == "Split") QQ_RETURN_IF_ERROR(check_parts(node));
    const auto* rule =
        std::find_if(std::begin(kAxisRules), std::end(kAxisRules), [&](const AxisRule& r) { return r.op == node.op; });
    return rule == std::end(kAxisRules) ? Status() : check_axes(node, *rule);
  }

 private:
  template <typename... Args>
  Status refused(const Node& node, const Args&... args) const {
    return corrupt_model(graph_.label(node.id), ": ", args...);
  }

  Status check_limits(const Node& node, const Attribute& attribute) const {
    const auto* limit = std::find_if(std::begin(kLimits), std::end(kLimits),
                                     [&](const Limit& l) { return l.attribute == attribute.name; });
    if (limit == std::end(kLimits)) return Status();
    for (const int64_t number : ints_of(attribute)) {
      if (number >= limit->low && number <= limit->high) continue;
      return refused(node, "attribute ", attribute.name, " is ", text_of(attribute), ", allowed: ", limit->low, " to ",
                     limit->high);
    }
    return Status();
  }

  Status check_transpose(const Node& node) const {
    const auto* perm = node.get<Ints>("perm");
    if (perm == nullptr || !node.find("perm")->reference.empty()) return Status();
    const auto rank = rank_of(graph_, node.input(0)).value_or(static_cast<int64_t>(perm->size()));
    if (check_permutation(*perm, rank).ok()) return Status();
    return refused(node, "attribute perm is [", join(*perm, ","), "], allowed: each of 0 to ", rank - 1, " once");
  }

  Status check_batch_dims(const Node& node) const {
    const auto data = rank_of(graph_, node.input(0)), indices = rank_of(graph_, node.input(1));
    const int64_t count = node.int_or("batch_dims", 0);
    if (!data || !indices || count == 0 || count < std::min(*data, *indices)) return Status();
    return refused(node, "attribute batch_dims is ", count, ", allowed: 0 to ", std::min(*data, *indices) - 1);
  }

  Status check_parts(const Node& node) const {
    const auto parts = static_cast<int64_t>(node.outputs.size()), asked = node.int_or("num_outputs", parts);
    if (asked == parts) return Status();
    return refused(node, "attribute num_outputs is ", asked, ", outputs: ", parts);
  }

  /// The axes that the node names, and where it does.
  std::pair<Ints, std::string> axes_of(const Node& node, const AxisRule& rule) const {
    const Attribute* attribute = node.find(rule.attribute);
    if (attribute != nullptr && attribute->reference.empty()) {
      const auto numbers = ints_of(*attribute);
      return {{numbers.begin(), numbers.end()}, cat("attribute ", rule.attribute, " is ", text_of(*attribute))};
    }
    const Tensor* stored =
        rule.input > 0 && node.input(rule.input).valid() ? graph_.constant(node.input(rule.input)) : nullptr;
    if (stored == nullptr || !is_integer(stored->type()) || stored->size() > kMaxRank) return {};
    Result<Ints> numbers = to_int64(*stored);
    if (!numbers.ok()) return {};
    std::string text = cat("input ", rule.input, " (", rule.attribute, ") is [", join(numbers.value(), ","), "]");
    return {std::move(numbers).value(), std::move(text)};
  }

  Status check_axes(const Node& node, const AxisRule& rule) const {
    const auto [axes, text] = axes_of(node, rule);
    const auto rank = rank_of(graph_, node.input(0));
    const int64_t added = rule.counts_itself ? static_cast<int64_t>(axes.size()) : 0;
    if (rank && *rank + added == 0) return Status();  // operators differ in their treatment of scalars
    const int64_t known = rank ? *rank + added : kMaxRank;
    const int64_t last = opset_ < rule.flat_until ? known : known - 1;
    for (const int64_t axis : axes) {
      if (axis < -known || axis > last) return refused(node, text, ", allowed: ", -known, " to ", last);
    }
    if (rule.is_unique && rank && !normalize_axes(axes, known).ok()) {
      return refused(node, text, ", allowed: each axis once");
    }
    return Status();
  }

  const Graph& graph_;
  int64_t opset_;
};

bool is_known_domain(const std::string& domain) {
  return domain.empty() || domain == kMicrosoftDomain || domain == kQuarkDomain;
}

}  // namespace

Status check_attributes(const Graph& graph, const std::map<std::string, int64_t>& opsets) {
  const auto opset = opsets.find("");
  const Checker checker(graph, opset == opsets.end() ? 1 : opset->second);
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (is_known_domain(node.domain)) QQ_RETURN_IF_ERROR(checker.check(node));
    for (const Graph* nested : nested_graphs(node)) QQ_RETURN_IF_ERROR(check_attributes(*nested, opsets));
  }
  return Status();
}

}  // namespace quarkq::ir
