// SPDX-License-Identifier: MIT
#include "planning/tune/finetuner.h"

#include <algorithm>
#include <numeric>

#include "base/isa.h"
#include "base/machine.h"
#include "base/platform/memory.h"
#include "base/stopwatch.h"
#include "base/strings.h"
#include "compare/run_models.h"
#include "exec/environment.h"
#include "exec/session.h"
#include "exec/simulate.h"
#include "ir/dump.h"
#include "numeric/metrics.h"
#include "planning/tune/unit.h"
#include "quarkq/status.h"

namespace quarkq::planning::finetune {

namespace {

constexpr int64_t kShareOfMachine = 4;
/// The memory for running and training a block, in sizes of its inputs and outputs for one sample (measured: 8).
constexpr int64_t kWorkPerSample = 12;
constexpr int64_t kWorkPerInner = 2;  // a tape's values and gradients, and what its operators keep
constexpr int64_t kShareOfHoles = 8;  // Share of the budget lost between blocks of memory (measured: 1/12).

int64_t resident_bytes() { return static_cast<int64_t>(resident_memory().all); }

}  // namespace

MemoryBudget::MemoryBudget(const config::FinetuneSettings& options)
    : stays_in_memory_(options.stays_in_memory),
      keeps_on_disk_(options.keeps_on_disk && !options.stays_in_memory),
      budget_(options.memory_budget > 0 ? options.memory_budget : exec::allowed_memory(0) / kShareOfMachine),
      taken_(resident_bytes()) {}

void MemoryBudget::give_back() const {
  if (resident_bytes() > budget_ / 2) platform::return_free_memory();
}

Status MemoryBudget::make_room(int64_t sample_bytes, int64_t inner_bytes, ir::TensorStore& store) {
  const int64_t work = kWorkPerSample * sample_bytes + kWorkPerInner * inner_bytes;
  if (work_ > 0 && work <= work_) return Status();
  work_ = work;
  if (stays_in_memory_) return Status();
  return store.set_limit(keeps_on_disk_ ? 0 : std::max<int64_t>(0, budget_ - budget_ / kShareOfHoles - taken_ - work_));
}

namespace {

/// Averages measure(float values, quantized values) over samples and outputs of the same size; empty without one.
template <typename Measure>
Result<std::optional<double>> output_mean(const ComparedModels& models, std::vector<size_t> samples,
                                          const std::optional<int64_t>& output, Measure measure) {
  double sum = 0;
  size_t count = 0;
  const auto add = [&](const compare::PairedResults& results) -> Status {
    for (size_t i = 0; i < std::min(results.first.size(), results.second.size()); ++i) {
      if (output && static_cast<int64_t>(i) != *output) continue;
      if (!is_floating(results.first[i].type())) continue;
      const Result<std::vector<double>> a = ir::to_double(results.first[i]), b = ir::to_double(results.second[i]);
      if (!a.ok() || !b.ok() || a.value().size() != b.value().size()) continue;
      sum += measure(numeric::pair_sums(a.value(), b.value()));
      ++count;
    }
    return Status();
  };
  const compare::PairedSamples paired{models.data, models.environment, std::move(samples)};
  QQ_RETURN_IF_ERROR(compare::run_both(models.original, models.quantized, paired, add));
  return count == 0 ? std::optional<double>() : std::optional(sum / static_cast<double>(count));
}

}  // namespace

Result<double> model_distance(const ComparedModels& models, size_t samples, const config::FinetuneSettings& options) {
  std::vector<size_t> first(samples);
  std::iota(first.begin(), first.end(), size_t{0});
  QQ_TRY(const std::optional<double> mean,
         output_mean(models, std::move(first), options.output_index, numeric::l2_distance));
  if (mean) return *mean;
  return invalid_argument("FastFinetune.SelectiveUpdate: there is no output to measure");
}

Result<std::optional<double>> model_cosine(const ComparedModels& models, std::span<const size_t> samples) {
  return output_mean(models, {samples.begin(), samples.end()}, {}, numeric::cosine);
}

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

/// Compares the sizes of input, output and weights. Without shapes only the weights count.
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
  if (options_.unit == config::FinetuneUnit::kNetwork) return make_network();
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
  exec::Session session(quantized_, context_.environment, std::move(options));
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

void Finetuner::make_walks() {
  std::vector<std::vector<ir::ValueId>> starts, exact;
  for (const Unit& unit : units_) {
    starts.push_back({unit.start});
    exact.push_back({unit.target});
    if (options_.drop_ratio < 1) exact.back().push_back(unit.float_start);
  }
  const auto walked = [&](const ir::Model& model) {
    return calib::WalkedModel{model, context_.environment, *context_.source.data, samples_};
  };
  quantized_walk_ = std::make_unique<calib::LayerWalk>(walked(quantized_), std::move(starts), store_);
  float_walk_ = std::make_unique<calib::LayerWalk>(walked(exact_), std::move(exact), store_);
}

Status Finetuner::start_walks() {
  if (!network_) make_walks();
  QQ_RETURN_IF_ERROR(memory_.make_room(0, 0, store_));
  key_.add(run_key());
  if (!saved_.is_on() && !is_shared()) return Status();
  for (size_t i = 0; i < samples_; ++i) {
    QQ_TRY(const calib::Sample sample, context_.source.data->read(i));
    for (const ir::Tensor& input : sample.inputs) key_.add(ir::tensor_text(input));
  }
  return Status();
}

/// Everything but the samples.
std::string Finetuner::run_key() const {
  if (!saved_.is_on() && !is_shared()) return "";
  ContentHash hash;
  hash.add(version());
  hash.add(full_isa_name());
  hash.add(ir::dump(quantized_));
  hash.add(ir::dump(exact_));
  if (network_) hash.add(ir::dump(network_models().teacher));
  hash.add(options_.deciding);
  hash.add(context_.settings.mode_key());
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
    QQ_TRY(distance_, model_distance(compared(quantized_), samples_, options_));
  }
  QQ_TRY(const std::optional<double> before, held_out_cosine());
  if (is_shared()) QQ_RETURN_IF_ERROR(share_units());
  for (; done_ < units_.size(); ++done_) {
    if (!reports()) return Status(Code::kInterrupted, "interrupted");
    QQ_RETURN_IF_ERROR(do_unit(done_));
  }
  reports();
  if (before) QQ_RETURN_IF_ERROR(judge_model(*before));
  if (memory_.is_too_small())
    context_.diagnostics.add("finetune-memory", "FastFinetune.MemoryBudgetMB",
                             cat(bytes_text(static_cast<double>(memory_.bytes())),
                                 " is below the working set of one layer; activations were kept on disk"));
  return changed_;
}

