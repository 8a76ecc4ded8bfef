// SPDX-License-Identifier: MIT
// Weights are rounded so that each layer's results stay close on calibration samples, and biases take up the mean error
// that is left, layer after layer in the quantized model. Scales stay as they are.
#include <algorithm>
#include <cmath>
#include <span>

#include "base/parallel.h"
#include "calib/layer_walk.h"
#include "calib/sample_readers.h"
#include "calib/sample_run.h"
#include "exec/environment.h"
#include "exec/simulate.h"
#include "ir/constants.h"
#include "numeric/real_numbers.h"
#include "plan/constant_codes.h"
#include "planning/passes.h"
#include "planning/round/nearest_plane.h"
#include "planning/tune/layer_constants.h"

namespace quarkq::planning {
namespace {

using finetune::Grid;
using finetune::Layer;

constexpr size_t kSamples = 16;
/// Rows of a layer's Gram matrix, by the inputs of an output: enough for the sums to be typical, and no more.
int64_t rows_for(int64_t depth) { return std::max(4 * depth, std::clamp<int64_t>(32 * depth, 1024, 4096)); }
/// The bias of a layer with fewer results in all samples stays: their mean error is not that of other samples.
constexpr int64_t kFewestRows = 64;
/// Beyond it a factor takes too long: the layer is rounded plainly.
constexpr int64_t kGreatestDepth = 6144;
constexpr int64_t kGramBytes = int64_t{1} << 30;  ///< held at once

/// A layer with what is known of its inputs.
struct RoundedLayer {
  Layer layer;
  InputRows rows;
  Grid grid;
  std::vector<numeric::Gram> grams = {};  ///< One per group, while samples are run.
  pass::RoundingInputs found = {};        ///< of the samples that were run
  pass::RoundingInputsPtr inputs = {};    ///< what `found` becomes, or what an earlier plan found
  ir::Tensor codes = {};                  ///< int32, [groups][outputs][depth] as one axis

  int64_t gram_bytes() const {
    return rows.groups() * rows.depth() * rows.depth() * static_cast<int64_t>(sizeof(float));
  }
};

/// Where the stored weights have element `i` of [groups][outputs][depth].
int64_t stored_index(const RoundedLayer& r, int64_t i) {
  if (r.layer.kind != Layer::Kind::kProduct || r.layer.transposed) return i;
  return i % r.rows.depth() * r.rows.outputs() + i / r.rows.depth();
}

/// False: scales run along another axis of the weights.
bool has_scale_per_output(const RoundedLayer& r) {
  const auto first = static_cast<size_t>(stored_index(r, 0));
  return &r.grid.of(first) == &r.grid.of(static_cast<size_t>(stored_index(r, r.rows.depth() - 1)));
}

/// Stores the mean of rows [groups][count][depth] of one of `samples` samples.
void set_mean(const std::vector<float>& rows, const RoundedLayer& r, size_t sample, size_t samples,
              std::vector<double>& means) {
  const int64_t depth = r.rows.depth(), groups = r.rows.groups();
  const int64_t count = static_cast<int64_t>(rows.size()) / std::max<int64_t>(1, groups * depth);
  means.resize(samples * static_cast<size_t>(groups * depth));
  for (int64_t g = 0; g < groups; ++g) {
    double* sums = means.data() + (static_cast<int64_t>(sample) * groups + g) * depth;
    for (int64_t i = 0; i < count; ++i) {
      const float* row = rows.data() + (g * count + i) * depth;
      for (int64_t k = 0; k < depth; ++k) sums[k] += static_cast<double>(row[k]);
    }
    for (int64_t k = 0; k < depth; ++k) sums[k] /= static_cast<double>(std::max<int64_t>(1, count));
  }
}

/// Mean errors of a layer's outputs over samples, with their standard errors.
class MeanErrors {
 public:
  /// `errors`: of one output, an error for each sample.
  void add(std::span<const double> errors) {
    const auto count = static_cast<double>(errors.size());
    double mean = 0, squares = 0;
    for (const double error : errors) mean += error / count;
    for (const double error : errors) squares += (error - mean) * (error - mean);
    means_.push_back(mean);
    noises_.push_back(errors.size() < 2 ? 0 : squares / (count * (count - 1)));
    freedom_ = count - 1;
  }

