// SPDX-License-Identifier: MIT
#include "rewrite/optimize/workspace.h"

#include <algorithm>

#include "onnx_io/schemas.h"

namespace quarkq::rewrite::basic {
namespace {

size_t at(ir::NodeId id) { return static_cast<size_t>(id.index); }

}  // namespace

Workspace::Workspace(ir::Model& model, const config::Settings& settings)
    : model_(model), settings_(settings), edit_(model.graph), loaded_numbers_(graph().node_count(), -1) {
  int64_t next = 0;
  for (const ir::NodeId id : graph().order()) {
    loaded_numbers_[at(id)] = next++;
    node_names_.insert(node(id).name);
  }
  begin_step();
}

int64_t Workspace::number(ir::NodeId id) const {
  return at(id) < loaded_numbers_.size() ? loaded_numbers_[at(id)] : id.index;
}

std::vector<ir::NodeId> Workspace::visiting_order() const {
  const auto before = [&](ir::NodeId a, ir::NodeId b) { return number(a) < number(b); };
  const auto producers = [&](const ir::Node& reader) {
    std::vector<ir::NodeId> found;
    const auto add = [&](ir::ValueId value) {
      if (value.valid() && graph().value(value).producer.valid()) found.push_back(graph().value(value).producer);
    };
    for (const ir::ValueId input : reader.inputs) add(input);
    for (const ir::Capture& capture : reader.captures) add(capture.outer);
    std::sort(found.begin(), found.end(), before);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  struct Entry {
    ir::NodeId node;
    bool leave;
  };
  std::vector<Entry> stack;
  for (const ir::NodeId id : graph().order()) {
    const auto& outputs = node(id).outputs;
    const bool read = std::any_of(outputs.begin(), outputs.end(), [&](ir::ValueId output) {
      return output.valid() && !graph().value(output).uses.empty();
    });
    if (!read) stack.push_back({id, false});
  }
  std::sort(stack.begin(), stack.end(), [&](const Entry& a, const Entry& b) { return before(a.node, b.node); });
  std::vector<bool> seen(graph().node_count(), false);
  std::vector<ir::NodeId> order;
  while (!stack.empty()) {
    const Entry entry = stack.back();
    stack.pop_back();
    if (entry.leave) {
      order.push_back(entry.node);
      continue;
    }
    if (seen[at(entry.node)]) continue;
    seen[at(entry.node)] = true;
    stack.push_back({entry.node, true});
    for (const ir::NodeId id : producers(node(entry.node))) {
      if (!seen[at(id)]) stack.push_back({id, false});
    }
  }
  return order;
}

std::vector<ir::NodeId> Workspace::numbered_order() const {
  std::vector<ir::NodeId> order = graph().order();
  std::sort(order.begin(), order.end(), [&](ir::NodeId a, ir::NodeId b) { return number(a) < number(b); });
  return order;
}

Result<bool> Workspace::sweep(std::span<const WorkspaceRule> rules) {
  std::vector<Rule> bound;
  for (const WorkspaceRule& rule : rules) {
    bound.emplace_back([this, &rule](const ir::Graph&, const ir::Node& visited) { return rule(*this, visited); });
  }
  Policy policy;
  policy.every_rule = true;
  policy.order = [this](const ir::Graph&) { return visiting_order(); };
  QQ_TRY(const Outcome outcome, apply_rules(model_.graph, bound, policy));
  return outcome.changed;
}

void Workspace::begin_step() {
  tensor_names_ = given_tensor_names_;
  tensor_names_.insert("");  // the name of omitted inputs
  for (size_t i = 0; i < graph().value_count(); ++i) {
    const ir::ValueId id{static_cast<int32_t>(i)};
    if (graph().is_alive(id)) tensor_names_.insert(graph().value(id).name);
  }
}

std::string Workspace::unused(std::unordered_set<std::string>& used, const std::string& wanted) {
  std::string name = wanted;
  while (!used.insert(name).second) name = cat(wanted, "_token_", counter_++);
  return name;
}

std::string Workspace::new_node_name(const std::string& wanted) { return unused(node_names_, wanted); }

std::string Workspace::new_tensor_name(const std::string& wanted) {
  std::string name = unused(tensor_names_, wanted);
  given_tensor_names_.insert(name);
  return name;
}

ir::ValueId Workspace::add_node(const std::string& op, std::vector<ir::ValueId> inputs,
                                std::vector<ir::Attribute> attributes, ir::NodeId origin, ir::ValueType type) {
  const std::string name = new_node_name(op);
  const ir::ValueId output = edit_.add_value(new_tensor_name(name + "_out0"), std::move(type));
  edit_.add_node({op, "", name, std::move(inputs), {output}, std::move(attributes), node(origin).origins});
  return output;
}

ir::NodeId Workspace::add_after(ir::NodeId maker, size_t index, const std::string& op,
                                std::vector<ir::Attribute> attributes, ir::ValueType type) {
  const ir::ValueId value = node(maker).outputs[index];
  const std::string name = new_node_name(op);
  const ir::ValueId inner = edit_.add_value(new_tensor_name(node(maker).name), std::move(type));
  edit_.set_output(maker, index, inner);
  return edit_.add_node({op, "", name, {inner}, {value}, std::move(attributes), node(maker).origins});
}

ir::NodeId Workspace::add_named(const std::string& wanted, const std::string& op, std::vector<ir::ValueId> inputs,
                                ir::NodeId maker) {
  const std::vector<ir::ValueId> outputs = node(maker).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) edit_.set_output(maker, i, {});
  return edit_.add_node({op, "", new_node_name(wanted), std::move(inputs), outputs, {}, node(maker).origins});
}

void Workspace::add_unnamed(const std::string& op, std::vector<ir::ValueId> inputs,
                            std::vector<ir::Attribute> attributes, ir::NodeId origin, ir::ValueId output) {
  release_output(output);
  edit_.add_node({op, "", "", std::move(inputs), {output}, std::move(attributes), node(origin).origins});
}

ir::ValueId Workspace::add_constant(const std::string& wanted, ir::Tensor data) {
  return edit_.add_initializer(new_tensor_name(wanted), std::move(data));
}

ir::ValueId Workspace::add_shape_constant(const std::vector<int64_t>& numbers) {
  return add_constant("const_transpose_optimizer", ir::Tensor::from({static_cast<int64_t>(numbers.size())}, numbers));
}

void Workspace::add_origins(ir::NodeId heir, ir::NodeId id) {
  std::vector<ir::NodeId>& origins = edit_.node(heir).origins;
  origins.insert(origins.end(), node(id).origins.begin(), node(id).origins.end());
  std::sort(origins.begin(), origins.end());
  origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
}

void Workspace::release_output(ir::ValueId value) {
  const ir::Node* maker = graph().producer(value);
  if (maker == nullptr) return;
  const auto place = std::find(maker->outputs.begin(), maker->outputs.end(), value);
  edit_.set_output(maker->id, static_cast<size_t>(place - maker->outputs.begin()), {});
}

void Workspace::take_output(ir::NodeId writer, size_t index, ir::ValueId value) {
  const ir::ValueId old = node(writer).outputs[index];
  release_output(value);
  edit_.set_output(writer, index, value);
  if (old.valid() && graph().use_count(old) == 0) edit_.remove_value(old);
}

void Workspace::become_constants(ir::NodeId id, const std::vector<ir::Tensor>& results) {
  const std::vector<ir::ValueId> outputs = node(id).outputs;
  edit_.remove_node(id);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].valid()) edit_.set_constant(outputs[i], results[i]);
  }
}

