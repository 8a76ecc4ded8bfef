// SPDX-License-Identifier: MIT
// One unit of the finetuning: its data, its variables, the verdict, its codes in plan and quantized model.
#include "ir/constants.h"
#include "ir/dump.h"
#include "plan/constant_codes.h"
#include "planning/tune/finetuner.h"

namespace quarkq::planning::finetune {
namespace {

int64_t channels_of(const Layer& layer, const ir::Node& node, const ir::Shape& weights) {
  switch (layer.kind) {
    case Layer::Kind::kConv:
    case Layer::Kind::kInstanceNorm:
    case Layer::Kind::kLayerNorm: return weights[0];
    case Layer::Kind::kConvTranspose: return weights[1] * node.int_or("group", 1);
    case Layer::Kind::kProduct: return weights[layer.transposed ? 0 : 1];
  }
  return 0;
}

std::vector<float> floats_of(const ir::Tensor& tensor) { return ir::float_values(tensor).value(); }

}  // namespace

/// A unit whose values do not fit is walked to its end all the same: later ones need what comes after it.
Status Finetuner::collect(const Unit& unit, LayerData& data) {
  Status unusable;
  const auto note = [&](Status status) {
    if (status.code() != Code::kUnsupported) return status;
    unusable = std::move(status);
    return Status();
  };
  const auto make_room = [&] { return memory_.make_room(data.sample_bytes(), unit.inner_bytes, store_); };
  const calib::LayerWalk::Sink add_input = [&](size_t, const auto& values) -> Status {
    beat();
    if (!unusable.ok()) return Status();
    QQ_RETURN_IF_ERROR(note(data.add_input(values[0])));
    return make_room();
  };
  const calib::LayerWalk::Sink add_target = [&](size_t, const auto& values) -> Status {
    beat();
    if (!unusable.ok()) return Status();
    QQ_RETURN_IF_ERROR(note(data.add_target(values[0])));
    QQ_RETURN_IF_ERROR(make_room());
    return values.size() > 1 && unusable.ok() ? note(data.add_float_input(values[1])) : Status();
  };
  QQ_RETURN_IF_ERROR(quantized_walk_->advance(add_input));
  QQ_RETURN_IF_ERROR(float_walk_->advance(add_target));
  return unusable;
}

/// Both walks past the next unit.
Status Finetuner::skip_unit() {
  const calib::LayerWalk::Sink only_beat = [this](size_t, const auto&) {
    beat();
    return Status();
  };
  const calib::LayerWalk::Sink& sink = claim_ ? only_beat : calib::LayerWalk::Sink();
  QQ_RETURN_IF_ERROR(quantized_walk_->advance(sink));
  return float_walk_->advance(sink);
}

/// The tape of a block has its quantizers itself.
std::optional<OutputGrid> Finetuner::output_grid(const Unit& unit) const {
  const plan::QuantSlot* slot = unit.is_block() ? nullptr : context_.plan.find(unit.end);
  if (!options_.output_qdq || slot == nullptr || slot->state == plan::SlotState::kAbsorbed) return {};
  const plan::Stage& stage = slot->stage;
  if (stage.kind != plan::StageKind::kPair || !is_integer(stage.spec.type)) return {};
  const plan::ParamList& params = context_.plan.params[stage.params];
  if (params.size() != 1) return {};
  return OutputGrid{params[0], numeric::integer_range(stage.spec.type, numeric::RangeKind::kFull)};
}

/// Weights and bias as the layer reads them in the quantized model.
Result<LayerValues> Finetuner::stored_values(const Layer& layer) const {
  const ir::Node& node = quantized_.graph.node(layer.node);
  LayerValues values;
  QQ_TRY(const ConstantChain weight, ConstantChain::to(quantized_, node.input(1)));
  QQ_TRY(const ir::Tensor now, weight.run());
  QQ_TRY(values.weights, ir::float_values(now));
  if (!layer.bias.valid()) return values;
  QQ_TRY(const ConstantChain chain, ConstantChain::to(quantized_, node.input(2)));
  QQ_TRY(const ir::Tensor tensor, chain.run());
  QQ_TRY(values.bias, ir::float_values(tensor));
  const int64_t channels = channels_of(layer, node, layer.weight_dims);
  if (static_cast<int64_t>(values.bias.size()) != channels) return unsupported("its bias is not one value per channel");
  return values;
}

Result<std::unique_ptr<Variables>> Finetuner::make_variables(const Layer& layer, const std::vector<float>& bias,
                                                             double rate) const {
  const ir::Tensor& exact = *ir::stored_floats(exact_.graph, layer.exact.weight);
  const std::optional<Grid> grid = stored_grid(context_.plan, context_.settings, layer.weight);
  if (options_.algorithm == config::FinetuneAlgorithm::kAdaRound) {
    if (!grid) return unsupported("AdaRound is for weights that are stored as integers");
    return make_adaround(floats_of(exact), *grid, options_, rate);
  }
  AdaQuantStart start;
  start.weights = floats_of(exact);
  start.grid = grid;
  if (!grid) {
    if (context_.plan.slot(layer.weight).stage.kind == plan::StageKind::kStored)
      return unsupported("its weights are stored in a type that is not learned");
    const ir::Shape dims = exact.dims();
    const ElementType type = exact.type();
    QQ_TRY(const ConstantChain weight, ConstantChain::to(quantized_, quantized_.graph.node(layer.node).input(1)));
    start.quantizer = [weight, dims, type](const std::vector<float>& values, std::vector<float>& quantized) -> Status {
      QQ_TRY(const ir::Tensor read, weight.run(ir::store_floats(values, type, dims)));
      QQ_TRY(quantized, ir::float_values(read));
      return Status();
    };
  }
  if (options_.update_bias && layer.bias.valid() && ir::stored_floats(exact_.graph, layer.exact.bias) != nullptr) {
    start.bias_grid = stored_grid(context_.plan, context_.settings, layer.bias);
    if (start.bias_grid) start.bias = floats_of(*ir::stored_floats(exact_.graph, layer.exact.bias));
    if (start.bias.size() != bias.size()) start.bias.clear();
  }
  return make_adaquant(std::move(start), rate);
}

Result<UnitVariables> Finetuner::make_variables(const Unit& unit, const std::vector<LayerValues>& stored,
                                                double rate) const {
  UnitVariables variables;
  for (size_t i = 0; i < unit.layers.size(); ++i) {
    QQ_TRY(variables.emplace_back(), make_variables(*unit.layers[i], stored[i].bias, rate));
  }
  return variables;
}

LearnedConstants Finetuner::learned(const Layer& layer, const Variables& variables) const {
  const ir::Tensor& exact = *ir::stored_floats(exact_.graph, layer.exact.weight);
  const plan::QuantSlot& slot = context_.plan.slot(layer.weight);
  const std::vector<int32_t> codes = variables.weight_codes(), bias_codes = variables.bias_codes();
  LearnedConstants constants;
  constants.weight = codes.empty() ? ir::store_floats(variables.weight_values(), exact.type(), exact.dims())
                                   : plan::store_codes(codes, slot.stage.spec.type, exact.dims());
  if (!bias_codes.empty()) {
    const plan::QuantSlot& own = context_.plan.slot(layer.bias);
    constants.bias = plan::store_codes(bias_codes, own.stage.spec.type, own.codes->dims());
  }
  return constants;
}

Result<SavedUnit> Finetuner::train(size_t index, const LayerData& data) {
  const Unit& unit = units_[index];
  std::vector<LayerValues> stored;
  for (const Layer* layer : unit.layers) {
    QQ_TRY(stored.emplace_back(), stored_values(*layer));
  }
  const bool holds_out = context_.settings.quirk(config::Quirk::kJudgeTunedLayers);
  const Partition parts = partition(data.size(), holds_out);
  const Trainee trainee{unit, quantized_, stored, output_grid(unit), data};
  UnitTrainer trainer(trainee, options_);
  SavedUnit done;
  QQ_TRY(done.error_before, trainer.error(stored, parts.judging));
  double rate = options_.learning_rate;
  if (options_.lr_adjust) {
    QQ_TRY(const double error, trainer.error(stored, parts.training));
    if (error > options_.lr_adjust->first) rate = options_.lr_adjust->second;
  }
  QQ_TRY(const UnitVariables variables, make_variables(unit, stored, rate));
  constexpr size_t kReportEvery = 16;
  size_t steps = 0;
  const auto stop = [&] {
    beat();
    return steps++ % kReportEvery == 0 && !reports();
  };
  QQ_RETURN_IF_ERROR(trainer.train(variables, parts.training, options_.seed + static_cast<uint32_t>(index), stop));
  std::vector<LayerValues> after = stored;
  for (size_t i = 0; i < variables.size(); ++i)
    QQ_RETURN_IF_ERROR(variables[i]->final(after[i].weights, after[i].bias));
  QQ_TRY(done.error_after, trainer.error(after, parts.judging));
  done.kept = !holds_out || done.error_after < done.error_before;
  if (!done.kept) return done;
  for (size_t i = 0; i < variables.size(); ++i) done.layers.push_back(learned(*unit.layers[i], *variables[i]));
  QQ_RETURN_IF_ERROR(select(unit, done));
  return done;
}

/// Whether what was read from disk can take the place of what is stored now.
bool Finetuner::fits(const Unit& unit, const SavedUnit& done) const {
  if (done.layers.size() != (done.kept ? unit.layers.size() : 0)) return false;
  for (size_t i = 0; i < done.layers.size(); ++i)
    if (!fits(*unit.layers[i], done.layers[i])) return false;
  return true;
}

bool Finetuner::fits(const Layer& layer, const LearnedConstants& done) const {
  const plan::QuantSlot& weight = context_.plan.slot(layer.weight);
  const ir::Tensor& exact = *ir::stored_floats(exact_.graph, layer.exact.weight);
  const ElementType type = is_stored_integer(weight) ? weight.stage.spec.type : exact.type();
  if (done.weight.type() != type || done.weight.dims() != exact.dims()) return false;
  if (!done.bias.is_defined()) return true;
  const plan::QuantSlot* bias = context_.plan.find(layer.bias);
  return bias != nullptr && is_stored_integer(*bias) && done.bias.type() == bias->stage.spec.type &&
         done.bias.dims() == bias->codes->dims();
}

Status Finetuner::put_into(ir::Model& model, const Unit& unit, const SavedUnit& done) {
  for (size_t i = 0; i < done.layers.size(); ++i) {
    const ir::Node& node = model.graph.node(unit.layers[i]->node);
    const LearnedConstants& learned = done.layers[i];
    QQ_RETURN_IF_ERROR(store_constant(model, node.input(1), learned.weight));
    if (learned.bias.is_defined()) QQ_RETURN_IF_ERROR(store_constant(model, node.input(2), learned.bias));
  }
  return Status();
}

/// SelectiveUpdate: the whole model must improve, too.
Status Finetuner::select(const Unit& unit, SavedUnit& done) {
  if (!options_.selective_update) return Status();
  ir::Model candidate = quantized_;  // shares the weights
  QQ_RETURN_IF_ERROR(put_into(candidate, unit, done));
  QQ_TRY(const double distance, model_distance(compared(candidate), samples_, options_));
  if (distance < distance_) {
    distance_ = distance;
  } else {
    done.kept = false;
    done.layers.clear();
  }
  return Status();
}

void Finetuner::store_codes(ir::ValueId value, const ir::Tensor& codes) {
  std::optional<ir::Tensor>& place = context_.plan.slot(value).codes;
  before_.emplace_back(value, place);
  place = codes;
  key_.add(ir::tensor_text(codes));
}

Status Finetuner::write_back(const Unit& unit, const SavedUnit& done) {
  if (!options_.parallel) QQ_RETURN_IF_ERROR(put_into(quantized_, unit, done));
  for (size_t i = 0; i < done.layers.size(); ++i) {
    store_codes(unit.layers[i]->weight, done.layers[i].weight);
    if (done.layers[i].bias.is_defined()) store_codes(unit.layers[i]->bias, done.layers[i].bias);
  }
  changed_ = true;
  return Status();
}

}  // namespace quarkq::planning::finetune
