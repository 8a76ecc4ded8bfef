// SPDX-License-Identifier: MIT
#include "quarkq/inspect.h"

#include <algorithm>

#include "base/strings.h"
#include "ir/traversal.h"
#include "pipeline/report/details.h"
#include "pipeline/run/job.h"
#include "pipeline/run/plan_model.h"
#include "quarkq/status.h"

namespace quarkq {
namespace {

/// Tensors that a name refers to in the planned graph, and a note on how it was resolved.
struct Found {
  std::vector<ir::ValueId> values;
  std::string note;
};

void add_tensors(const ir::Node& node, std::vector<ir::ValueId>& values) {
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (const ir::ValueId value : *list) {
      const bool is_new = std::find(values.begin(), values.end(), value) == values.end();
      if (value.valid() && is_new) values.push_back(value);
    }
  }
}

/// The planned nodes that stand for a node of the loaded model.
Found successors_of(const ir::Graph& loaded, ir::NodeId origin, const ir::Graph& planned) {
  Found found;
  std::vector<std::string> labels;
  for (const ir::NodeId id : planned.order()) {
    const auto& origins = planned.node(id).origins;
    if (std::find(origins.begin(), origins.end(), origin) == origins.end()) continue;
    labels.push_back(planned.label(id));
    add_tensors(planned.node(id), found.values);
  }
  found.note = loaded.label(origin) + (labels.empty() ? " was removed by preprocessing"
                                                      : " became " + join(labels, ", ") + " in preprocessing");
  return found;
}

Result<Found> find(const std::string& name, const ir::Graph& loaded, const ir::Graph& planned) {
  if (const ir::ValueId value = planned.find(name); value.valid()) return Found{{value}, ""};
  if (const ir::NodeId id = ir::node_named(planned, name); id.valid()) {
    Found found;
    add_tensors(planned.node(id), found.values);
    return found;
  }
  ir::NodeId origin = ir::node_named(loaded, name);
  const ir::ValueId value = loaded.find(name);
  if (!origin.valid() && value.valid()) {
    const auto& uses = loaded.value(value).uses;
    origin = loaded.value(value).producer.valid() || uses.empty() ? loaded.value(value).producer : uses.front().node;
    if (!origin.valid()) return Found{{}, cat("tensor ", name, " was removed by preprocessing")};
  }
  if (origin.valid()) return successors_of(loaded, origin, planned);
  std::vector<std::string> known;
  for (const ir::NodeId id : loaded.order()) {
    if (!loaded.node(id).name.empty()) known.push_back(loaded.node(id).name);
    for (const ir::ValueId output : loaded.node(id).outputs) {
      if (output.valid()) known.push_back(loaded.value(output).name);
    }
  }
  return invalid_argument("--why ", name, ": no tensor or node of the model has this name", did_you_mean(name, known));
}

}  // namespace

Result<ExplainReport> explain(const ExplainRequest& request) {
  pipeline::RunState state;
  QQ_TRY(const pipeline::Job job,
         pipeline::open_job(request.model_path, {request.config, request.settings}, {}, state.diagnostics));
  if (!job.settings.inserts_qdq()) {
    return invalid_argument(request.config, ": writes no Q/DQ nodes (", config::quantizer_name(job.settings.quantizer),
                            "), so there is no plan to explain; choose a preset that does");
  }
  pipeline::begin(state, job);
  pipeline::Samples samples;
  std::vector<PassTime> times;
  QQ_RETURN_IF_ERROR(
      pipeline::run_float_phases(state, samples, pass::Phase::kMark, times, {}).status().context(request.model_path));
  QQ_RETURN_IF_ERROR(
      pipeline::run_passes(state, {.from = pass::Phase::kMark, .until = pass::Phase::kCalibrate}, times, {})
          .context(request.model_path));
  QQ_TRY(const Found found, find(request.name, job.model.graph, state.graph()));
  ExplainReport report{request.model_path, request.name, {}, found.note};
  for (const ir::ValueId value : found.values)
    report.tensors.push_back(pipeline::explain_value(state.graph(), state.plan, value));
  return report;
}

std::string to_json(const ExplainReport& report) {
  pipeline::Json json = {{"quarkq", version()}, {"model", report.model_path}, {"name", report.name}};
  json["note"] = report.note;
  json["tensors"] = pipeline::explained_json(report.tensors);
  return pipeline::text(json);
}

}  // namespace quarkq