  /// Returns the means, each shrunk: the more samples differ, the less their mean predicts other samples (James and
  /// Stein: 1 - squared standard error / squared mean). With few samples, standard errors are uncertain, so they are
  /// averaged with the mean of all outputs.
  std::vector<double> lasting() const {
    constexpr double kPrior = 4;  // weight of the other outputs, in samples
    double common = 0;
    for (const double noise : noises_) common += noise / static_cast<double>(noises_.size());
    std::vector<double> found = means_;
    for (size_t i = 0; i < found.size(); ++i) {
      const double noise = (freedom_ * noises_[i] + kPrior * common) / (freedom_ + kPrior);
      if (found[i] != 0) found[i] *= std::max(0.0, 1 - noise / (found[i] * found[i]));
    }
    return found;
  }

 private:
  std::vector<double> means_, noises_;
  double freedom_ = 0;
};

class Compensation {
 public:
  Compensation(pass::PlanContext& context, const ir::Model& original)
      : context_(context),
        original_(original),
        samples_(*context.source.data, kSamples, calib::SpreadSamples::Part::kOdd) {}

  Result<Changed> run() {
    QQ_RETURN_IF_ERROR(find_layers());
    QQ_RETURN_IF_ERROR(round_all(layers_without_inputs()));
    solve_all(layers_without_codes());
    if (layers_.empty()) return Changed::kNo;
    for (const RoundedLayer& r : layers_) set_weights(r);
    if (context_.settings.tool.rounding == "compensated") QQ_RETURN_IF_ERROR(correct_biases());
    return changed_ ? Changed::kYes : Changed::kNo;
  }

 private:
  int64_t gram_limit() const {
    const exec::Environment& environment = context_.environment;
    return environment.has_memory_ceiling() ? std::min(kGramBytes, environment.memory_left() / 4) : kGramBytes;
  }

  /// Processes as many at once as their Gram matrices allow, because each batch runs the samples again.
  Status round_all(std::span<RoundedLayer* const> layers) {
    for (size_t begin = 0; begin < layers.size();) {
      size_t end = begin;
      for (int64_t bytes = 0; end < layers.size(); ++end) {
        bytes += layers[end]->gram_bytes();
        if (end > begin && bytes > gram_limit()) break;
      }
      QQ_RETURN_IF_ERROR(round(layers.subspan(begin, end - begin)));
      begin = end;
    }
    return Status();
  }

  /// The others have what an earlier plan found.
  std::vector<RoundedLayer*> layers_without_inputs() {
    std::vector<RoundedLayer*> open;
    for (RoundedLayer& r : layers_) {
      if (cache() != nullptr) r.inputs = cache()->inputs(key_of(r));
      if (r.inputs == nullptr) open.push_back(&r);
    }
    return open;
  }

  /// The others have been rounded on the same grid.
  std::vector<RoundedLayer*> layers_without_codes() {
    std::vector<RoundedLayer*> open;
    for (RoundedLayer& r : layers_) {
      if (r.codes.size() > 0) continue;
      const ir::Tensor* known = cache() == nullptr ? nullptr : cache()->codes(key_of(r), grid_key(r));
      if (known != nullptr) r.codes = *known;
      if (known == nullptr) open.push_back(&r);
    }
    return open;
  }

  pass::RoundingCache* cache() const { return context_.tuning == nullptr ? nullptr : context_.tuning->rounded.get(); }
  pass::RoundingCache::Key key_of(const RoundedLayer& r) const {
    const ValueRange range = range_of(r.layer.start);
    return {r.layer.exact.weight, r.layer.exact.start, range.low, range.high};
  }
  static pass::RoundingGrid grid_key(const RoundedLayer& r) { return {r.grid.params, r.grid.limits}; }

  std::vector<float> weights_of(const RoundedLayer& r) const {
    const std::vector<float> stored =
        ir::float_values(*ir::stored_floats(original_.graph, r.layer.exact.weight)).value();
    std::vector<float> weights(stored.size());
    for (size_t i = 0; i < stored.size(); ++i)
      weights[i] = stored[static_cast<size_t>(stored_index(r, static_cast<int64_t>(i)))];
    return weights;
  }

