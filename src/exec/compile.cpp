// SPDX-License-Identifier: MIT
#include "exec/compile.h"

#include <algorithm>

#include "exec/compiler.h"
#include "exec/environment.h"
#include "exec/evaluation.h"
#include "ir/quantizing_ops.h"
#include "ir/traversal.h"

namespace quarkq::exec {

Result<Compiled> compile(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                         const CompileRequest& request) {
  return Compiler(graph, opsets, request).compile();
}

namespace {

std::vector<ir::ValueId> kept_values(const CompileRequest& request) {
  std::vector<ir::ValueId> kept = request.fetches;
  kept.insert(kept.end(), request.taps.begin(), request.taps.end());
  return kept;
}

}  // namespace

Compiler::Compiler(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets, const CompileRequest& request)
    : graph_(graph),
      opsets_(opsets),
      request_(request),
      values_(graph, program_.steps_),
      fuser_(graph, opsets, values_, kept_values(request)),
      integers_(graph),
      segmenter_(graph, request, values_),
      done_(graph.node_count()),
      tapped_(graph.value_count()) {
  for (const ir::ValueId value : request.taps) tapped_[static_cast<size_t>(value.index)] = true;
}

Result<Compiled> Compiler::compile() {
  QQ_RETURN_IF_ERROR(bind_feeds());
  for (const ir::ValueId value : request_.opaque) values_.at(value).when = When::kOpaque;
  for (const Constant& constant : request_.constants) values_.set_constant(constant.value, constant.tensor);
  for (const ir::ValueId value : graph_.initializers()) {
    if (values_.at(value).when != When::kUnset) continue;
    values_.set_constant(value, *graph_.value(value).constant);
    values_.at(value).is_stored = true;
  }
  const std::vector<bool> needed = needed_nodes();
  QQ_TRY(std::vector<ir::NodeId> order, ir::execution_order(graph_));
  if (segmenter_.is_on()) order = segmenter_.begin(order, needed);
  for (size_t i = 0; i < order.size(); ++i) {
    const ir::NodeId id = order[i];
    if (!needed[static_cast<size_t>(id.index)]) continue;
    const ir::Node& node = graph_.node(id);
    if (!done_[static_cast<size_t>(id.index)]) QQ_RETURN_IF_ERROR(add_node(node));
    if (!segmenter_.is_on()) continue;
    segmenter_.measure(node);
    const std::span<const ir::NodeId> left = std::span(order).subspan(i + 1);
    if (program_.steps_.empty() || !segmenter_.ends(left, done_)) continue;
    cut(left);
    compiled_.share = static_cast<double>(i + 1) / static_cast<double>(order.size());
    break;
  }
  return finish();
}

/// Ends the program; `left` are the nodes after its last one.
void Compiler::cut(std::span<const ir::NodeId> left) {
  std::vector<ir::NodeId> later = postponed_;
  later.insert(later.end(), left.begin(), left.end());
  std::erase_if(later, [&](ir::NodeId id) { return done_[static_cast<size_t>(id.index)]; });
  Segmenter::Border border = segmenter_.border(later);
  compiled_.is_cut = true;
  compiled_.deferred.clear();  // the next segment finds them again
  compiled_.reads.clear();
  compiled_.carried = std::move(border.carried);
  compiled_.handed_on = std::move(border.handed_on);
  compiled_.constants = std::move(border.constants);
}

Status Compiler::bind_feeds() {
  for (const Feed& feed : request_.feeds) {
    Result<int64_t> count = ir::element_count(feed.dims);
    if (!count.ok()) return count.status();
    const int slot = values_.add_feed_slot(storage_bytes(feed.type, count.value()));
    values_.at(feed.value) = {
        .when = When::kNow, .type = feed.type, .dims = feed.dims, .native = feed.layout, .slot = slot};
    program_.feed_slots_.push_back(slot);
    program_.feeds_.push_back({feed.type, stored_dims(feed.dims, feed.layout), feed.layout, nullptr});
    program_.feed_names_.push_back(graph_.value(feed.value).name);
    tap(feed.value, -1);
  }
  return Status();
}

std::vector<bool> Compiler::needed_nodes() const {
  std::vector<bool> needed(graph_.node_count());
  std::vector<ir::ValueId> open = kept_values(request_);
  while (!open.empty()) {
    const ir::ValueId value = open.back();
    open.pop_back();
    const ir::Node* producer = graph_.producer(value);
    if (producer == nullptr || values_.at(value).when != When::kUnset ||
        needed[static_cast<size_t>(producer->id.index)])
      continue;
    needed[static_cast<size_t>(producer->id.index)] = true;
    for (const ir::ValueId input : producer->inputs) {
      if (input.valid()) open.push_back(input);
    }
    for (const ir::Capture& capture : producer->captures) open.push_back(capture.outer);
  }
  return needed;
}

Status Compiler::add_node(const ir::Node& node) {
  std::vector<ir::ValueId> reads;
  append_reads(node, reads);
  bool later = false;
  ir::ValueId opaque;
  for (const ir::ValueId read : reads) {
    if (values_.at(read).when == When::kUnset) {
      return corrupt_model(graph_.label(node.id), ": input ", graph_.value(read).name, " has no value");
    }
    if (values_.at(read).when == When::kLater) later = true;
    if (values_.at(read).when == When::kOpaque) opaque = read;
  }
  if (later) {
    compiled_.reads.insert(compiled_.reads.end(), reads.begin(), reads.end());
    make_later(node);
    return Status();
  }
  QQ_RETURN_IF_ERROR(check_arity(node, opset_of(node), graph_.label(node.id)));
  const OpDef* op = find_op(node.op, node.domain, opset_of(node));
  if (op == nullptr || op->prepare == nullptr || (opaque.valid() && op->evaluate != nullptr)) {
    defer(node, op);
    return Status();
  }
  if (opaque.valid()) {
    return unsupported(graph_.label(node.id), ": input ", graph_.value(opaque).name,
                       " is a sequence or an empty optional, the operator accepts tensors");
  }
  if (add_quantize_pair(node)) return Status();
  return add_static(node, *op);
}

/// The node runs after this program, when its inputs are whole values.
void Compiler::defer(const ir::Node& node, const OpDef* op) {
  compiled_.deferred.push_back({&node, op, opset_of(node), graph_.label(node.id)});
  make_later(node);
}

void Compiler::make_later(const ir::Node& node) {
  postponed_.push_back(node.id);
  for (const ir::ValueId output : node.outputs) {
    if (output.valid()) values_.at(output).when = When::kLater;
  }
}

Status Compiler::add_static(const ir::Node& node, const OpDef& op) {
  if (std::all_of(node.inputs.begin(), node.inputs.end(),
                  [&](ir::ValueId input) { return !input.valid() || values_.at(input).constant != nullptr; })) {
    return add_known(node, op);
  }
  const Layout layout = values_.choose_layout(node, op.rule);
  Fusion fusion = fuser_.find(node, op);
  const IntegerOperands* integers = integers_.find(node);
  if (integers != nullptr && values_.at(node.inputs[0]).type != ElementType::kFloat) integers = nullptr;
  while (true) {
    std::vector<Bound> inputs =
        values_.bind_inputs(node, op.rule, layout, integers == nullptr ? nullptr : &integers->source);
    for (const ir::ValueId added : fusion.added) {
      const auto rank = static_cast<int64_t>(values_.at(added).dims.size());
      inputs.push_back(values_.bind(added, Layout::kChannelsLast, rank));
    }
    std::vector<Spec> specs;
    std::vector<bool> present;
    for (size_t i = 0; i < inputs.size(); ++i) {
      specs.push_back(inputs[i].spec);
      present.push_back(i >= node.inputs.size() || node.inputs[i].valid());
    }
    Prepare prepare(node, graph_.label(node.id), opset_of(node), std::move(specs), std::move(present));
    prepare.set_layout(layout);
    prepare.set_post_ops(fusion.post_ops);
    prepare.set_integers(integers);
    Result<Kernel> kernel = op.prepare(prepare);
    if (!kernel.ok() && !fusion.nodes.empty()) {  // not with this follower: try with one fewer
      fusion.pop(node.output(0));
      continue;
    }
    if (!kernel.ok() && integers != nullptr) {  // not in integers: try in float32
      integers = nullptr;
      fusion = fuser_.find(node, op);
      continue;
    }
    if (!kernel.ok()) return kernel.status();
    if (!kernel.value()) {
      defer(node, &op);
      return Status();
    }
    if (op.shapes_only) {
      QQ_TRY(std::vector<ir::Tensor> results, run_prepared(prepare, kernel.value(), request_.max_memory));
      hold_results(node, std::move(results));
      return Status();
    }
    std::vector<ir::ValueId> outputs = node.outputs;
    for (const ir::Node* follower : fusion.nodes) done_[static_cast<size_t>(follower->id.index)] = true;
    if (!fusion.nodes.empty()) outputs[0] = fusion.output;
    return add_step(node, prepare, std::move(kernel).value(), inputs, outputs);
  }
}

/// All inputs are known now, and so are the outputs.
Status Compiler::add_known(const ir::Node& node, const OpDef& op) {
  std::vector<const ir::Tensor*> inputs;
  for (const ir::ValueId input : node.inputs) inputs.push_back(input.valid() ? values_.at(input).constant : nullptr);
  const std::string label = graph_.label(node.id);
  QQ_TRY(auto results, run_known({op, node, label, opset_of(node), request_.max_memory}, inputs));
  if (!results) return internal_error(label, ": has no kernel even with all its inputs known");
  hold_results(node, std::move(*results));
  return Status();
}

bool Compiler::add_quantize_pair(const ir::Node& node) {
  const std::optional<QuantizePair> pair = fuser_.find_pair(node);
  if (!pair) return false;
  const int from = values_.native_slot(node.inputs[0]);
  const ValueTable::Entry source = values_.at(node.inputs[0]);
  const ir::ValueId output = pair->last->outputs[0];
  const int64_t count = ir::checked_count(source.dims);
  const bool as_codes = integers_.has_reader(output);
  const int slot = values_.add_slot(as_codes ? count : storage_bytes(ElementType::kFloat, count));
  const int step_index = static_cast<int>(program_.steps_.size());
  Step step;
  step.kernel = as_codes ? codes_kernel(pair->params, pair->saturates, count)
                         : fake_quantize_kernel(pair->params, pair->saturates, count);
  step.inputs = {from};
  step.outputs = {slot};
  step.label = graph_.label(node.id) + (pair->last == &node ? "" : " + DequantizeLinear");
  program_.steps_.push_back(std::move(step));
  done_[static_cast<size_t>(pair->last->id.index)] = true;
  values_.at(output) = {.when = When::kNow, .type = ElementType::kFloat, .dims = source.dims, .native = source.native};
  if (as_codes) {
    values_.at(output).codes = slot;
    values_.at(output).params = pair->params;
  } else {
    values_.at(output).slot = slot;
    in_place_.push_back({step_index, slot, from});
  }
  tap(output, step_index);
  return true;
}

void Compiler::hold_results(const ir::Node& node, std::vector<ir::Tensor> results) {
  // Shapes of values come from nodes that fold, too, but not out of initializers.
  std::vector<ir::ValueId> reads;
  append_reads(node, reads);
  const bool is_stored = std::ranges::all_of(reads, [&](ir::ValueId read) { return values_.at(read).is_stored; });
  for (size_t i = 0; i < results.size(); ++i) {
    const ir::ValueId output = node.outputs[i];
    if (!output.valid()) continue;
    segmenter_.add_weights(values_.own_constant(output, std::move(results[i])).bytes());
    values_.at(output).is_stored = is_stored;
    tap(output, -1);
  }
}

Status Compiler::add_step(const ir::Node& node, Prepare& prepare, Kernel kernel, const std::vector<Bound>& inputs,
                          const std::vector<ir::ValueId>& outputs) {
  // What no machine has is refused here, by node; what the user allows, in finish(), for all nodes together.
  QQ_RETURN_IF_ERROR(check_memory(prepare, allowed_memory(0)));
  Step step;
  step.kernel = std::move(kernel);
  step.label = prepare.label();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].spec.constant != nullptr) segmenter_.add_weights(inputs[i].spec.constant->bytes());
    step.inputs.push_back(prepare.is_taken(i) ? -1 : inputs[i].slot);
  }
  const int step_index = static_cast<int>(program_.steps_.size());
  bool runs = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Prepare::Output& output = prepare.output(i);
    int slot = -1;
    if (output.declared) {
      if (output.alias_of >= 0) {
        slot = inputs[static_cast<size_t>(output.alias_of)].slot;
      } else {
        slot = values_.add_slot(storage_bytes(output.spec.type, ir::checked_count(output.spec.dims)));
        if (output.in_place >= 0) {
          in_place_.push_back({step_index, slot, inputs[static_cast<size_t>(output.in_place)].slot});
        }
        runs = true;
      }
    } else if (outputs[i].valid()) {
      return unsupported(graph_.label(node.id), ": output ", i, " is not computed by quarkq");
    }
    step.outputs.push_back(output.declared && output.alias_of < 0 ? slot : -1);
    if (!outputs[i].valid()) continue;
    values_.at(outputs[i]) = {.when = When::kNow,
                              .type = output.spec.type,
                              .dims = logical_dims(output.spec.dims, output.spec.layout),
                              .native = output.spec.layout,
                              .slot = slot};
  }
  if (runs) {
    program_.steps_.push_back(std::move(step));
    scratch_bytes_ = std::max(scratch_bytes_, prepare.scratch_bytes());
  }
  for (const ir::ValueId output : outputs) {
    if (output.valid()) tap(output, static_cast<int>(program_.steps_.size()) - 1);
  }
  return Status();
}

