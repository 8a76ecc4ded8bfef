// SPDX-License-Identifier: MIT
// Bias correction (ref:tuning#bias-correction): each layer's bias takes up the mean difference between the float layer
// and the quantized one on what the quantized model feeds it. All layers are measured first, then all biases change.
// Samples stream.
#include "planning/tune/correct_bias.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "exec/session.h"
#include "exec/simulate.h"
#include "ir/constants.h"
#include "ir/parts.h"
#include "ir/quantizing_ops.h"
#include "numeric/real_numbers.h"
#include "plan/constant_codes.h"
#include "plan/lowering/lower.h"
#include "planning/passes.h"

namespace quarkq::planning {

namespace {

struct ChainEnd {
  ir::ValueId value;
  int activations = 0;  ///< Relu and Clip nodes on the way
};

bool is_activation(const ir::Node& node) { return node.op == "Relu" || node.op == "Clip"; }

bool is_stage(const ir::Node& node) {
  return node.op == plan::kFakeQuantize || ir::is_q(node) || ir::is_dq(node) || node.domain == ir::kQuarkDomain;
}

/// A pair that is written as QuantizeLinear and DequantizeLinear.
bool is_standard_stage(const ir::Node& node) {
  if (node.op == plan::kFakeQuantize) return node.string_or(plan::kQuantizeOp, "") == "QuantizeLinear";
  return ir::is_standard_q(node) || ir::is_standard_dq(node);
}

/// A graph's walks, with the place of each node in a list.
class BiasWalk {
 public:
  BiasWalk(const ir::Graph& graph, const std::vector<ir::NodeId>& order)
      : graph_(graph), place_(graph.node_count(), 0) {
    for (size_t i = 0; i < order.size(); ++i) place_[static_cast<size_t>(order[i].index)] = i + 1;
  }

  /// Returns the end of the chain from the node's result on, while the first reader is an activation or a standard
  /// stage.
  ChainEnd end_of(const ir::Node& node) const {
    ChainEnd end{node.output(0)};
    for (const ir::Node* next = first_reader(end.value); next != nullptr; next = first_reader(end.value)) {
      if ((!is_activation(*next) && !is_standard_stage(*next)) || next->input(0) != end.value) break;
      end.activations += is_activation(*next) ? 1 : 0;
      end.value = next->output(0);
    }
    return end;
  }

 private:
  /// Stages have no place in the list and come first.
  const ir::Node* first_reader(ir::ValueId value) const {
    const ir::Node* first = nullptr;
    for (const ir::Use& use : graph_.value(value).uses) {
      if (use.is_capture) continue;
      const ir::Node& reader = graph_.node(use.node);
      if (first == nullptr || place(reader) < place(*first)) first = &reader;
    }
    return first;
  }
  size_t place(const ir::Node& node) const { return place_[static_cast<size_t>(node.id.index)]; }

  const ir::Graph& graph_;
  std::vector<size_t> place_;
};

bool is_private_constant(const ir::Graph& graph, ir::ValueId id) {
  return id.valid() && graph.value(id).is_initializer() && !graph.value(id).is_input && graph.sole_use(id).has_value();
}

/// Fills in how the bias is stored. Returns why it cannot be changed, or an empty string.
std::string find_storage(const ir::Graph& graph, ir::ValueId bias, BiasLayer& layer) {
  const ir::Node* source = graph.producer(bias);
  layer.is_coded = source != nullptr && ir::is_dq(*source) && graph.value(source->input(0)).is_initializer();
  // A float bias, maybe before a stage that rounds it when the model runs.
  while (source != nullptr && is_stage(*source)) {
    if (!graph.sole_use(bias)) return "its bias is shared";
    bias = source->input(0);
    source = graph.producer(bias);
  }
  if (!is_private_constant(graph, bias)) return "its bias is shared or not stored";
  layer.stored = *graph.value(bias).constant;
  const ElementType type = layer.stored.type();
  if (layer.is_coded) return is_integer(type) ? "" : "its bias is not stored as integers";
  return type == ElementType::kFloat || type == ElementType::kFloat16 ? "" : "its bias is not stored as floats";
}

bool rest_is_constant(const ir::Graph& graph, const ir::Node& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid() && graph.constant(node.inputs[i]) == nullptr) return false;
  }
  return true;
}

}  // namespace

Result<std::vector<BiasLayer>> bias_layers(const pass::PlanContext& context, const ir::Graph& simulated) {
  const ir::Graph& original = context.graph();
  QQ_TRY(const std::vector<ir::NodeId> order, plan::written_order(context.graph(), context.plan));
  const BiasWalk walk(simulated, order), float_walk(original, original.order());
  std::vector<BiasLayer> layers;
  for (const ir::NodeId id : order) {
    const ir::Node& node = simulated.node(id);
    if ((!node.is("Conv") && !node.is("Gemm")) || !node.input(2).valid()) continue;
    const ir::Node& float_node = original.node(id);
    const ChainEnd end = walk.end_of(node), float_end = float_walk.end_of(float_node);
    BiasLayer layer{id,
                    original.label(id),
                    node.input(0),
                    end.value,
                    float_node.input(0),
                    float_end.value,
                    float_node.input(2),
                    {},
                    false};
    std::string reason = find_storage(simulated, node.input(2), layer);
    if (reason.empty() && end.activations != float_end.activations)
      reason = "other operators follow it in the float model";
    if (reason.empty() && !rest_is_constant(original, float_node)) reason = "its weight is computed";
    if (reason.empty()) {
      layers.push_back(std::move(layer));
    } else {
      context.diagnostics.add("bias-skipped", layer.label, reason);
    }
  }
  return layers;
}

