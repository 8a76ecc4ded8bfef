// SPDX-License-Identifier: MIT
// Matches the entries of a compiler's report with the nodes of a model. Entries have no names, and the compiler sees
// the graph after ONNX Runtime has copied, folded and renamed parts of it (ref:targets#names-in-reports).
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "targets/reported.h"

namespace quarkq::targets {
namespace {

/// Readers of a value that are compared with an entry. Scales of thousands of pairs have more; a node is then found by
/// another of its inputs, or by its reader.
constexpr size_t kMostReaders = 64;

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Removes one suffix that ONNX Runtime adds to a name that is taken: "/duplicated" of copies of a DequantizeLinear,
/// "_token_3" and "_3" of generated names. Returns the name unchanged if it has none.
std::string_view without_suffix(std::string_view name) {
  constexpr std::string_view kCopy = "/duplicated", kToken = "_token";
  if (name.ends_with(kCopy)) return name.substr(0, name.size() - kCopy.size());
  const size_t line = name.rfind('_');
  if (line == std::string_view::npos || !is_digits(name.substr(line + 1))) return name;
  name = name.substr(0, line);
  return name.ends_with(kToken) ? name.substr(0, name.size() - kToken.size()) : name;
}

class Matcher {
 public:
  Matcher(const QuantizedView& view, const std::vector<ReportedNode>& entries) : view_(view), entries_(entries) {
    match_.entry_of.assign(view.kinds.size(), NodeMatch::kNone);
    match_.node_of.resize(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      for (const std::string& output : entries[i].outputs) {
        if (!output.empty()) maker_.try_emplace(output, i);
      }
    }
  }

  NodeMatch run() {
    for (size_t i = 0; i < entries_.size(); ++i) match_by_output(i, /*is_renamed=*/false);
    for (size_t i = 0; i < entries_.size(); ++i) match_by_output(i, /*is_renamed=*/true);
    for (size_t i = 0; i < entries_.size(); ++i) match_by_inputs(i, /*takes_any=*/false);
    for (size_t i = entries_.size(); i-- > 0;) match_inputs_of(i);
    for (size_t i = 0; i < entries_.size(); ++i) match_by_inputs(i, /*takes_any=*/true);
    return std::move(match_);
  }

 private:
  bool is_matched(size_t entry) const { return match_.node_of[entry].valid(); }

  /// Returns whether the entry can be the node. Only a DequantizeLinear has several entries, one per reader.
  bool can_be(size_t entry, const ir::Node& node) const {
    const bool is_free = match_.entry_of[static_cast<size_t>(node.id.index)] == NodeMatch::kNone;
    return node.op == entries_[entry].op && (is_free || view_.kind(node.id) == NodeKind::kDequantize);
  }

  void accept(size_t entry, const ir::Node& node) {
    match_.node_of[entry] = node.id;
    size_t& first = match_.entry_of[static_cast<size_t>(node.id.index)];
    if (first == NodeMatch::kNone) first = entry;
    const std::vector<std::string>& outputs = entries_[entry].outputs;
    for (size_t i = 0; i < std::min(outputs.size(), node.outputs.size()); ++i) {
      if (!outputs[i].empty() && node.outputs[i].valid()) value_of_.try_emplace(outputs[i], node.outputs[i]);
    }
  }

  void match_by_output(size_t entry, bool is_renamed) {
    if (is_matched(entry)) return;
    for (const std::string& output : entries_[entry].outputs) {
      if (output.empty()) continue;
      const ir::Node* node = producer_of(is_renamed ? without_suffix(output) : output);
      if (node != nullptr && can_be(entry, *node)) accept(entry, *node);
      return;  // The first output that exists decides.
    }
  }

  const ir::Node* producer_of(std::string_view name) const {
    const ir::ValueId value = view_.graph().find(name);
    return value.valid() ? view_.graph().producer(value) : nullptr;
  }

  /// Returns the model's value for a tensor of the report, or an invalid id if it is not known.
  ir::ValueId value_of(const std::string& tensor) const {
    if (const auto known = value_of_.find(tensor); known != value_of_.end()) return known->second;
    const ir::ValueId same = view_.graph().find(tensor);
    return same.valid() || maker_.contains(tensor) ? same : view_.graph().find(without_suffix(tensor));
  }

  /// Matches the entry with a node of this operator that reads the same values. Of several DequantizeLinear that read
  /// one tensor, its reader tells which it is, so that none is chosen unless `takes_any`.
  void match_by_inputs(size_t entry, bool takes_any) {
    if (is_matched(entry)) return;
    std::vector<ir::ValueId> inputs;
    const ir::Value* rarest = nullptr;
    for (const std::string& name : entries_[entry].inputs) {
      inputs.push_back(name.empty() ? ir::ValueId{} : value_of(name));
      if (!inputs.back().valid()) continue;
      const ir::Value& value = view_.graph().value(inputs.back());
      if (rarest == nullptr || value.uses.size() < rarest->uses.size()) rarest = &value;
    }
    if (rarest == nullptr) return;
    const ir::Node* found = nullptr;
    for (size_t i = 0; i < std::min(rarest->uses.size(), kMostReaders); ++i) {
      const ir::Node& node = view_.node(rarest->uses[i].node);
      if (!can_be(entry, node) || !reads(node, inputs) || found == &node) continue;
      const bool is_copied = view_.kind(node.id) == NodeKind::kDequantize;
      if (found != nullptr && !takes_any) return;
      if (found == nullptr) found = &node;
      if (!is_copied || takes_any) break;
    }
    if (found != nullptr) accept(entry, *found);
  }

  /// Returns whether the node reads these values, as far as they are known.
  static bool reads(const ir::Node& node, const std::vector<ir::ValueId>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].valid() && node.input(i) != inputs[i]) return false;
    }
    return true;
  }

  /// Matches the entries that make the inputs of a matched one.
  void match_inputs_of(size_t entry) {
    if (!is_matched(entry)) return;
    const ir::Node& node = view_.node(match_.node_of[entry]);
    const std::vector<std::string>& inputs = entries_[entry].inputs;
    for (size_t i = 0; i < std::min(inputs.size(), node.inputs.size()); ++i) {
      const auto maker = maker_.find(inputs[i]);
      if (maker == maker_.end() || is_matched(maker->second) || !node.inputs[i].valid()) continue;
      const ir::Node* producer = view_.graph().producer(node.inputs[i]);
      if (producer != nullptr && can_be(maker->second, *producer)) accept(maker->second, *producer);
    }
  }

  const QuantizedView& view_;
  const std::vector<ReportedNode>& entries_;
  NodeMatch match_;
  std::unordered_map<std::string_view, size_t> maker_;          ///< Entry that makes a tensor.
  std::unordered_map<std::string_view, ir::ValueId> value_of_;  ///< Values of the model by tensors of the report.
};

}  // namespace

NodeMatch match_nodes(const QuantizedView& view, const std::vector<ReportedNode>& nodes) {
  return Matcher(view, nodes).run();
}

bool is_npu(const std::string& device) {
  // IPU and DPU: names of older releases. VAIML: the BF16 compiler. AIE: its partition files. DOD: custom operators.
  constexpr std::string_view kNames[] = {"NPU", "IPU", "DPU", "VAIML", "AIE", "DOD"};
  return std::ranges::find(kNames, device) != std::end(kNames);
}

}  // namespace quarkq::targets
