// SPDX-License-Identifier: MIT
// Replaces computed shapes of Reshapes by constants with 0 and -1 where possible, and merges chains of Reshapes.
#include "rewrite/optimize/workspace.h"

namespace quarkq::rewrite::basic {
namespace {

std::optional<std::vector<int64_t>> shape_numbers_of(const ir::Tensor* tensor) {
  if (tensor == nullptr) return std::nullopt;
  Result<std::vector<int64_t>> numbers = ir::to_int64(*tensor);
  if (!numbers.ok()) return std::nullopt;
  return std::move(numbers).value();
}

const ir::Node* producer_of(const Workspace& work, ir::ValueId value, const char* op) {
  const ir::Node* maker = value.valid() ? work.graph().producer(value) : nullptr;
  return maker != nullptr && maker->is(op) ? maker : nullptr;
}

/// Is `element` dimension `place` of `data`, or the dimension of that name of another tensor?
bool is_dimension(const Workspace& work, ir::ValueId element, ir::ValueId data, int64_t place) {
  const ir::Node* unsqueeze = producer_of(work, element, "Unsqueeze");
  const ir::Node* gather = unsqueeze == nullptr ? nullptr : producer_of(work, unsqueeze->input(0), "Gather");
  const ir::Node* shape = gather == nullptr ? nullptr : producer_of(work, gather->input(0), "Shape");
  if (shape == nullptr || shape->int_or("start", 0) != 0 || gather->int_or("axis", 0) != 0) return false;
  const auto index = shape_numbers_of(work.constant(gather->input(1)));
  if (!index || index->size() != 1 || (*index)[0] != place) return false;
  if (shape->input(0) == data) return true;
  const ir::ValueType& own = work.graph().value(data).type;
  const ir::ValueType& other = work.graph().value(shape->input(0)).type;
  const auto at = static_cast<size_t>(place);
  if (!own.has_shape || !other.has_shape || at >= own.dims.size() || at >= other.dims.size()) return false;
  return !own.dims[at].symbol.empty() && own.dims[at].symbol == other.dims[at].symbol;
}

bool is_one_element(const Workspace& work, ir::ValueId value) {
  const ir::ValueType& type = work.graph().value(value).type;
  return type.has_shape && type.dims.size() == 1 && type.dims[0].size == 1;
}

/// Returns the shape of `data` specified by a Concat of constants and dimensions, or nullopt if it needs more than one
/// -1.
std::optional<std::vector<int64_t>> shape_from(const Workspace& work, const ir::Node& concat, ir::ValueId data) {
  std::vector<int64_t> shape;
  int unknown = 0;
  for (const ir::ValueId element : concat.inputs) {
    if (const auto numbers = shape_numbers_of(work.constant(element))) {
      for (const int64_t number : *numbers) unknown += number == -1 ? 1 : 0;
      shape.insert(shape.end(), numbers->begin(), numbers->end());
    } else if (is_dimension(work, element, data, static_cast<int64_t>(shape.size()))) {
      shape.push_back(0);
    } else if (is_one_element(work, element)) {
      shape.push_back(-1);
      ++unknown;
    } else {
      return std::nullopt;
    }
  }
  return unknown > 1 ? std::nullopt : std::optional(shape);
}

bool give_constant_shape(Workspace& work, ir::NodeId id) {
  const ir::Node& node = work.node(id);
  const ir::Node* concat = producer_of(work, node.input(1), "Concat");
  if (concat == nullptr || node.int_or("allowzero", 0) != 0) return false;
  if (!work.only_consumer(node.inputs[1]).valid()) return false;  // ONNX Runtime leaves a shape that two nodes read
  const std::optional<std::vector<int64_t>> shape = shape_from(work, *concat, node.inputs[0]);
  if (!shape) return false;
  const ir::Tensor constant = ir::Tensor::from({static_cast<int64_t>(shape->size())}, *shape);
  const ir::NodeId old_shape = concat->id;
  const std::vector<ir::ValueId> elements = concat->inputs;
  work.become_constants(old_shape, {constant});
  for (const ir::ValueId element : elements) {
    const ir::Node* maker = work.graph().is_alive(element) ? work.graph().producer(element) : nullptr;
    if (maker != nullptr) work.remove_unread(maker->id);
  }
  return true;
}

bool changes_shape_only(const ir::Node& node) {
  return node.is("Reshape") || node.is("Squeeze") || node.is("Unsqueeze");
}

/// Returns all nodes from a Reshape on that only give their sole reader another static shape.
std::vector<ir::NodeId> chain_from(const Workspace& work, ir::NodeId first) {
  std::vector<ir::NodeId> chain;
  for (ir::NodeId next = first; next.valid() && changes_shape_only(work.node(next));) {
    const ir::ValueId output = work.node(next).outputs[0];
    if (!work.graph().value(output).type.is_static()) break;
    chain.push_back(next);
    const ir::NodeId reader = work.only_consumer(output);
    if (!reader.valid() || work.node(reader).input(0) != output || work.node(reader).input(1) == output) break;
    next = reader;
  }
  return chain;
}

bool merge_chain(Workspace& work, ir::NodeId first) {
  const std::vector<ir::NodeId> chain = chain_from(work, first);
  if (chain.size() < 2) return false;
  const ir::ValueId output = work.node(chain.back()).outputs[0];
  const ir::Shape shape = work.graph().value(output).type.shape();
  for (const int64_t dim : shape) {
    if (dim == 0) return false;
  }
  const std::string name = work.node(first).name;
  const ir::ValueId dims =
      work.add_constant(name + "_new_shape", ir::Tensor::from({static_cast<int64_t>(shape.size())}, shape));
  const ir::NodeId made =
      work.add_named(name + "_new_reshape", "Reshape", {work.node(first).input(0), dims}, chain.back());
  for (const ir::NodeId id : chain) work.add_origins(made, id);
  for (auto id = chain.rbegin(); id != chain.rend(); ++id) work.remove_node(*id);
  return true;
}

}  // namespace

Result<bool> fuse_reshapes(Workspace& work) {
  bool changed = false;
  for (const ir::NodeId id : work.visiting_order()) {
    if (!work.graph().is_alive(id) || !work.node(id).is("Reshape")) continue;
    changed |= give_constant_shape(work, id);
    changed |= merge_chain(work, id);
  }
  return changed;
}

}  // namespace quarkq::rewrite::basic