namespace {

/// Mean over samples and positions of (float - quantized), per channel.
struct MeanError {
  std::vector<double> sum;
  double count = 0;    ///< values per channel
  std::string reason;  ///< why it cannot be measured

  std::vector<double> mean() const {
    std::vector<double> result = sum;
    for (double& value : result) value /= count;
    return result;
  }
};

void add(MeanError& error, const ir::Tensor& exact, const ir::Tensor& found) {
  if (exact.dims() != found.dims() || (exact.rank() != 2 && exact.rank() != 4)) {
    error.reason = cat("only results of 2 and 4 dimensions are compared, float ", shape_text(exact.dims()),
                       ", quantized ", shape_text(found.dims()));
    return;
  }
  const auto batch = static_cast<size_t>(exact.dims()[0]), channels = static_cast<size_t>(exact.dims()[1]);
  if (error.sum.empty()) error.sum.assign(channels, 0.0);
  if (error.sum.size() != channels || channels == 0) {
    error.reason = "its number of channels changes";
    return;
  }
  const std::vector<float> a = ir::float_values(exact).value(), b = ir::float_values(found).value();
  const size_t inner = a.size() / std::max<size_t>(1, batch * channels);
  for (size_t i = 0; i < a.size(); ++i)
    error.sum[i / inner % channels] += static_cast<double>(a[i]) - static_cast<double>(b[i]);
  error.count += static_cast<double>(batch * inner);
}

bool is_float(const ir::Tensor& tensor) {
  return tensor.type() == ElementType::kFloat || tensor.type() == ElementType::kFloat16;
}

/// Runs all samples through the planned model, and what each layer read through the float layer.
class Measurement {
 public:
  Measurement(const pass::PlanContext& context, const ir::Model& simulated, const std::vector<BiasLayer>& layers)
      : context_(context), layers_(layers), errors_(layers.size()) {
    exec::SessionOptions options;
    for (const BiasLayer& layer : layers) {
      options.fetches.push_back(layer.start);
      options.fetches.push_back(layer.end);
      parts_.push_back(
          std::make_unique<ir::Part>(ir::part_of(context.graph(), {layer.float_start}, {layer.float_end})));
      exec::SessionOptions part;
      part.feeds = parts_.back()->feeds;
      part.fetches = parts_.back()->fetches;
      sessions_.push_back(std::make_unique<exec::Session>(parts_.back()->graph, context.model.opsets,
                                                          context.environment, std::move(part)));
    }
    whole_ = std::make_unique<exec::Session>(simulated, context.environment, std::move(options));
  }

  Result<std::vector<MeanError>> run() {
    const size_t total = context_.source.data->size();
    for (size_t i = 0; i < total; ++i) {
      QQ_TRY(const calib::Sample sample, context_.source.data->read(i));
      QQ_TRY(const std::vector<ir::Tensor>* const values,
             whole_->run(sample.inputs).context(cat("bias correction, sample ", sample.name)));
      for (size_t layer = 0; layer < layers_.size(); ++layer)
        QQ_RETURN_IF_ERROR(measure(layer, (*values)[2 * layer], (*values)[2 * layer + 1]));
      if (context_.progress && !context_.progress(i + 1, total)) return Status(Code::kInterrupted, "interrupted");
    }
    return std::move(errors_);
  }

 private:
  Status measure(size_t layer, const ir::Tensor& start, const ir::Tensor& end) {
    MeanError& error = errors_[layer];
    if (!error.reason.empty()) return Status();
    if (!is_float(start) || !is_float(end)) {
      error.reason = "its values are not floats";
      return Status();
    }
    QQ_TRY(const std::vector<ir::Tensor>* const exact,
           sessions_[layer]->run({&start, 1}).context(cat("bias correction, float ", layers_[layer].label)));
    add(error, exact->front(), end);
    return Status();
  }

