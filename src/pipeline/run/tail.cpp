// SPDX-License-Identifier: MIT
#include "pipeline/run/tail.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/file_system.h"
#include "base/paths.h"
#include "base/run_files.h"
#include "base/strings.h"
#include "ir/edit.h"
#include "onnx_io/infer.h"
#include "onnx_io/opset_convert.h"
#include "onnx_io/save.h"
#include "pipeline/run/facts.h"
#include "pipeline/run/job.h"

namespace quarkq::pipeline {

namespace {

constexpr const char* kOutputsKey = "quarkq.outputs";

std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<ir::ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ir::ValueId value : values) names.push_back(graph.value(value).name);
  return names;
}

/// Outputs of the graph that a node of the tail makes, or the others.
std::vector<ir::ValueId> outputs_of(const ir::Graph& graph, const ir::Tail& tail, bool by_tail) {
  std::vector<ir::ValueId> found;
  for (const ir::ValueId output : graph.outputs()) {
    const ir::Node* source = graph.producer(output);
    if ((source != nullptr && tail.nodes.contains(source->id)) == by_tail) found.push_back(output);
  }
  return found;
}

/// Only the tail, which reads from inputs what others made.
ir::Model tail_alone(const ir::Model& whole, const ir::Tail& tail) {
  ir::Model model = whole;
  ir::GraphEdit edit(model.graph);
  edit.set_graph_outputs(outputs_of(whole.graph, tail, true));
  for (const ir::ValueId input : tail.inputs) {
    const ir::Node* source = model.graph.producer(input);
    if (source == nullptr) continue;  // an input of the whole model
    const auto place = std::find(source->outputs.begin(), source->outputs.end(), input) - source->outputs.begin();
    edit.set_output(source->id, static_cast<size_t>(place), {});
    edit.add_graph_input(input);
  }
  edit.remove_dead();
  for (const ir::ValueId input : model.graph.required_inputs()) {
    if (model.graph.use_count(input) == 0) edit.remove_value(input);
  }
  model.graph.name += "_tail";
  return model;
}

/// The tail would otherwise read large tensors of the body only for their shapes.
void store_known_shapes(ir::Graph& graph) {
  ir::GraphEdit edit(graph);
  for (const ir::NodeId id : std::vector<ir::NodeId>(graph.order())) {
    const ir::Node& node = graph.node(id);
    if (!node.is("Shape") || !node.attributes.empty() || !node.input(0).valid() || !node.output(0).valid()) continue;
    const ir::ValueType& type = graph.value(node.input(0)).type;
    const ir::ValueId shape = node.output(0);
    if (!type.is_static() || graph.value(shape).is_output) continue;
    const std::vector<int64_t> dims = type.shape();
    edit.remove_node(id);
    edit.set_constant(shape, ir::Tensor::from<int64_t>({static_cast<int64_t>(dims.size())}, dims));
  }
}

/// Ends `model` before the tail.
void remove_tail(ir::Model& model, const ir::Tail& tail) {
  ir::GraphEdit edit(model.graph);
  std::vector<ir::ValueId> outputs = outputs_of(model.graph, tail, false);
  for (const ir::ValueId input : tail.inputs) {
    const bool is_made = model.graph.producer(input) != nullptr;
    if (is_made && std::find(outputs.begin(), outputs.end(), input) == outputs.end()) outputs.push_back(input);
  }
  edit.set_graph_outputs(outputs);
  edit.remove_dead();
}

}  // namespace

Result<CutTailPtr> cut_tail(ir::Model& model, const config::Settings& settings, Diagnostics& diagnostics) {
  if (!settings.cuts_tail() && !settings.may_cut_tail()) return CutTailPtr();
  ir::Model whole = model;  // shares the weights
  store_known_shapes(whole.graph);
  ir::GraphEdit(whole.graph).remove_dead();
  QQ_TRY(const Cut cut, find_cut(whole, settings));
  if (cut.tail.nodes.empty()) {
    if (settings.cuts_tail())
      diagnostics.add("no-tail", "legalize.tail", "nothing is decoded after the last layers; the model stays whole");
    return CutTailPtr();
  }
  auto tail = std::make_shared<CutTail>();
  tail->model = tail_alone(whole, cut.tail);
  tail->outputs = names_of(whole.graph, whole.graph.outputs());
  tail->nodes = static_cast<size_t>(
      std::ranges::count_if(cut.tail.nodes, [&](ir::NodeId id) { return !whole.graph.node(id).is("Constant"); }));
  remove_tail(whole, cut.tail);
  model = std::move(whole);
  const std::vector<std::string> outputs = names_of(model.graph, model.graph.outputs());
  diagnostics.add("tail-cut", "legalize.tail",
                  cat("the model ends before its last ", tail->nodes == 1 ? "node" : cat(tail->nodes, " nodes"),
                      ", its outputs are ", join(outputs, ", "), cut.why));
  return CutTailPtr(std::move(tail));
}