  Status find_layers() {
    config::FinetuneSettings options;
    options.target_ops = {"Conv", "Gemm", "MatMul"};
    Diagnostics ignored;  // other layers are rounded to nearest
    const pass::PlanContext quiet{context_.model, context_.settings, context_.selection,
                                  context_.plan,  ignored,           context_.environment};
    std::vector<Layer> found = finetune::find_layers(quiet, original_.graph, options);
    QQ_RETURN_IF_ERROR(finetune::sort_as_written(quiet, found));
    for (Layer& layer : found) {
      const ir::Tensor& weights = *ir::stored_floats(original_.graph, layer.exact.weight);
      std::optional<Grid> grid = grid_of(layer.weight, weights);
      Result<InputRows> rows = InputRows::make(layer, context_.graph().node(layer.node), weights.dims());
      if (!grid || !rows.ok() || rows.value().depth() > kGreatestDepth || weights.size() == 0 || layer.alpha != 1)
        continue;
      RoundedLayer rounded{std::move(layer), std::move(rows).value(), std::move(*grid)};
      if (has_scale_per_output(rounded)) layers_.push_back(std::move(rounded));
    }
    return Status();
  }

  /// `stored`: the values of a constant that stays float before its pair.
  std::optional<Grid> grid_of(ir::ValueId constant, const ir::Tensor& stored) const {
    std::optional<Grid> grid = finetune::stored_grid(context_.plan, context_.settings, constant);
    return grid ? grid : finetune::pair_grid(context_.plan, stored, constant);
  }

  int64_t rows_per_sample(const RoundedLayer& r) const {
    return std::max<int64_t>(1, rows_for(r.rows.depth()) / static_cast<int64_t>(samples_.size()));
  }

  Status interruption(size_t done) const {
    if (!context_.progress || context_.progress(done, 2 * samples_.size())) return Status();
    return Status(Code::kInterrupted, "interrupted");
  }

  /// Codes of the layers from their inputs in the float model.
  Status round(std::span<RoundedLayer* const> layers) {
    exec::SessionOptions options;
    for (RoundedLayer* r : layers) {
      options.fetches.push_back(r->layer.exact.start);
      r->grams.assign(static_cast<size_t>(r->rows.groups()), numeric::Gram(r->rows.depth()));
    }
    const auto add = [&](size_t i, const std::vector<ir::Tensor>& values) -> Status {
      std::vector<Status> found(layers.size());
      parallel_for(static_cast<int64_t>(layers.size()), {.share = Share::kAsFree}, [&](int64_t at) {
        const auto k = static_cast<size_t>(at);
        found[k] = add_inputs(i, values[k], *layers[k]);
      });
      for (const Status& status : found) QQ_RETURN_IF_ERROR(status);
      return interruption(i);
    };
    QQ_RETURN_IF_ERROR(
        calib::run_all(original_, context_.environment, std::move(options), {samples_, "compensated rounding"}, add));
    parallel_for(static_cast<int64_t>(layers.size()), {.share = Share::kAsFree}, [&](int64_t k) {
      RoundedLayer& r = *layers[static_cast<size_t>(k)];
      for (numeric::Gram& gram : std::exchange(r.grams, {})) r.found.factors.push_back(factor_of(gram));
      r.inputs = std::make_shared<const pass::RoundingInputs>(std::move(r.found));
    });
    for (const RoundedLayer* r : layers)
      if (cache() != nullptr) cache()->keep(key_of(*r), r->inputs);
    solve_all(layers);
    return Status();
  }

  void solve_all(std::span<RoundedLayer* const> layers) {
    parallel_for(static_cast<int64_t>(layers.size()), {.share = Share::kAsFree},
                 [&](int64_t k) { solve(*layers[static_cast<size_t>(k)]); });
    for (RoundedLayer* r : layers) {
      if (cache() != nullptr) cache()->keep(key_of(*r), grid_key(*r), r->codes);
      // Factors that are not kept take as much memory as the Gram matrices of the next layers.
      if (cache() == nullptr || cache()->inputs(key_of(*r)) == nullptr)
        r->inputs =
            std::make_shared<const pass::RoundingInputs>(pass::RoundingInputs{{}, r->inputs->means, r->inputs->rows});
    }
  }

