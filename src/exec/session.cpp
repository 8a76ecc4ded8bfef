// SPDX-License-Identifier: MIT
#include "exec/session.h"

#include <algorithm>

namespace quarkq::exec {
namespace {

constexpr size_t kMaxPrograms = 8;  // packed weights are the cost of one; more shapes than this recompile

}  // namespace

Session::Session(const ir::Model& model, SessionOptions options) : model_(model), options_(std::move(options)) {
  if (options_.fetches.empty() && options_.taps.empty()) options_.fetches = model.graph.outputs();
}

Result<Program*> Session::program_for(std::span<const ir::Tensor> inputs) {
  std::vector<ir::Shape> shapes;
  for (const ir::Tensor& input : inputs) shapes.push_back(input.dims());
  for (auto entry = programs_.begin(); entry != programs_.end(); ++entry) {
    if (entry->shapes != shapes) continue;
    programs_.splice(programs_.begin(), programs_, entry);
    return programs_.front().program.get();
  }
  CompileRequest request;
  request.fetches = options_.fetches;
  request.taps = options_.taps;
  request.max_memory = options_.max_memory;
  const std::vector<ir::ValueId> required = model_.graph.required_inputs();
  if (required.size() != inputs.size()) {
    return bad_data("the model takes ", required.size(), " inputs, ", inputs.size(), " were given");
  }
  for (size_t i = 0; i < required.size(); ++i)
    request.feeds.push_back({required[i], inputs[i].type(), inputs[i].dims()});
  QQ_TRY(Program program, compile(model_.graph, model_.opsets, request));
  if (programs_.size() == kMaxPrograms) programs_.pop_back();
  programs_.push_front({std::move(shapes), std::make_unique<Program>(std::move(program))});
  return programs_.front().program.get();
}

Result<const std::vector<ir::Tensor>*> Session::run(std::span<const ir::Tensor> inputs, TapSink* sink) {
  QQ_TRY(Program* const program, program_for(inputs));
  QQ_RETURN_IF_ERROR(program->run(inputs, sink));
  return &program->results();
}

size_t Session::arena_bytes() const {
  size_t most = 0;
  for (const Entry& entry : programs_) most = std::max(most, entry.program->arena_bytes());
  return most;
}

}  // namespace quarkq::exec
