// SPDX-License-Identifier: MIT
// Sigmoid becomes HardSigmoid in the form that NPUs compute, and the layers around it compensate for the difference.
//
// x Sigmoid(x) becomes g x HardSigmoid(a x) with a slope a and a gain g for each channel, fitted to the float network.
// The layer before writes a x, so that the product is a / g times the wanted one, and the layers that read it divide by
// a / g: no operator is added. Channels that must have one factor (channel_scales.h) share the mean of theirs. A
// Sigmoid that alone reads a layer gets a slope and a shift.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/parallel.h"
#include "base/strings.h"
#include "calib/layer_walk.h"
#include "calib/sample_readers.h"
#include "calib/sample_run.h"
#include "ir/constants.h"
#include "ir/edit.h"
#include "ir/tensor_store.h"
#include "rewrite/hardware/channel_scales.h"
#include "rewrite/hardware/gate_fit.h"
#include "rewrite/passes.h"

namespace quarkq::rewrite {
namespace {

constexpr size_t kSamples = 24;
constexpr size_t kValues = 4096;                       ///< Number of observed values of each channel, over all samples.
constexpr int64_t kMostInMemory = int64_t{256} << 20;  ///< Bytes of the samples' values between two fits.
constexpr float kHardSlope = 1.0f / 6, kHardOffset = 0.5f;

/// A Sigmoid that reads a layer, and the Mul by the Sigmoid's own input if there is one.
struct Gate {
  ir::NodeId sigmoid;
  ir::NodeId product;         ///< Invalid: only the Sigmoid reads the layer.
  ir::ValueId input, result;  ///< `result` is that of the product, otherwise of the Sigmoid.
  size_t batch = 1, channels = 1;

  std::vector<float> values = {}, targets = {};  ///< [channels][observed].
  std::vector<SwishFit> swish = {};              ///< Keyed by channel; empty without a product.
  std::vector<SigmoidFit> plain = {};            ///< Keyed by channel; empty with a product.

  bool is_swish() const { return product.valid(); }
  size_t observed() const { return values.size() / channels; }
  std::span<const float> values_of(size_t c) const { return {values.data() + c * observed(), observed()}; }
  std::span<const float> targets_of(size_t c) const { return {targets.data() + c * observed(), observed()}; }
};

/// Returns the Mul of the Sigmoid's input by its result if nothing else reads either.
ir::NodeId gated_product(const ir::Graph& graph, const ir::Node& sigmoid) {
  const std::optional<ir::Use> use = graph.sole_use(sigmoid.output(0));
  if (!use || use->is_capture || graph.use_count(sigmoid.input(0)) != 2) return {};
  const ir::Node& product = graph.node(use->node);
  const bool multiplies = product.is("Mul") && product.input(use->input == 0 ? 1 : 0) == sigmoid.input(0);
  return multiplies ? product.id : ir::NodeId{};
}

std::optional<Gate> gate_at(const ir::Graph& graph, const ir::Node& sigmoid) {
  const ir::Value& input = graph.value(sigmoid.input(0));
  const ir::Node* layer = graph.producer(input.id);
  if (layer == nullptr || input.is_output || !is_scalable_layer(graph, *layer) || !input.type.is_static()) return {};
  const ir::Shape dims = input.type.shape();
  if (dims.size() < 2 || dims[0] < 1 || dims[1] < 1) return {};
  const ir::NodeId product = gated_product(graph, sigmoid);
  const bool is_alone = graph.use_count(input.id) == 1 && layer->input(2).valid();
  if (!product.valid() && !is_alone) return {};
  const ir::ValueId result = graph.node(product.valid() ? product : sigmoid.id).output(0);
  return Gate{sigmoid.id, product, input.id, result, static_cast<size_t>(dims[0]), static_cast<size_t>(dims[1])};
}

std::vector<Gate> find_gates(const pass::FloatContext& context) {
  const ir::Graph& graph = context.graph();
  std::vector<Gate> gates;
  for (const ir::NodeId id : graph.order()) {
    const ir::Node& node = graph.node(id);
    if (!node.is("Sigmoid") || !context.selection.selects(node)) continue;
    if (std::optional<Gate> gate = gate_at(graph, node)) gates.push_back(std::move(*gate));
  }
  return gates;
}

/// Copies the values at some positions of each channel, the same positions in every run.
class Observer final : public calib::SampleSink {
 public:
  Observer(std::vector<Gate>& gates, size_t samples) : each_(std::max<size_t>(1, kValues / samples)) {
    for (Gate& gate : gates) {
      gate.values.resize(gate.channels * each_ * samples);
      gates_.emplace(gate.input, &gate);
    }
  }