  Status add_inputs(size_t sample, const ir::Tensor& input, RoundedLayer& r) const {
    QQ_TRY(const std::vector<float> rows, r.rows.read(input, rows_per_sample(r), range_of(r.layer.start)));
    const size_t part = rows.size() / static_cast<size_t>(r.rows.groups());
    for (size_t g = 0; g < r.grams.size(); ++g)
      r.grams[g].add(std::span(rows).subspan(g * part, part), static_cast<int64_t>(part) / r.rows.depth());
    r.found.rows += static_cast<int64_t>(part) / r.rows.depth();
    set_mean(rows, r, sample, samples_.size(), r.found.means);
    return Status();
  }

  /// The range that the quantized model clips a layer's input to: losses of clipped values are not to be compensated by
  /// weights.
  ValueRange range_of(ir::ValueId input) const {
    const plan::QuantSlot* slot = context_.plan.find(input);
    if (slot == nullptr || !is_integer(slot->stage.spec.type)) return {};
    const plan::ParamList& params = context_.plan.params[slot->stage.params];
    if (params.size() != 1) return {};
    const numeric::IntegerRange codes = numeric::integer_range(slot->stage.spec.type, numeric::RangeKind::kFull);
    return {static_cast<float>(codes.min - params[0].zero_point) * params[0].scale,
            static_cast<float>(codes.max - params[0].zero_point) * params[0].scale};
  }

  void solve(RoundedLayer& r) const {
    const auto depth = static_cast<size_t>(r.rows.depth()), outputs = static_cast<size_t>(r.rows.outputs());
    const std::vector<float> weights = weights_of(r);
    std::vector<int32_t> codes;
    for (size_t g = 0; g < r.inputs->factors.size(); ++g) {
      RoundingProblem problem;
      problem.weights = std::span(weights).subspan(g * outputs * depth, outputs * depth);
      problem.limits = r.grid.limits;
      for (size_t o = 0; o < outputs; ++o) {
        const int64_t first = stored_index(r, static_cast<int64_t>((g * outputs + o) * depth));
        problem.params.push_back(r.grid.of(static_cast<size_t>(first)));
      }
      const std::vector<int32_t> found = round_to_nearest_plane(problem, r.inputs->factors[g]);
      codes.insert(codes.end(), found.begin(), found.end());
    }
    r.codes = context_.graph().settled(ir::Tensor::from<int32_t>({static_cast<int64_t>(codes.size())}, codes));
  }

  void set_weights(const RoundedLayer& r) {
    const std::span<const int32_t> codes = r.codes.data<int32_t>();
    std::vector<int32_t> stored(codes.size());
    for (size_t i = 0; i < stored.size(); ++i)
      stored[static_cast<size_t>(stored_index(r, static_cast<int64_t>(i)))] = codes[i];
    set_codes(r.layer.weight, r.grid, stored);
  }

  /// Stores new codes for the constant: its integers, or the floats that its pair converts to these integers.
  const ir::Tensor& set_codes(ir::ValueId constant, const Grid& grid, const std::vector<int32_t>& codes) {
    plan::QuantSlot& slot = context_.plan.slot(constant);
    if (slot.codes) {
      ir::Tensor stored = context_.graph().settled(plan::store_codes(codes, slot.stage.spec.type, slot.codes->dims()));
      changed_ |= !stored.same_as(*slot.codes);
      return slot.codes.emplace(std::move(stored));
    }
    std::vector<float> values(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const numeric::QuantParams& own = grid.of(i);
      values[i] = static_cast<float>(codes[i] - own.zero_point) * own.scale;
    }
    changed_ = true;
    const ir::Shape& dims = context_.graph().value(constant).constant->dims();
    return context_.plan.replaced_constants[constant] =
               context_.graph().settled(ir::store_floats(values, ElementType::kFloat, dims));
  }