// The inverse: one graph.

namespace {

class Joining {
 public:
  Joining(ir::Model body, const CutTail& tail)
      : joined_(std::move(body)), edit_(joined_.graph), tail_(tail), from_(tail.model.graph) {}

  Result<ir::Model> run() {
    QQ_RETURN_IF_ERROR(link_inputs());
    QQ_RETURN_IF_ERROR(free_output_names());
    for (const ir::ValueId id : from_.initializers()) {
      const ir::Value& value = from_.value(id);
      known_[id] = edit_.add_initializer(value.name, *value.constant);
      edit_.mutable_value(known_[id]).tensor_extra = value.tensor_extra;
    }
    for (const ir::NodeId id : from_.order()) add(from_.node(id));
    QQ_RETURN_IF_ERROR(set_outputs());
    for (const std::string& domain : tail_.model.opset_order) {
      if (joined_.opset(domain) == 0) joined_.set_opset(domain, tail_.model.opset(domain));
    }
    joined_.ir_version = std::max(joined_.ir_version, tail_.model.ir_version);
    ir::make_names_unique(joined_.graph);
    onnx_io::remove_metadata(joined_, {kOutputsKey});
    return std::move(joined_);
  }

 private:
  Status link_inputs() {
    for (const ir::ValueId id : from_.required_inputs()) {
      const ir::Value& input = from_.value(id);
      const ir::ValueId found = joined_.graph.find(input.name);
      const bool is_offered =
          found.valid() && (joined_.graph.value(found).is_output || joined_.graph.value(found).is_input);
      if (!is_offered)
        return bad_data("the tail reads ", input.name, ", which is neither an output nor an input of the body");
      const ElementType wanted = input.type.element, given = joined_.graph.value(found).type.element;
      const bool is_known = wanted != ElementType::kUndefined && given != ElementType::kUndefined;
      if (is_known && wanted != given)
        return bad_data("the tail reads ", input.name, " as ", name(wanted), ", the body has it as ", name(given));
      known_[id] = found;
    }
    return check_outputs_read();
  }

  /// The body ends in what its tail reads, and in outputs of the uncut model.
  Status check_outputs_read() const {
    for (const ir::ValueId id : joined_.graph.outputs()) {
      const std::string& output = joined_.graph.value(id).name;
      const bool is_read = std::ranges::any_of(known_, [&](const auto& pair) { return pair.second == id; });
      if (is_read || std::ranges::find(tail_.outputs, output) != tail_.outputs.end()) continue;
      return bad_data("the tail does not read ", output, ", an output of the body");
    }
    return Status();
  }

  /// Inner values of the body give way to outputs.
  Status free_output_names() {
    ir::UniqueNames taken;
    for (size_t i = 0; i < joined_.graph.value_count(); ++i) {
      const ir::ValueId id{static_cast<int32_t>(i)};
      if (joined_.graph.is_alive(id)) taken.add(joined_.graph.value(id).name);
    }
    for (const ir::ValueId id : from_.outputs()) {
      const std::string& name = from_.value(id).name;
      const ir::ValueId other = joined_.graph.find(name);
      if (!other.valid() || known_.contains(id)) continue;
      const ir::Value& value = joined_.graph.value(other);
      if (value.is_input || value.is_output) return bad_data("both the body and its tail have an output ", name);
      edit_.rename(other, taken.take(name));
    }
    return Status();
  }

  ir::ValueId made(ir::ValueId id) {
    if (!id.valid()) return id;
    const auto [place, is_new] = known_.try_emplace(id);
    if (is_new) {
      const ir::Value& value = from_.value(id);
      place->second = edit_.add_value(value.name, value.type);
      edit_.mutable_value(place->second).has_info = value.has_info;
    }
    return place->second;
  }

  void add(const ir::Node& node) {
    ir::NodeSpec spec{node.op, node.domain, node.name, {}, {}, node.attributes};
    for (const ir::ValueId value : node.inputs) spec.inputs.push_back(made(value));
    for (const ir::ValueId value : node.outputs) spec.outputs.push_back(made(value));
    std::vector<ir::Capture> captures = node.captures;
    for (ir::Capture& capture : captures) capture.outer = made(capture.outer);
    const ir::NodeId id = edit_.add_node(std::move(spec));
    if (!captures.empty()) edit_.set_captures(id, std::move(captures));
    edit_.node(id).origins = {id};
    edit_.node(id).overload = node.overload;
    edit_.node(id).extra = node.extra;
  }