  const pass::PlanContext& context_;
  const std::vector<BiasLayer>& layers_;
  std::vector<MeanError> errors_;
  std::vector<std::unique_ptr<ir::Part>> parts_;  ///< the float layers
  std::vector<std::unique_ptr<exec::Session>> sessions_;
  std::unique_ptr<exec::Session> whole_;
};

/// `bias` plus the correction; a large one is shrunk (ref:tuning#bias-correction).
std::vector<double> corrected(const std::vector<double>& bias, const std::vector<double>& error) {
  double largest_bias = 0, largest_error = 0;
  for (const double value : bias) largest_bias = std::max(largest_bias, std::abs(value));
  for (const double value : error) largest_error = std::max(largest_error, std::abs(value));
  const double limit = largest_bias / 256;
  const double factor = largest_error > limit && largest_error > 0.1 ? limit / largest_error : 1.0;
  std::vector<double> result = bias;
  for (size_t i = 0; i < result.size(); ++i) result[i] += factor * error[i];
  return result;
}

/// How a quantized bias is written back.
enum class Rewrite {
  kStored,  ///< with the stored scale, zero point and type
  kWide,    ///< As int32 without zero point, like the reference.
  kNone,    ///< not at all, as the reference does for methods it does not think of
};

/// The one difference of compat mode. The reference's power-of-two branch writes codes for a scale that it does not
/// store; that is not reproduced.
Rewrite rewrite_for(const config::Settings& settings) {
  using Method = config::CalibrateMethod;
  if (settings.quirk(config::Quirk::kKeepBiasType)) return Rewrite::kStored;
  switch (settings.ranges.calibrate_method) {
    case Method::kNonOverflow:
    case Method::kMinMSE: return Rewrite::kStored;
    case Method::kMinMax:
    case Method::kPercentile: return Rewrite::kWide;
    default: return Rewrite::kNone;
  }
}

class BiasWriter {
 public:
  explicit BiasWriter(pass::PlanContext& context) : plan_(context.plan), rewrite_(rewrite_for(context.settings)) {}

  /// Empty, or why the bias stays.
  std::string write(const BiasLayer& layer, const std::vector<double>& error) {
    if (static_cast<size_t>(layer.stored.size()) != error.size()) return "its bias is not one value per channel";
    if (!numeric::all_finite(error)) return "the mean error of its results is not finite";
    if (layer.is_coded) return write_codes(layer, error);
    const std::vector<float> before = ir::float_values(layer.stored).value();
    const std::vector<double> bias = corrected({before.begin(), before.end()}, error);
    ir::Tensor floats =
        ir::store_floats(std::vector<float>(bias.begin(), bias.end()), layer.stored.type(), layer.stored.dims());
    if (plan::QuantSlot* slot = plan_.find(layer.bias)) {
      slot->codes = std::move(floats);
    } else {
      plan_.replaced_constants[layer.bias] = std::move(floats);
    }
    return "";
  }

 private:
  std::string write_codes(const BiasLayer& layer, const std::vector<double>& error) {
    plan::QuantSlot& slot = plan_.slot(layer.bias);
    plan::Stage& stage = slot.stage;
    plan::ParamList params = plan_.params[stage.params];
    const size_t count = error.size();
    const Result<std::vector<double>> codes = ir::to_double(layer.stored);
    if (!codes.ok()) return "its bias is stored in a type that is not read";
    if (params.size() != 1 && params.size() != count) return "its scales do not fit its bias";
    if (rewrite_ == Rewrite::kNone) return "its calibration method is not one that is corrected";
    const auto at = [&](size_t i) { return params[params.size() == 1 ? 0 : i]; };
    std::vector<double> bias(count);
    for (size_t i = 0; i < count; ++i)
      bias[i] = (codes.value()[i] - at(i).zero_point) * static_cast<double>(at(i).scale);
    bias = corrected(bias, error);
    if (rewrite_ == Rewrite::kWide && stage.spec.type != ElementType::kInt32) {
      stage.spec.type = ElementType::kInt32;
      for (numeric::QuantParams& one : params) one.zero_point = 0;
      stage.params = plan_.params.add(params);
    }
    std::vector<double> integers(count);
    for (size_t i = 0; i < count; ++i)
      integers[i] = std::rint(bias[i] / static_cast<double>(at(i).scale)) + at(i).zero_point;
    slot.codes = plan::store_saturated(integers, stage.spec.type, layer.stored.dims());
    return "";
  }

  plan::QuantPlan& plan_;
  Rewrite rewrite_;
};

}  // namespace

Result<Changed> correct_bias(pass::PlanContext& context) {
  if (context.source.data == nullptr || context.source.data->size() == 0) {
    context.diagnostics.add("bias-correction-left-out", "BiasCorrection", "it needs the calibration samples");
    return Changed::kNo;
  }
  QQ_TRY(const ir::Model simulated, exec::simulate(context.model, context.plan));
  QQ_TRY(const std::vector<BiasLayer> layers, bias_layers(context, simulated.graph));
  if (layers.empty()) return Changed::kNo;
  QQ_TRY(const std::vector<MeanError> errors, Measurement(context, simulated, layers).run());
  BiasWriter writer(context);
  Changed changed = Changed::kNo;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string reason = errors[i].reason.empty() ? writer.write(layers[i], errors[i].mean()) : errors[i].reason;
    if (reason.empty()) {
      changed = Changed::kYes;
    } else {
      context.diagnostics.add("bias-not-corrected", layers[i].label, reason);
    }
  }
  return changed;
}

}  // namespace quarkq::planning
