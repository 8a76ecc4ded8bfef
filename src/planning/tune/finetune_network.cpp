// SPDX-License-Identifier: MIT
// The whole network as the only unit of the finetuning (ADR 0020).
#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "exec/session.h"
#include "ir/constants.h"
#include "planning/tune/finetuner.h"
#include "planning/tune/network_trainer.h"

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
    const Result<std::unique_ptr<Tape>> tape =
        Tape::make(found.value().region, quantized_, shapes, nullptr, &failed);
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
      context_.diagnostics.add("not-finetuned", barrier, "it has no backward function; layers before it are not learned");
    return Status();
  }
  context_.diagnostics.add("finetune-failed", "FastFinetune.Unit=network", "too many operators have no backward function");
  return Status();
}

/// The variables start as near to the float values as the stored codes allow, so that the start is the model as
/// quantized.
Result<std::unique_ptr<Variables>> Finetuner::make_network_variables(const Layer& layer,
                                                                     const LayerValues& stored) const {
  const auto start_of = [&](const Grid& grid, const std::vector<float>& now, ir::ValueId exact) {
    constexpr float kInside = 0.49f;  // of a step: rounding gives the stored code
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
  if (!start.grid) start.grid = pair_grid(context_.plan, *exact_.graph.value(layer.exact.weight).constant, layer.weight);
  if (!start.grid) return unsupported(layer.label, ": its weights are not stored as integers");
  start.weights = start_of(*start.grid, stored.weights, layer.exact.weight);
  if (options_.update_bias && !stored.bias.empty()) {
    start.bias_grid = stored_grid(context_.plan, context_.settings, layer.bias);
    if (start.bias_grid) start.bias = start_of(*start.bias_grid, stored.bias, layer.exact.bias);
  }
  start.decay_steps = options_.iterations;
  return make_adaquant(std::move(start), options_.learning_rate);
}

std::string Finetuner::rate_text(double samples_per_second, double seconds_left) const {
  const auto tenths = static_cast<int64_t>(std::lround(10 * samples_per_second));
  return cat(tenths / 10, ".", tenths % 10, " samples/s, ", static_cast<int64_t>(std::ceil(seconds_left)), " s left");
}

Result<SavedUnit> Finetuner::train_network() {
  const NetworkModels models = network_models();
  Network& network = *network_;
  const Partition parts = partition(samples_, context_.settings.quirk(config::Quirk::kJudgeTunedLayers));
  QQ_RETURN_IF_ERROR(find_targets(models, samples_, network));
  QQ_RETURN_IF_ERROR(memory_.make_room(0, units_[0].inner_bytes, store_));
  std::vector<LayerValues> stored;
  UnitVariables variables;
  for (const Layer* layer : network.region.layers) {
    QQ_TRY(stored.emplace_back(), stored_values(*layer));
    QQ_TRY(variables.emplace_back(), make_network_variables(*layer, stored.back()));
  }
  NetworkTrainer trainer(models, network, options_, store_);
  QQ_RETURN_IF_ERROR(trainer.prepare(samples_));
  SavedUnit done;
  QQ_TRY(done.error_before, trainer.error(stored, parts.judging));
  done.error_after = done.error_before;
  NetworkTrainer::Hooks hooks;
  hooks.better = [&](double error) {
    done.error_after = error;
    done.kept = true;
    done.layers.clear();
    for (size_t i = 0; i < variables.size(); ++i)
      done.layers.push_back(learned(*network.region.layers[i], *variables[i]));
  };
  hooks.progress = [&](const TrainingProgress& at) {
    context_.tuning->now = rate_text(at.samples_per_second, at.seconds_left);
    return !context_.progress || context_.progress(static_cast<size_t>(at.step), static_cast<size_t>(at.steps));
  };
  const Status status = trainer.train(variables, stored, parts, 0, done.error_before, hooks);
  context_.tuning->now.clear();
  QQ_RETURN_IF_ERROR(status);
  return done;
}

}  // namespace quarkq::planning::finetune
