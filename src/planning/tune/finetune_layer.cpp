// SPDX-License-Identifier: MIT
// One layer of the finetuning: its data, its variables, the verdict, its codes in plan and quantized model.
#include "ir/dump.h"
#include "ir/stored_floats.h"
#include "plan/constant_codes.h"
#include "planning/tune/finetuner.h"
#include "planning/tune/model_distance.h"

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

Status Finetuner::collect(LayerData& data, bool is_done) {
  const LayerWalk::Sink add_input = [&](size_t, const auto& values) -> Status {
    QQ_RETURN_IF_ERROR(data.add_input(values[0]));
    return memory_.make_room(data.sample_bytes(), store_);
  };
  const LayerWalk::Sink add_target = [&](size_t, const auto& values) -> Status {
    QQ_RETURN_IF_ERROR(data.add_target(values[0]));
    QQ_RETURN_IF_ERROR(memory_.make_room(data.sample_bytes(), store_));
    return values.size() > 1 ? data.add_float_input(values[1]) : Status();
  };
  QQ_RETURN_IF_ERROR(quantized_walk_->advance(is_done ? LayerWalk::Sink() : add_input));
  return float_walk_->advance(is_done ? LayerWalk::Sink() : add_target);
}

std::optional<OutputGrid> Finetuner::output_grid(const Layer& layer) const {
  const plan::QuantSlot* slot = context_.plan.find(layer.end);
  if (!options_.output_qdq || slot == nullptr || slot->state == plan::SlotState::kAbsorbed) return {};
  const plan::Stage& stage = slot->stage;
  if (stage.kind != plan::StageKind::kPair || !is_integer(stage.spec.type)) return {};
  const plan::ParamList& params = context_.plan.params[stage.params];
  if (params.size() != 1) return {};
  return OutputGrid{params[0], numeric::integer_range(stage.spec.type, numeric::RangeKind::kFull)};
}

Result<std::unique_ptr<Variables>> Finetuner::make_variables(const Layer& layer, const ConstantChain& weight,
                                                             const std::vector<float>& bias, double rate) const {
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

Result<SavedLayer> Finetuner::train(size_t index, const LayerData& data) {
  const Layer& layer = layers_[index];
  const ir::Node& node = quantized_.graph.node(layer.node);
  const ir::Tensor& exact = *ir::stored_floats(exact_.graph, layer.exact.weight);
  QQ_TRY(const ConstantChain weight, ConstantChain::to(quantized_, node.input(1)));
  QQ_TRY(const ir::Tensor now, weight.run());
  QQ_TRY(const std::vector<float> weights, ir::float_values(now));
  std::vector<float> bias;
  if (layer.bias.valid()) {
    QQ_TRY(const ConstantChain chain, ConstantChain::to(quantized_, node.input(2)));
    QQ_TRY(const ir::Tensor tensor, chain.run());
    QQ_TRY(bias, ir::float_values(tensor));
    const int64_t channels = channels_of(layer, node, exact.dims());
    if (static_cast<int64_t>(bias.size()) != channels) return unsupported("its bias is not one value per channel");
  }
  const bool holds_out = context_.settings.quirk(config::Quirk::kJudgeTunedLayers);
  const Partition parts = partition(data.size(), holds_out);
  const Trainee trainee{layer, node, exact.dims(), bias, output_grid(layer), data};
  LayerTrainer trainer(trainee, options_);
  SavedLayer done;
  QQ_TRY(done.error_before, trainer.error(weights, bias, parts.judging));
  double rate = options_.learning_rate;
  if (options_.lr_adjust) {
    QQ_TRY(const double error, trainer.error(weights, bias, parts.training));
    if (error > options_.lr_adjust->first) rate = options_.lr_adjust->second;
  }
  QQ_TRY(const std::unique_ptr<Variables> variables, make_variables(layer, weight, bias, rate));
  const auto stop = [&] { return !reports(index); };
  QQ_RETURN_IF_ERROR(trainer.train(*variables, parts.training, options_.seed + static_cast<uint32_t>(index), stop));
  std::vector<float> learned = weights, learned_bias = bias;
  QQ_RETURN_IF_ERROR(variables->final(learned, learned_bias));
  QQ_TRY(done.error_after, trainer.error(learned, learned_bias, parts.judging));
  done.kept = !holds_out || done.error_after < done.error_before;
  if (done.kept) {
    const plan::QuantSlot& slot = context_.plan.slot(layer.weight);
    const std::vector<int32_t> codes = variables->weight_codes(), bias_codes = variables->bias_codes();
    done.weight = codes.empty() ? ir::store_floats(variables->weight_values(), exact.type(), exact.dims())
                                : plan::store_codes(codes, slot.stage.spec.type, exact.dims());
    if (!bias_codes.empty()) {
      const plan::QuantSlot& own = context_.plan.slot(layer.bias);
      done.bias = plan::store_codes(bias_codes, own.stage.spec.type, own.codes->dims());
    }
    QQ_RETURN_IF_ERROR(select(layer, done));
  }
  return done;
}

/// Whether what was read from disk can take the place of what is stored now.
bool Finetuner::fits(const Layer& layer, const SavedLayer& done) const {
  if (!done.kept) return !done.weight.is_defined() && !done.bias.is_defined();
  const plan::QuantSlot& weight = context_.plan.slot(layer.weight);
  const ir::Tensor& exact = *ir::stored_floats(exact_.graph, layer.exact.weight);
  const ElementType type = is_stored_integer(weight) ? weight.stage.spec.type : exact.type();
  if (done.weight.type() != type || done.weight.dims() != exact.dims()) return false;
  if (!done.bias.is_defined()) return true;
  const plan::QuantSlot* bias = context_.plan.find(layer.bias);
  return bias != nullptr && is_stored_integer(*bias) && done.bias.type() == bias->stage.spec.type &&
         done.bias.dims() == bias->codes->dims();
}

Status Finetuner::put_into(ir::Model& model, const Layer& layer, const SavedLayer& done) {
  const ir::Node& node = model.graph.node(layer.node);
  QQ_RETURN_IF_ERROR(store_constant(model, node.input(1), done.weight));
  return done.bias.is_defined() ? store_constant(model, node.input(2), done.bias) : Status();
}

/// SelectiveUpdate: the whole model must improve, too.
Status Finetuner::select(const Layer& layer, SavedLayer& done) {
  if (!options_.selective_update) return Status();
  ir::Model candidate = quantized_;  // shares the weights
  QQ_RETURN_IF_ERROR(put_into(candidate, layer, done));
  QQ_TRY(const double distance, model_distance(exact_, candidate, *context_.source.data, samples_, options_));
  if (distance < distance_) {
    distance_ = distance;
  } else {
    done.kept = false;
    done.weight = done.bias = {};
  }
  return Status();
}

Status Finetuner::write_back(const Layer& layer, const SavedLayer& done) {
  if (!options_.parallel) QQ_RETURN_IF_ERROR(put_into(quantized_, layer, done));
  context_.plan.slot(layer.weight).codes = done.weight;
  key_.add(ir::tensor_text(done.weight));
  if (done.bias.is_defined()) {
    context_.plan.slot(layer.bias).codes = done.bias;
    key_.add(ir::tensor_text(done.bias));
  }
  changed_ = true;
  return Status();
}

}  // namespace quarkq::planning::finetune