void Workspace::remove_node(ir::NodeId id) {
  const std::vector<ir::ValueId> outputs = node(id).outputs;
  edit_.remove_node(id);
  for (const ir::ValueId output : outputs) {
    if (output.valid() && graph().use_count(output) == 0) edit_.remove_value(output);
  }
}

void Workspace::remove_unread(ir::NodeId id) {
  std::vector<ir::NodeId> waiting{id};
  while (!waiting.empty()) {
    const ir::NodeId next = waiting.back();
    waiting.pop_back();
    if (!graph().is_alive(next)) continue;
    const auto& outputs = node(next).outputs;
    if (std::any_of(outputs.begin(), outputs.end(),
                    [&](ir::ValueId output) { return output.valid() && graph().use_count(output) > 0; })) {
      continue;
    }
    for (const ir::ValueId input : node(next).inputs) {
      if (const ir::Node* maker = input.valid() ? graph().producer(input) : nullptr) waiting.push_back(maker->id);
    }
    remove_node(next);
  }
}

const ir::Tensor* Workspace::constant(ir::ValueId value) const {
  if (!value.valid() || graph().value(value).is_input) return nullptr;
  return graph().constant(value);
}

Workspace::Consumers Workspace::consumers(ir::ValueId value) const {
  Consumers found;
  found.complete = !graph().value(value).is_output;
  for (const ir::Use& use : graph().value(value).uses) {
    if (use.is_capture) {
      found.complete = false;
    } else {
      found.nodes.push_back(use.node);
    }
  }
  std::sort(found.nodes.begin(), found.nodes.end(), [&](ir::NodeId a, ir::NodeId b) { return number(a) < number(b); });
  found.nodes.erase(std::unique(found.nodes.begin(), found.nodes.end()), found.nodes.end());
  return found;
}

ir::NodeId Workspace::only_consumer(ir::ValueId value) const {
  if (!value.valid()) return {};
  const Consumers found = consumers(value);
  return found.complete && found.nodes.size() == 1 ? found.nodes[0] : ir::NodeId{};
}

void Workspace::write_default_attributes() {
  for (const ir::NodeId id : graph().order()) {
    const ir::Node& changed = node(id);
    const auto version = model_.opsets.find(changed.domain);
    if (version == model_.opsets.end()) continue;
    const auto [entry, is_new] = defaults_.try_emplace(cat(changed.domain, "::", changed.op));
    if (is_new) entry->second = onnx_io::default_attributes(changed.op, changed.domain, version->second);
    for (const ir::Attribute& attribute : entry->second) {
      if (changed.find(attribute.name) == nullptr) edit_.node(id).attributes.push_back(attribute);
    }
  }
}

}  // namespace quarkq::rewrite::basic