  /// Each layer sees what the quantized layers before it, their biases corrected, feed it.
  Status correct_biases() {
    QQ_TRY(ir::Model quantized, exec::simulate(context_.model, context_.plan));
    std::vector<RoundedLayer*> biased;
    std::vector<std::vector<ir::ValueId>> starts;
    for (RoundedLayer& r : layers_) {
      const ir::ValueId bias = r.layer.exact.bias;
      const ir::Tensor* exact = bias.valid() ? ir::stored_floats(original_.graph, bias) : nullptr;
      const bool is_fixed = exact == nullptr || !grid_of(r.layer.bias, *exact);
      if (r.layer.beta != 1 || r.inputs->rows < kFewestRows || is_fixed) continue;
      biased.push_back(&r);
      starts.push_back({quantized.graph.node(r.layer.node).input(0)});
    }
    ir::TensorStore store;
    const exec::Environment& environment = context_.environment;
    if (environment.has_memory_ceiling()) QQ_RETURN_IF_ERROR(store.set_limit(environment.memory_left() / 4));
    calib::LayerWalk walk({quantized, environment, samples_, samples_.size()}, std::move(starts), store);
    for (size_t k = 0; k < biased.size(); ++k) {
      const RoundedLayer& r = *biased[k];
      std::vector<double> means;
      const auto add = [&](size_t sample, const std::vector<ir::Tensor>& values) -> Status {
        QQ_TRY(const std::vector<float> rows, r.rows.read(values[0], rows_per_sample(r), {}));
        set_mean(rows, r, sample, samples_.size(), means);
        return Status();
      };
      QQ_RETURN_IF_ERROR(walk.advance(add));
      const ir::Tensor* stored = correct_bias_of(r, means);
      if (stored == nullptr) continue;
      const ir::Node& node = quantized.graph.node(r.layer.node);
      QQ_RETURN_IF_ERROR(finetune::store_constant(quantized, node.input(2), *stored));
      QQ_RETURN_IF_ERROR(interruption(samples_.size() + k * samples_.size() / biased.size()));
    }
    return Status();
  }

  /// Corrects the bias by the lasting error of the quantized layer's mean result. `means` are the means of its input
  /// rows, like RoundingInputs::means. Returns the stored bias, or null if it is unchanged.
  const ir::Tensor* correct_bias_of(const RoundedLayer& r, const std::vector<double>& means) {
    const ir::Tensor* exact = ir::stored_floats(original_.graph, r.layer.exact.bias);
    const Grid grid = *grid_of(r.layer.bias, *exact);
    const int64_t depth = r.rows.depth(), outputs = r.rows.outputs(), count = r.rows.groups() * outputs;
    if (exact->size() != count || means.size() != r.inputs->means.size()) return nullptr;
    std::vector<float> bias = ir::float_values(*exact).value();
    const std::vector<float> weights = weights_of(r);
    const std::span<const int32_t> codes = r.codes.data<int32_t>();
    std::vector<double> lacks(samples_.size());
    MeanErrors errors;
    for (int64_t o = 0; o < count; ++o) {
      const numeric::QuantParams& own = r.grid.of(static_cast<size_t>(stored_index(r, o * depth)));
      for (size_t sample = 0; sample < lacks.size(); ++sample) {
        const int64_t first = (static_cast<int64_t>(sample) * r.rows.groups() + o / outputs) * depth;
        lacks[sample] = 0;
        for (int64_t k = 0; k < depth; ++k) {
          const auto at = static_cast<size_t>(o * depth + k), input = static_cast<size_t>(first + k);
          lacks[sample] +=
              static_cast<double>(weights[at]) * r.inputs->means[input] -
              static_cast<double>(codes[at] - own.zero_point) * static_cast<double>(own.scale) * means[input];
        }
      }
      errors.add(lacks);
    }
    const std::vector<double> lasting = errors.lasting();
    if (!numeric::all_finite(lasting)) return nullptr;
    for (size_t o = 0; o < bias.size(); ++o) bias[o] += static_cast<float>(lasting[o]);
    return &set_codes(r.layer.bias, grid, numeric::encode(bias, grid.split, grid.params, grid.limits));
  }

  pass::PlanContext& context_;
  const ir::Model& original_;
  calib::SpreadSamples samples_;  ///< not those that results are judged on
  std::vector<RoundedLayer> layers_;
  bool changed_ = false;
};

}  // namespace

Result<Changed> compensate_rounding(pass::PlanContext& context) {
  if (context.source.data == nullptr || context.source.data->size() == 0) {
    context.diagnostics.add("rounding-not-compensated", "quarkq.rounding", "it needs the calibration samples");
    return Changed::kNo;
  }
  return Compensation(context, context.float_model != nullptr ? *context.float_model : context.model).run();
}

}  // namespace quarkq::planning
