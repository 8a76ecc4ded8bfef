// SPDX-License-Identifier: MIT
// The whole network as the only unit of the finetuning (ADR 0020).
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "exec/session.h"
#include "ir/constants.h"
#include "planning/tune/finetuner.h"
#include "planning/tune/network.h"

namespace quarkq::planning::finetune {

namespace {

constexpr size_t kMostBarred = 64;  ///< Upper bound on nodes that turn out to have no backward function.

}  // namespace

NetworkModels Finetuner::network_models() const {
  const pass::Tuning& tuning = *context_.tuning;
  return {quantized_,
          original_,
          tuning.teacher != nullptr ? *tuning.teacher : original_,
          tuning.tail.get(),
          context_.environment,
          *context_.source.data};
}

/// Only an attempt shows which operators fit their shapes.
Status Finetuner::make_network() {
  std::set<ir::NodeId> barred;
  QQ_TRY(const calib::Sample sample, context_.source.data->read(0));
  for (size_t attempt = 0; attempt < kMostBarred; ++attempt) {
    Result<Network> found = find_network(layers_, quantized_.graph, barred);
    if (!found.ok()) {
      context_.diagnostics.add("finetune-failed", "FastFinetune.Unit=network", found.status().message());
      return Status();
    }
    exec::SessionOptions options;
    options.fetches = found.value().region.starts;
    exec::Session session(quantized_, context_.environment, std::move(options));
    QQ_TRY(const std::vector<ir::Tensor>* const starts, session.run(sample.inputs));
    std::vector<ir::Shape> shapes;
    for (const ir::Tensor& start : *starts) shapes.push_back(start.dims());
    ir::NodeId failed;
    const Result<std::unique_ptr<Tape>> tape = Tape::make(found.value().region, quantized_, shapes, nullptr, &failed);
    if (!tape.ok() && (tape.status().code() != Code::kUnsupported || !failed.valid())) return tape.status();
    if (!tape.ok()) {
      barred.insert(failed);
      continue;
    }
    network_ = std::move(found).value();
    Unit unit;
    unit.label = cat("network (", network_->region.layers.size(), " layers)");
    unit.layers = network_->region.layers;
    unit.nodes = network_->region.nodes;
    unit.inner_bytes = tape.value()->inner_bytes() / 2;  // gradients are released as they are used
    units_.push_back(std::move(unit));
    for (const std::string& barrier : network_->barriers)
      context_.diagnostics.add("not-finetuned", barrier,
                               "it has no backward function; layers before it are not learned");
    return Status();
  }
  context_.diagnostics.add("finetune-failed", "FastFinetune.Unit=network",
                           "too many operators have no backward function");
  return Status();
}

/// The variables start as near to the float values as the stored codes allow, so that the start is the model as
/// quantized.
Result<std::unique_ptr<Variables>> Finetuner::make_network_variables(const Layer& layer, const LayerValues& stored,
                                                                     double rate) const {
  const auto start_of = [&](const Grid& grid, const std::vector<float>& now, ir::ValueId exact) {
    constexpr float kInside = 0.49f;  // In steps; rounding yields the stored code.
    std::vector<float> start = now;
    const ir::Tensor* floats = ir::stored_floats(exact_.graph, exact);
    const std::vector<float> wanted = floats == nullptr ? now : ir::float_values(*floats).value();
    for (size_t i = 0; i < start.size() && wanted.size() == start.size(); ++i) {
      const float reach = kInside * grid.of(i).scale;
      start[i] = std::clamp(wanted[i], now[i] - reach, now[i] + reach);
    }
    return start;
  };
  AdaQuantStart start;
  start.grid = stored_grid(context_.plan, context_.settings, layer.weight);
  if (!start.grid)
    start.grid = pair_grid(context_.plan, *exact_.graph.value(layer.exact.weight).constant, layer.weight);
  if (!start.grid) return unsupported(layer.label, ": its weights are not stored as integers");
  start.weights = start_of(*start.grid, stored.weights, layer.exact.weight);
  if (options_.update_bias && !stored.bias.empty()) {
    start.bias_grid = stored_grid(context_.plan, context_.settings, layer.bias);
    if (start.bias_grid) start.bias = start_of(*start.bias_grid, stored.bias, layer.exact.bias);
  }
  start.decay_steps = options_.iterations;
  return make_adaquant(std::move(start), rate);
}

std::string Finetuner::rate_text(double samples_per_second, double seconds_left) const {
  const auto tenths = static_cast<int64_t>(std::lround(10 * samples_per_second));
  return cat(tenths / 10, ".", tenths % 10, " samples/s, ", static_cast<int64_t>(std::ceil(seconds_left)), " s left");
}

/// Weights that stay float before a Q/DQ pair are stored as the pair returns them.
Result<LearnedConstants> Finetuner::learned_by_network(const Layer& layer, Variables& variables) const {
  LearnedConstants constants = learned(layer, variables);
  if (is_stored_integer(context_.plan.slot(layer.weight))) return constants;
  const ir::Tensor& exact = *ir::stored_floats(exact_.graph, layer.exact.weight);
  LayerValues values;
  values.weights.resize(static_cast<size_t>(exact.size()));
  QQ_RETURN_IF_ERROR(variables.final(values.weights, values.bias));
  constants.weight = ir::store_floats(values.weights, exact.type(), exact.dims());
  return constants;
}

Status Finetuner::make_network_variables(const std::vector<LayerValues>& stored, double rate_share,
                                         UnitVariables& variables) const {
  variables.clear();
  for (size_t i = 0; i < stored.size(); ++i) {
    QQ_TRY(variables.emplace_back(),
           make_network_variables(*network_->region.layers[i], stored[i], rate_share * options_.learning_rate));
  }
  return Status();
}

Result<SavedUnit> Finetuner::train_network(const std::string& key) {
  const NetworkModels models = network_models();
  QQ_RETURN_IF_ERROR(find_targets(models, samples_, *network_));
  QQ_RETURN_IF_ERROR(memory_.make_room(0, units_[0].inner_bytes, store_));
  std::vector<LayerValues> stored;
  for (const Layer* layer : network_->region.layers) {
    QQ_TRY(stored.emplace_back(), stored_values(*layer));
  }
  NetworkTrainer trainer(models, *network_, options_, store_);
  QQ_RETURN_IF_ERROR(trainer.prepare(samples_));
  return train_network(trainer, stored, key);
}

namespace {

std::vector<float> state_of(const UnitVariables& variables) {
  std::vector<float> all;
  for (const auto& own : variables)
    for (const std::span<float> part : own->state()) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Returns false and changes nothing if the number of floats is another one.
bool set_state(const std::vector<float>& state, int64_t step, const UnitVariables& variables) {
  size_t count = 0;
  for (const auto& own : variables)
    for (const std::span<float> part : own->state()) count += part.size();
  if (count != state.size()) return false;
  auto next = state.begin();
  for (const auto& own : variables) {
    for (const std::span<float> part : own->state()) {
      std::copy_n(next, part.size(), part.begin());
      next += static_cast<std::ptrdiff_t>(part.size());
    }
    own->resume_after(step);
  }
  return true;
}

}  // namespace

Result<SavedUnit> Finetuner::train_network(NetworkTrainer& trainer, const std::vector<LayerValues>& stored,
                                           const std::string& key) {
  const Partition parts = partition(samples_, context_.settings.quirk(config::Quirk::kJudgeTunedLayers));
  UnitVariables variables;
  SavedTraining now;
  const std::optional<SavedTraining> earlier = saved_.load_training(0, key);
  QQ_RETURN_IF_ERROR(make_network_variables(stored, earlier ? earlier->rate_share : 1, variables));
  if (earlier && earlier->step < options_.iterations && fits(units_[0], earlier->best) &&
      set_state(earlier->state, earlier->step - earlier->begun, variables)) {
    now = *earlier;
  } else {
    QQ_RETURN_IF_ERROR(make_network_variables(stored, 1, variables));
    QQ_TRY(now.best.error_before, trainer.error(stored, parts.judging));
    now.best.error_after = now.best.error_before;
  }
  SavedUnit& best = now.best;
  NetworkTrainer::Hooks hooks;
  hooks.better = [&](double error) -> Status {
    best.error_after = error;
    best.kept = true;
    best.layers.clear();
    for (size_t i = 0; i < variables.size(); ++i) {
      QQ_TRY(best.layers.emplace_back(), learned_by_network(*network_->region.layers[i], *variables[i]));
    }
    return Status();
  };
  hooks.restart = [&](double rate_share) { return make_network_variables(stored, rate_share, variables); };
  hooks.save = [&](const NetworkTrainer::Position& at) -> Status {
    if (!saved_.is_on()) return Status();
    now.step = at.step;
    now.begun = at.begun;
    now.rate_share = at.rate_share;
    now.state = state_of(variables);
    return saved_.save_training(0, key, now);
  };
  hooks.progress = [&](const TrainingProgress& at) {
    context_.tuning->now = rate_text(at.samples_per_second, at.seconds_left);
    return !context_.progress || context_.progress(static_cast<size_t>(at.step), static_cast<size_t>(at.steps));
  };
  const Status status =
      trainer.train(variables, stored, parts, {now.step, now.begun, now.rate_share, best.error_after}, hooks);
  context_.tuning->now.clear();
  QQ_RETURN_IF_ERROR(status);
  return best;
}

}  // namespace quarkq::planning::finetune