/// Returns nullopt if nothing is held out, and if a part after the layers cannot be computed.
Result<std::optional<double>> Finetuner::held_out_cosine() const {
  if (!context_.settings.quirk(config::Quirk::kJudgeTunedLayers)) return std::optional<double>();
  Result<std::optional<double>> found = model_cosine(compared(quantized_), partition(samples_, true).judging);
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
      cat(is_undone  ? "blocks"
          : network_ ? "values"
                     : "layers",
          " came closer to the float ones, the outputs did not: cosine ", before, " before, ", *after, " after, on ",
          samples, samples == 1 ? " sample" : " samples", " not trained with",
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

/// Returns the result of another run or process.
std::optional<SavedUnit> Finetuner::load(size_t index, const std::string& key) const {
  std::optional<SavedUnit> found = saved_.load(index, key);
  if (found && !fits(units_[index], *found)) found.reset();
  return found;
}

Status Finetuner::do_unit(size_t index) {
  memory_.give_back();
  key_.add(units_[index].label);
  const std::string key = key_.text();
  if (const std::optional<SavedUnit> done = load(index, key)) {
    if (!network_) QQ_RETURN_IF_ERROR(skip_unit());
    return take(index, *done, /*was_done=*/true);
  }
  QQ_TRY(const SavedUnit done, make_unit(index, key));
  if (done.failure.empty()) QQ_RETURN_IF_ERROR(saved_.save(index, key, done));
  return take(index, done, /*was_done=*/false);
}

/// A unit that cannot be trained is also a result.
Result<SavedUnit> Finetuner::make_unit(size_t index, const std::string& key) {
  const Stopwatch watch;
  LayerData data(units_[index].channels_last, store_);
  Result<SavedUnit> done = SavedUnit();
  if (network_) {
    done = train_network(key);
  } else if (const Status status = collect(units_[index], data); status.ok()) {
    done = train(index, data);
  } else {
    done = status;
  }
  if (!done.ok() && done.status().code() != Code::kUnsupported) return done;
  if (!done.ok()) {
    SavedUnit failed;
    failed.failure = done.status().message();
    return failed;
  }
  done.value().seconds = watch.seconds();
  return done;
}

/// Into report, plan and quantized model.
Status Finetuner::take(size_t index, const SavedUnit& done, bool was_done) {
  const Unit& unit = units_[index];
  if (!done.failure.empty()) {
    context_.diagnostics.add("finetune-failed", unit.label, done.failure);
    return Status();
  }
  context_.tuning->layers.push_back({unit.label, name_of(options_.algorithm), done.error_before, done.error_after,
                                     done.kept, was_done, done.seconds});
  if (!done.kept) return Status();
  QQ_RETURN_IF_ERROR(write_back(unit, done));
  if (was_done && options_.selective_update) {
    QQ_TRY(distance_, model_distance(compared(quantized_), samples_, options_));
  }
  return Status();
}

}  // namespace quarkq::planning::finetune