  Status set_outputs() {
    std::map<std::string, ir::ValueId> by_name;
    for (const ir::ValueId id : joined_.graph.outputs()) by_name[joined_.graph.value(id).name] = id;
    for (const ir::ValueId id : from_.outputs()) by_name[from_.value(id).name] = made(id);
    std::vector<ir::ValueId> outputs;
    for (const std::string& name : tail_.outputs) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) return bad_data("neither the body nor its tail has the output ", name);
      outputs.push_back(found->second);
    }
    edit_.set_graph_outputs(outputs);
    return Status();
  }

  ir::Model joined_;
  ir::GraphEdit edit_;
  const CutTail& tail_;
  const ir::Graph& from_;
  std::map<ir::ValueId, ir::ValueId> known_;  ///< Values of the tail as values of the joined graph.
};

}  // namespace

Result<ir::Model> join_tail(const ir::Model& body, const CutTail& tail) {
  if (body.opset() == tail.model.opset() || tail.model.opset() == 0) return Joining(body, tail).run();
  CutTail converted = tail;
  QQ_TRY(converted.model, onnx_io::convert_opset(tail.model, body.opset()).context("the tail"));
  return Joining(body, converted).run();
}

Result<ir::Model> whole_model(const ir::Model& body, const CutTailPtr& tail) {
  if (tail == nullptr) return body;
  return join_tail(body, *tail);
}

namespace {

constexpr std::string_view kSizesFromValues[] = {"NonMaxSuppression", "NonZero", "Unique", "Compress", "If", "Loop"};

bool has_sizes_from_values(const ir::Graph& graph) {
  return std::ranges::any_of(graph.order(), [&](ir::NodeId id) {
    return std::ranges::find(kSizesFromValues, graph.node(id).op) != std::end(kSizesFromValues);
  });
}

}  // namespace

CutTailPtr judged_tail(const CutTailPtr& tail, const ir::Graph& body) {
  if (tail == nullptr) return nullptr;
  const bool has_own_sizes = has_sizes_from_values(tail->model.graph);
  const auto is_judged = [&](const std::string& output) {
    const ir::Graph& graph = tail->model.graph;
    const ir::ValueId own = graph.find(output), other = body.find(output);
    if (!own.valid()) return other.valid() && is_floating(body.value(other).type.element);
    const ir::ValueType& type = graph.value(own).type;
    return is_floating(type.element) && (type.is_static() || !has_own_sizes);
  };
  return std::ranges::any_of(tail->outputs, is_judged) ? tail : nullptr;
}

// Files: the tail has the name of its body.

std::string tail_path(const std::string& path) {
  return paths::joined(paths::folder_of(path), paths::stem_of(path) + "_tail" + paths::suffix_of(path));
}

void mark_body(ir::Model& body, const CutTail& tail) {
  onnx_io::set_metadata(body, {{kOutputsKey, join(tail.outputs, "\n")}});
}

bool is_body(const ir::Model& model) { return !onnx_io::metadata_of(model, kOutputsKey).empty(); }

Result<std::string> save_tail(const CutTailPtr& tail, const std::string& result_path) {
  if (tail == nullptr) return std::string();
  std::string path = tail_path(result_path);
  QQ_RETURN_IF_ERROR(onnx_io::save(tail->model, path).status());
  return path;
}

Result<ir::Model> load_whole(const ModelFile& file, onnx_io::LoadReport& report) {
  QQ_TRY(ir::Model body, load_model(file, &report));
  if (!is_body(body)) return body;
  if (file.is_in_memory()) {
    report.findings.add("tail-missing", file.path,
                        "ends before its tail, which only files have; only the body is read");
    return body;
  }
  const std::string path = tail_path(file.path);
  if (!file_exists(path)) {
    report.findings.add("tail-missing", file.path,
                        cat("ends before its tail, ", path, ", which does not exist; only the body is read"));
    return body;
  }
  QQ_RETURN_IF_ERROR(note_input(path));
  QQ_TRY(ir::Model model, load_model(path, nullptr));
  CutTail tail{std::move(model), {}, 0};
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(tail.model, ignored).context(path));
  tail.outputs = split(onnx_io::metadata_of(body, kOutputsKey), '\n');
  QQ_TRY(ir::Model whole, join_tail(body, tail).context(cat(file.path, " with ", path)));
  whole.path = file.path;
  report.findings.add("tail-joined", file.path, cat("is one model with its tail, ", path));
  return whole;
}

}  // namespace quarkq::pipeline
