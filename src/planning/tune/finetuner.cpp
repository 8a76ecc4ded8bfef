// SPDX-License-Identifier: MIT
#include "planning/tune/finetuner.h"

#include <algorithm>

#include "base/isa.h"
#include "base/stopwatch.h"
#include "base/strings.h"
#include "exec/simulate.h"
#include "ir/dump.h"
#include "planning/tune/find_blocks.h"
#include "planning/tune/model_distance.h"

namespace quarkq::planning::finetune {
namespace {

constexpr double kWorse = 1.1;  // times as far from 1: less is nothing to act on

const char* name_of(config::FinetuneAlgorithm algorithm) {
  return algorithm == config::FinetuneAlgorithm::kAdaRound ? "adaround" : "adaquant";
}

size_t sample_count(const pass::PlanContext& context, const config::FinetuneSettings& options) {
  const size_t all = context.source.data->size();
  return options.data_size > 0 ? std::min(all, static_cast<size_t>(options.data_size)) : all;
}

}  // namespace

Finetuner::Finetuner(pass::PlanContext& context, const ir::Model& original, const ir::Model& exact,
                     config::FinetuneSettings options)
    : context_(context),
      original_(original),
      exact_(exact),
      options_(std::move(options)),
      saved_(context.tuning->state_folder),
      samples_(sample_count(context, options_)),
      store_(options_.cache_dir),
      memory_(options_) {}

Status Finetuner::make_quantized() {
  QQ_TRY(quantized_, exec::simulate(context_.model, context_.plan));
  return Status();
}

/// By the sizes of what it reads, gives and holds. Without shapes only the weights tell.
void Finetuner::keep_largest_layer() {
  const auto size = [&](ir::ValueId value) {
    const ir::ValueType& type = original_.graph.value(value).type;
    const Result<int64_t> count = ir::element_count(type.shape());  // fails where a dimension is not known
    return type.has_shape && count.ok() ? count.value() : 0;
  };
  const auto memory = [&](const Layer& layer) {
    const ir::Tensor& weights = *original_.graph.value(layer.weight).constant;
    return size(original_.graph.node(layer.node).input(0)) + size(layer.end) + weights.size();
  };
  const auto largest = std::max_element(layers_.begin(), layers_.end(),
                                        [&](const Layer& a, const Layer& b) { return memory(a) < memory(b); });
  layers_ = {*largest};
}

/// The walk needs an order in which no unit reads a later one's result.
Status Finetuner::make_units() {
  QQ_RETURN_IF_ERROR(sort_as_written(context_, layers_));
  if (options_.largest_only) keep_largest_layer();
  if (options_.unit == config::FinetuneUnit::kBlock) {
    QQ_TRY(units_, tried(find_blocks(layers_, quantized_.graph, original_.graph)));
    return Status();
  }
  for (const Layer& layer : layers_) units_.push_back(unit_of(layer, quantized_.graph));
  return Status();
}

/// Shapes may not fit an operator of a tape, or not be known before a run: the first sample tells. What cannot be a
/// block becomes layers.
Result<std::vector<Unit>> Finetuner::tried(std::vector<Unit> units) const {
  exec::SessionOptions options;
  for (const Unit& unit : units) options.fetches.push_back(unit.start);
  exec::Session session(quantized_, std::move(options));
  QQ_TRY(const calib::Sample sample, context_.source.data->read(0));
  QQ_TRY(const std::vector<ir::Tensor>* const starts, session.run(sample.inputs));
  std::vector<Unit> result;
  for (size_t i = 0; i < units.size(); ++i) {
    units[i].rounds_end = options_.output_qdq;
    const Result<std::unique_ptr<Tape>> tape = Tape::make(units[i], quantized_, (*starts)[i].dims());
    if (tape.ok()) {
      units[i].inner_bytes = tape.value()->inner_bytes();
      result.push_back(std::move(units[i]));
      continue;
    }
    for (const Layer* layer : units[i].layers) result.push_back(unit_of(*layer, quantized_.graph));
  }
  return result;
}

Status Finetuner::start_walks() {
  std::vector<std::vector<ir::ValueId>> starts, exact;
  for (const Unit& unit : units_) {
    starts.push_back({unit.start});
    exact.push_back({unit.target});
    if (options_.drop_ratio < 1) exact.back().push_back(unit.float_start);
  }
  quantized_walk_ = std::make_unique<LayerWalk>(quantized_, *context_.source.data, samples_, std::move(starts), store_);
  float_walk_ = std::make_unique<LayerWalk>(exact_, *context_.source.data, samples_, std::move(exact), store_);
  QQ_RETURN_IF_ERROR(memory_.make_room(0, 0, store_));
  key_.add(run_key());
  if (!saved_.is_on()) return Status();
  for (size_t i = 0; i < samples_; ++i) {
    QQ_TRY(const calib::Sample sample, context_.source.data->read(i));
    for (const ir::Tensor& input : sample.inputs) key_.add(ir::tensor_text(input));
  }
  return Status();
}

/// Everything but the samples.
std::string Finetuner::run_key() const {
  if (!saved_.is_on()) return "";
  ContentHash hash;
  hash.add(isa_name(isa()));
  hash.add(ir::dump(quantized_));
  hash.add(ir::dump(exact_));
  hash.add(options_.deciding);
  hash.add(context_.settings.compat ? "compat" : "");
  hash.add(cat(samples_));
  return hash.text();
}

Result<bool> Finetuner::run() {
  QQ_RETURN_IF_ERROR(make_quantized());
  layers_ = find_layers(context_, original_.graph, options_);
  if (&exact_ != &original_) refer_to(exact_.graph, original_.graph, context_.diagnostics, layers_);
  if (layers_.empty()) return false;
  QQ_RETURN_IF_ERROR(make_units());
  QQ_RETURN_IF_ERROR(start_walks());
  if (options_.selective_update) {
    QQ_TRY(distance_, model_distance(exact_, quantized_, *context_.source.data, samples_, options_));
  }
  QQ_TRY(const std::optional<double> before, held_out_cosine());
  for (size_t i = 0; i < units_.size(); ++i) {
    if (!reports(i)) return Status(Code::kInterrupted, "interrupted");
    QQ_RETURN_IF_ERROR(do_unit(i));
  }
  reports(units_.size());
  if (before) QQ_RETURN_IF_ERROR(judge_model(*before));
  if (memory_.is_too_small())
    context_.diagnostics.add("finetune-memory", "FastFinetune.MemoryBudgetMB",
                             cat(bytes_text(static_cast<double>(memory_.bytes())),
                                 " is below the working set of one layer; activations were kept on disk"));
  return changed_;
}

/// Nothing where nothing is held out, and where a part after the layers cannot be computed.
Result<std::optional<double>> Finetuner::held_out_cosine() const {
  if (!context_.settings.quirk(config::Quirk::kJudgeTunedLayers)) return std::optional<double>();
  Result<std::optional<double>> found =
      model_cosine(exact_, quantized_, *context_.source.data, partition(samples_, true).judging);
  if (!found.ok() && found.status().code() == Code::kUnsupported) return std::optional<double>();
  return found;
}

/// Layers that each came closer can still give a model that did not. Blocks are put back then; of layers, which the
/// reference always keeps, the user is told.
Status Finetuner::judge_model(double before) {
  if (options_.parallel) QQ_RETURN_IF_ERROR(make_quantized());  // its layers are in the plan only
  QQ_TRY(const std::optional<double> after, held_out_cosine());
  if (!after) return Status();
  const size_t samples = partition(samples_, true).judging.size();
  const bool is_undone = options_.unit == config::FinetuneUnit::kBlock && *after < before;
  context_.tuning->outputs = {samples, before, is_undone ? before : *after};
  if (is_undone) put_back();
  if (!is_undone && 1 - *after <= kWorse * (1 - before)) return Status();
  context_.diagnostics.add(
      "finetune-no-gain", "FastFinetune",
      cat(is_undone ? "blocks" : "layers", " came closer to the float ones, the outputs did not: cosine ", before,
          " before, ", *after, " after, on ", samples, samples == 1 ? " sample" : " samples", " not trained with",
          is_undone ? "; all weights were put back" : "", "; give more samples (now ", samples_,
          is_undone ? ")" : "), or set FastFinetune.SelectiveUpdate=true, or take the preset without finetuning"));
  return Status();
}

/// Constants of the plan as they were before.
void Finetuner::put_back() {
  for (auto change = before_.rbegin(); change != before_.rend(); ++change)
    context_.plan.slot(change->first).codes = change->second;
  before_.clear();
  for (pass::FinetunedLayer& unit : context_.tuning->layers) unit.kept = false;
  changed_ = false;
}

Status Finetuner::do_unit(size_t index) {
  const Stopwatch watch;
  const Unit& unit = units_[index];
  key_.add(unit.label);
  const std::string key = key_.text();
  std::optional<SavedUnit> done = saved_.load(index, key);
  if (done && !fits(unit, *done)) done.reset();
  const bool was_done = done.has_value();
  LayerData data(unit.channels_last, store_);
  memory_.give_back();
  Status status = collect(unit, data, was_done);
  if (status.ok() && !done) {
    Result<SavedUnit> trained = train(index, data);
    if (trained.ok()) {
      done = std::move(trained).value();
      done->seconds = watch.seconds();
      QQ_RETURN_IF_ERROR(saved_.save(index, key, *done));
    } else {
      status = trained.status();
    }
  }
  if (!status.ok() && status.code() != Code::kUnsupported) return status;
  if (!done) {
    context_.diagnostics.add("finetune-failed", unit.label, status.message());
    return Status();
  }
  context_.tuning->layers.push_back({unit.label, name_of(options_.algorithm), done->error_before, done->error_after,
                                     done->kept, was_done, done->seconds});
  if (!done->kept) return Status();
  QQ_RETURN_IF_ERROR(write_back(unit, *done));
  if (was_done && options_.selective_update) {
    QQ_TRY(distance_, model_distance(exact_, quantized_, *context_.source.data, samples_, options_));
  }
  return Status();
}

}  // namespace quarkq::planning::finetune