  Status observe(ir::ValueId tensor, uint64_t sample, std::span<const float> values) override {
    Gate& gate = *gates_.at(tensor);
    const size_t planes = gate.batch * gate.channels, row = gate.observed();
    if (values.empty() || values.size() % planes != 0) return unsupported("the gate's shape differs from its type");
    const size_t inner = values.size() / planes, places = gate.batch * inner;
    for (size_t k = 0; k < each_; ++k) {
      const size_t place = place_of(sample, k, places);
      const float* first = values.data() + place / inner * gate.channels * inner + place % inner;
      for (size_t c = 0; c < gate.channels; ++c) gate.values[c * row + sample * each_ + k] = first[c * inner];
    }
    return Status();
  }

 private:
  /// A low-discrepancy sequence over the places.
  static size_t place_of(uint64_t sample, size_t k, size_t places) {
    constexpr double kGoldenRatio = 0.6180339887498949, kSampleStep = 0.37;
    const double turns = (static_cast<double>(k) + 0.5 + kSampleStep * static_cast<double>(sample)) * kGoldenRatio;
    return std::min(places - 1, static_cast<size_t>((turns - std::floor(turns)) * static_cast<double>(places)));
  }

  size_t each_;
  std::map<ir::ValueId, Gate*> gates_;
};

/// Observes the inputs of the gates in the float model.
Status observe(const pass::FloatContext& context, const calib::DataReader& samples, std::vector<Gate>& gates) {
  std::vector<ir::ValueId> inputs;
  inputs.reserve(gates.size());
  for (const Gate& gate : gates) inputs.push_back(gate.input);
  calib::SampleRunOptions options =
      pass::sample_run_options(context.environment, context.settings, inputs, context.progress);
  options.order = calib::ValueOrder::kOnnx;
  calib::SampleRun run(context.model, samples, context.environment, std::move(options));
  std::vector<Observer> observers(run.worthwhile_sinks(), Observer(gates, samples.size()));
  std::vector<calib::SampleSink*> sinks;
  sinks.reserve(observers.size());
  for (Observer& observer : observers) sinks.push_back(&observer);
  return run.pass(sinks);
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

void set_targets(Gate& gate) {
  gate.targets = gate.values;
  for (float& value : gate.targets) value = gate.is_swish() ? value * sigmoid(value) : sigmoid(value);
}

/// Turns a Sigmoid into the form that the hardware computes.
void make_hard(ir::Node& node) {
  node.op = "HardSigmoid";
  node.attributes.clear();
  node.set("alpha", kHardSlope);
  node.set("beta", kHardOffset);
}

/// The network with HardSigmoid, whose slopes, shifts and gains are constants that can change during a walk.
class FittedNetwork {
 public:
  FittedNetwork(const ir::Model& original, const std::vector<Gate>& gates) : model_(original) {
    for (const Gate& gate : gates) add(gate);
  }

  const ir::Model& model() const { return model_; }

  void set(const Gate& gate) {
    const Constants& own = constants_.at(gate.input);
    std::vector<float> slopes, others;
    for (size_t c = 0; c < gate.channels; ++c) {
      slopes.push_back(static_cast<float>(gate.is_swish() ? gate.swish[c].slope : gate.plain[c].slope));
      others.push_back(static_cast<float>(gate.is_swish() ? gate.swish[c].gain : gate.plain[c].shift));
    }
    store(own.slope, slopes);
    store(own.gain_or_shift, others);
  }

 private:
  struct Constants {
    ir::ValueId slope, gain_or_shift;
  };

  ir::ValueId add_constant(const Gate& gate, float value) {
    const ir::ValueType& type = model_.graph.value(gate.input).type;
    ir::Shape dims(type.dims.size(), 1);
    dims[1] = static_cast<int64_t>(gate.channels);
    const std::vector<float> values(gate.channels, value);
    return ir::GraphEdit(model_.graph).add_initializer("", ir::store_floats(values, type.element, dims));
  }

  /// Adds an operator on `value` and a constant, and returns its result.
  ir::ValueId add_operator(const char* op, ir::ValueId value, ir::ValueId constant) {
    ir::GraphEdit edit(model_.graph);
    const ir::ValueId made = edit.add_value("", model_.graph.value(value).type);
    edit.add_node({.op = op, .domain = "", .name = "", .inputs = {value, constant}, .outputs = {made}});
    return made;
  }

  void add(const Gate& gate) {
    ir::GraphEdit edit(model_.graph);
    Constants own{add_constant(gate, 1), add_constant(gate, gate.is_swish() ? 1 : 0)};
    ir::ValueId steep = add_operator("Mul", gate.input, own.slope);
    if (gate.is_swish()) {
      const ir::ValueId scaled = edit.add_value("", model_.graph.value(gate.result).type);
      edit.replace_uses(gate.result, scaled);
      edit.add_node(
          {.op = "Mul", .domain = "", .name = "", .inputs = {gate.result, own.gain_or_shift}, .outputs = {scaled}});
    } else {
      steep = add_operator("Add", steep, own.gain_or_shift);
    }
    edit.set_input(gate.sigmoid, 0, steep);
    make_hard(edit.node(gate.sigmoid));
    constants_.emplace(gate.input, own);
  }

  void store(ir::ValueId constant, const std::vector<float>& values) {
    const ir::Tensor& old = *model_.graph.constant(constant);
    ir::GraphEdit(model_.graph).set_constant(constant, ir::store_floats(values, old.type(), old.dims()));
  }

  ir::Model model_;
  std::map<ir::ValueId, Constants> constants_;  ///< Keyed by the input of the gate.
};

class GateFitter {
 public:
  GateFitter(pass::FloatContext& context, std::vector<Gate> gates)
      : context_(context), gates_(std::move(gates)), scales_(context.graph(), nodes_of(gates_)) {}

  Status fit() {
    const calib::SpreadSamples samples(*context_.data, kSamples, calib::SpreadSamples::Part::kEven);
    QQ_RETURN_IF_ERROR(observe(context_, samples, gates_));
    for (Gate& gate : gates_) {
      set_targets(gate);
      fit_channels(gate, false);
    }
    set_group_scales();
    return fit_along(samples);
  }

  void convert(ir::Graph& graph) const {
    rescale_layers(graph, factors(graph), shifts());
    ir::GraphEdit edit(graph);
    for (const Gate& gate : gates_) make_hard(edit.node(gate.sigmoid));
  }

  const std::vector<Gate>& gates() const { return gates_; }

 private:
  static std::set<ir::NodeId> nodes_of(const std::vector<Gate>& gates) {
    std::set<ir::NodeId> nodes;
    for (const Gate& gate : gates) {
      if (!gate.is_swish()) continue;
      nodes.insert(gate.sigmoid);
      nodes.insert(gate.product);
    }
    return nodes;
  }

  ChannelScales::Group group_of(const Gate& gate, size_t c) const { return scales_.group(gate.result, c); }

  /// Returns the gates by the number of gates before them.
  std::vector<std::vector<Gate*>> levels() {
    std::map<ir::ValueId, Gate*> by_result;
    for (Gate& gate : gates_) by_result.emplace(gate.result, &gate);
    std::vector<size_t> depth(context_.graph().value_count());
    std::vector<std::vector<Gate*>> levels;
    for (const ir::NodeId id : context_.graph().order()) {
      const ir::Node& node = context_.graph().node(id);
      size_t deepest = 0;
      for (const ir::ValueId input : node.inputs)
        if (input.valid()) deepest = std::max(deepest, depth[static_cast<size_t>(input.index)]);
      for (const ir::Capture& capture : node.captures)
        deepest = std::max(deepest, depth[static_cast<size_t>(capture.outer.index)]);
      for (const ir::ValueId output : node.outputs) {
        if (!output.valid()) continue;
        const auto gate = by_result.find(output);
        depth[static_cast<size_t>(output.index)] = deepest + (gate == by_result.end() ? 0 : 1);
        if (gate == by_result.end()) continue;
        levels.resize(std::max(levels.size(), deepest + 1));
        levels[deepest].push_back(gate->second);
      }
    }
    return levels;
  }

  /// Fits one gate after another on the values of the network with the gates before them already fitted.
  Status fit_along(const calib::DataReader& samples) {
    const std::vector<std::vector<Gate*>> waves = levels();
    std::vector<std::vector<ir::ValueId>> wanted(waves.size());
    for (size_t i = 0; i < waves.size(); ++i)
      for (const Gate* gate : waves[i]) wanted[i].push_back(gate->input);
    FittedNetwork network(context_.model, gates_);
    ir::TensorStore store;
    QQ_RETURN_IF_ERROR(store.set_limit(kMostInMemory));
    calib::LayerWalk walk({network.model(), context_.environment, samples, samples.size(), "fitting gates"}, wanted,
                          store);
    Observer observer(gates_, samples.size());
    for (size_t i = 0; i < waves.size(); ++i) {
      const auto observe_values = [&](size_t sample, const std::vector<ir::Tensor>& values) -> Status {
        for (size_t k = 0; k < values.size(); ++k) {
          QQ_TRY(const ir::FloatView view, ir::FloatView::of(values[k]));
          QQ_RETURN_IF_ERROR(observer.observe(wanted[i][k], sample, view));
        }
        return Status();
      };
      QQ_RETURN_IF_ERROR(walk.advance(observe_values));
      for (Gate* gate : waves[i]) {
        fit_channels(*gate, true);
        network.set(*gate);
      }
      if (context_.progress && !context_.progress(i + 1, waves.size()))
        return Status(Code::kInterrupted, "interrupted");
    }
    walk.end();
    return Status();
  }

  /// With `bound`, gates whose factor others share get that of their group.
  void fit_channels(Gate& gate, bool bound) {
    if (!gate.is_swish()) {
      gate.plain.resize(gate.channels);
      parallel_for(static_cast<int64_t>(gate.channels), [&](int64_t i) {
        const auto c = static_cast<size_t>(i);
        gate.plain[c] = fit_sigmoid(gate.values_of(c), gate.targets_of(c));
      });
      return;
    }
    std::vector<std::optional<double>> scales(gate.channels);
    for (size_t c = 0; c < gate.channels && bound; ++c) {
      const ChannelScales::Group group = group_of(gate, c);
      if (members_.at(group) > 1 || !scales_.is_free(group)) scales[c] = group_scales_.at(group);
    }
    gate.swish.resize(gate.channels);
    parallel_for(static_cast<int64_t>(gate.channels), [&](int64_t i) {
      const auto c = static_cast<size_t>(i);
      gate.swish[c] = fit_swish(gate.values_of(c), gate.targets_of(c), scales[c]);
    });
    for (size_t c = 0; c < gate.channels; ++c)
      if (!scales[c]) group_scales_[group_of(gate, c)] = gate.swish[c].slope / gate.swish[c].gain;
  }

  /// The geometric mean over the gates of a group, and 1 where the channels are not free.
  void set_group_scales() {
    std::map<ChannelScales::Group, double> logs;
    for (const Gate& gate : gates_) {
      if (!gate.is_swish()) continue;
      for (size_t c = 0; c < gate.channels; ++c) {
        logs[group_of(gate, c)] += std::log(gate.swish[c].slope / gate.swish[c].gain);
        ++members_[group_of(gate, c)];
      }
    }
    for (const auto& [group, sum] : logs)
      group_scales_[group] = scales_.is_free(group) ? std::exp(sum / static_cast<double>(members_[group])) : 1;
  }

  /// Returns the factors of all values whose channels have a factor other than 1.
  ChannelFactors factors(const ir::Graph& graph) const {
    ChannelFactors factors;
    for (size_t i = 0; i < graph.value_count(); ++i) {
      const auto value = ir::ValueId{static_cast<int32_t>(i)};
      if (!graph.is_alive(value) || scales_.channels(value) == 0) continue;
      std::vector<double> own(scales_.channels(value), 1.0);
      bool is_scaled = false;
      for (size_t c = 0; c < own.size(); ++c) {
        const auto found = group_scales_.find(scales_.group(value, c));
        if (found == group_scales_.end() || found->second == 1) continue;
        own[c] = found->second;
        is_scaled = true;
      }
      if (is_scaled) factors.emplace(value, std::move(own));
    }
    for (const Gate& gate : gates_) {
      std::vector<double>& own = factors[gate.input];
      own.clear();
      for (size_t c = 0; c < gate.channels; ++c)
        own.push_back(gate.is_swish() ? gate.swish[c].slope : gate.plain[c].slope);
    }
    return factors;
  }

  ChannelFactors shifts() const {
    ChannelFactors shifts;
    for (const Gate& gate : gates_) {
      if (gate.is_swish()) continue;
      for (const SigmoidFit& fit : gate.plain) shifts[gate.input].push_back(fit.shift);
    }
    return shifts;
  }

  pass::FloatContext& context_;
  std::vector<Gate> gates_;
  ChannelScales scales_;
  std::map<ChannelScales::Group, size_t> members_;  ///< Number of gate channels of each group.
  std::map<ChannelScales::Group, double> group_scales_;
};

}  // namespace

Result<Changed> fit_gates(pass::FloatContext& context) {
  if (context.data == nullptr || context.data->size() == 0) return Changed::kNo;
  std::vector<Gate> gates = find_gates(context);
  if (gates.empty()) return Changed::kNo;
  GateFitter fitter(context, std::move(gates));
  QQ_RETURN_IF_ERROR(fitter.fit());
  fitter.convert(context.graph());
  const auto swishes = std::ranges::count_if(fitter.gates(), &Gate::is_swish);
  context.diagnostics.add("gates-fitted", "",
                          cat(swishes, " x*Sigmoid(x) and ", fitter.gates().size() - static_cast<size_t>(swishes),
                              " Sigmoid have slopes of their own for each channel"));
  return Changed::kYes;
}

}  // namespace quarkq::rewrite