void Compiler::tap(ir::ValueId value, int step) {
  if (!tapped_[static_cast<size_t>(value.index)]) return;
  const size_t steps = program_.steps_.size();
  const int slot = values_.native_slot(value);
  if (program_.steps_.size() > steps) step = static_cast<int>(steps);  // it was stored as integers
  const ValueTable::Entry& source = values_.at(value);
  program_.taps_.push_back(
      {value, slot, step, {source.type, stored_dims(source.dims, source.native), source.native, nullptr}});
}

namespace {

/// What the results of a folded node may take. What a small file makes large (ConstantOfShape, Tile) stays computed:
/// whoever runs the model has a ceiling for it.
int64_t most_folded(const std::vector<const ir::Tensor*>& inputs) {
  constexpr int64_t kAlways = int64_t{256} << 20, kTimesInputs = 16;  // 4 bits become 32
  int64_t read = 0;
  for (const ir::Tensor* input : inputs) read += input == nullptr ? 0 : input->bytes();
  return std::max(kAlways, kTimesInputs * read);
}

}  // namespace

Result<std::vector<ir::Tensor>> evaluate_node(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets,
                                              ir::NodeId id, const std::vector<const ir::Tensor*>& inputs) {
  const ir::Node& node = graph.node(id);
  const int64_t opset = opset_of(opsets, node.domain);
  const OpDef* op = find_op(node.op, node.domain, opset);
  if (op == nullptr || op->prepare == nullptr) return std::vector<ir::Tensor>();
  QQ_RETURN_IF_ERROR(check_arity(node, opset, graph.label(id)));
  auto results = run_known({*op, node, graph.label(id), opset, most_folded(inputs)}, inputs);
  if (!results.ok() && results.status().code() == Code::kResource) return std::vector<ir::Tensor>();
  QQ_TRY(auto known, std::move(results));
  return known ? std::move(*known) : std::vector<ir::Tensor>();
}

}  // namespace quarkq::exec
