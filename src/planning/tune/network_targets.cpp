// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <iterator>

#include "exec/session.h"
#include "ir/constants.h"
#include "plan/lowering/lower.h"
#include "planning/tune/network.h"

namespace quarkq::planning::finetune {
namespace {

constexpr size_t kMostInner = 20;      ///< Upper bound on inner targets.
constexpr size_t kFewestJoins = 12;    ///< With fewer joining values, outputs of layers are inner targets, too.
constexpr size_t kMostMeasured = 48;   ///< Upper bound on the inner values that are measured.
constexpr double kFarthest = 0.3;      ///< Upper bound on the squared error of a pair, relative to the teacher's power.
constexpr double kNearOne = 1e-3;      ///< Factors this close to 1 are 1.
constexpr double kLeastFactor = 1e-4;  ///< A channel with a lower factor is not compared.

bool is_move(const ir::Node& node) {
  static constexpr const char* kOps[] = {"Reshape", "Transpose", "Slice",     "Split",   "Concat", "Identity",
                                         "Cast",    "Squeeze",   "Unsqueeze", "Flatten", "Gather"};
  return std::any_of(std::begin(kOps), std::end(kOps), [&](const char* op) { return node.is(op); });
}

/// Returns whether a Sigmoid reads the value, directly or after operators that copy elements.
bool feeds_sigmoid(const ir::Graph& graph, ir::ValueId value) {
  std::vector<ir::ValueId> open = {value};
  std::vector<bool> is_seen(graph.value_count());
  while (!open.empty()) {
    const ir::ValueId now = open.back();
    open.pop_back();
    for (const ir::Use& use : graph.value(now).uses) {
      if (use.is_capture) continue;
      const ir::Node& reader = graph.node(use.node);
      if (reader.is("Sigmoid")) return true;
      if (!is_move(reader)) continue;
      for (const ir::ValueId output : reader.outputs) {
        if (!output.valid() || is_seen[static_cast<size_t>(output.index)]) continue;
        is_seen[static_cast<size_t>(output.index)] = true;
        open.push_back(output);
      }
    }
  }
  return false;
}

/// A target, and the same value in the float model that was calibrated.
struct Pair {
  Target target;
  ir::ValueId exact;
  bool joins = false;  ///< Several values meet here, or a stage ends.
  /// Sums by channel: squares and products of the exact value and the teacher's.
  std::vector<double> exact_square = {}, product = {}, square = {};
  double sigmoid_square = 0;
  int64_t count = 0;
  bool fits = true;
};

class TargetFinder {
 public:
  TargetFinder(const NetworkModels& models, Network& network) : models_(models), network_(network) {}

  Status find(size_t samples) {
    for (const ir::ValueId end : network_.region.ends) add(before_softmax(end), /*is_output=*/true);
    add_inner();
    if (pairs_.empty()) return unsupported("no output has a value of the same name in the float model");
    QQ_RETURN_IF_ERROR(measure(std::min(samples, kSamples)));
    choose();
    return network_.targets.empty() ? unsupported("no output is close enough to the float model's") : Status();
  }

 private:
  static constexpr size_t kSamples = 8;

  const ir::Graph& quantized() const { return models_.quantized.graph; }
  const ir::Graph& exact() const { return models_.exact.graph; }
  const ir::Graph& teacher() const { return models_.teacher.graph; }

  bool is_exact(ir::ValueId id) const {
    return static_cast<size_t>(id.index) < exact().value_count() && exact().is_alive(id);
  }
  /// Returns the value without its quantizer.
  ir::ValueId base_of(ir::ValueId value) const {
    const ir::Node* producer = quantized().producer(value);
    return producer != nullptr && producer->op == plan::kFakeQuantize ? producer->input(0) : value;
  }

  /// Returns the input of the Softmax that makes the value, if it has a partner, otherwise the value: the gradient
  /// through a Softmax vanishes where it is certain.
  ir::ValueId before_softmax(ir::ValueId end) const {
    const ir::Node* producer = quantized().producer(base_of(end));
    if (producer == nullptr || !producer->is("Softmax")) return end;
    const ir::ValueId logits = producer->input(0), id = is_exact(logits) ? logits : base_of(logits);
    const bool has_partner = is_exact(id) && teacher().find(exact().value(id).name).valid();
    const auto& nodes = network_.region.nodes;
    const ir::Node* maker = quantized().producer(logits);
    const bool is_inside = maker != nullptr && std::find(nodes.begin(), nodes.end(), maker->id) != nodes.end();
    return has_partner && is_inside ? logits : end;
  }

  void add(ir::ValueId end, bool is_output) {
    const ir::ValueId id = is_exact(end) ? end : base_of(end);
    if (!is_exact(id)) return;
    const ir::ValueId partner = teacher().find(exact().value(id).name);
    if (!partner.valid() || teacher().value(partner).is_initializer()) return;
    Pair pair;
    pair.target.end = end;
    pair.target.teacher = partner;
    pair.target.is_output = is_output;
    pair.exact = id;
    const ir::Node* producer = quantized().producer(base_of(end));
    static constexpr const char* kJoins[] = {"Concat", "Add", "MaxPool", "AveragePool", "GlobalAveragePool"};
    pair.joins = producer != nullptr &&
                 std::any_of(std::begin(kJoins), std::end(kJoins), [&](const char* op) { return producer->is(op); });
    if (is_output && models_.tail != nullptr) {
      const ir::ValueId read = models_.tail->graph.find(exact().value(id).name);
      pair.target.sigmoid_power = read.valid() && feeds_sigmoid(models_.tail->graph, read) ? 1 : 0;
    }
    pairs_.push_back(std::move(pair));
  }

  /// Adds quantized values inside the region.
  void add_inner() {
    const auto& ends = network_.region.ends;
    std::vector<ir::ValueId> joins, others;
    for (const ir::NodeId id : network_.region.nodes) {
      const ir::Node& node = quantized().node(id);
      const ir::ValueId value = node.output(0);
      if (node.op != plan::kFakeQuantize || std::find(ends.begin(), ends.end(), value) != ends.end()) continue;
      const size_t before = pairs_.size();
      add(value, /*is_output=*/false);
      if (pairs_.size() == before) continue;
      (pairs_.back().joins ? joins : others).push_back(value);
      pairs_.pop_back();
    }
    thin(joins, kMostMeasured);
    thin(others, joins.size() < kFewestJoins ? kMostMeasured - joins.size() : 0);
    joins.insert(joins.end(), others.begin(), others.end());
    for (const ir::ValueId value : joins) add(value, /*is_output=*/false);
  }

  /// Keeps at most `most` entries, evenly spread.
  template <typename T>
  static void thin(std::vector<T>& list, size_t most) {
    if (list.size() <= most) return;
    std::vector<T> kept;
    for (size_t i = 0; i < most; ++i) kept.push_back(list[(2 * i + 1) * list.size() / (2 * most)]);
    list = std::move(kept);
  }

  Status measure(size_t samples) {
    exec::SessionOptions exact_options, teacher_options;
    for (const Pair& pair : pairs_) {
      exact_options.fetches.push_back(pair.exact);
      teacher_options.fetches.push_back(pair.target.teacher);
    }
    exec::Session exact(models_.exact, models_.environment, std::move(exact_options));
    exec::Session teacher(models_.teacher, models_.environment, std::move(teacher_options));
    for (size_t i = 0; i < samples; ++i) {
      QQ_TRY(const calib::Sample sample, models_.data.read(i * models_.data.size() / samples));
      QQ_TRY(const std::vector<ir::Tensor>* const xs, exact.run(sample.inputs));
      QQ_TRY(const std::vector<ir::Tensor>* const ts, teacher.run(sample.inputs));
      for (size_t k = 0; k < pairs_.size(); ++k) add_sums(pairs_[k], (*xs)[k], (*ts)[k]);
    }
    return Status();
  }

  static void add_sums(Pair& pair, const ir::Tensor& exact, const ir::Tensor& teacher) {
    const Result<ir::FloatView> x = ir::FloatView::of(exact), t = ir::FloatView::of(teacher);
    pair.fits = pair.fits && x.ok() && t.ok() && exact.dims() == teacher.dims() && exact.rank() > 0;
    if (!pair.fits) return;
    const ir::Shape& dims = exact.dims();
    const size_t channels = dims.size() >= 3 ? static_cast<size_t>(dims[1]) : 1;
    pair.square.resize(channels);
    pair.product.resize(channels);
    pair.exact_square.resize(channels);
    const std::span<const float> a = x.value(), b = t.value();
    const size_t inner = dims.size() >= 3 ? a.size() / static_cast<size_t>(std::max<int64_t>(1, dims[0] * dims[1])) : 1;
    for (size_t i = 0; i < a.size(); ++i) {
      const size_t c = channels == 1 ? 0 : i / inner % channels;
      const auto xi = static_cast<double>(a[i]), ti = static_cast<double>(b[i]);
      pair.exact_square[c] += xi * xi;
      pair.product[c] += xi * ti;
      pair.square[c] += ti * ti;
      if (pair.target.sigmoid_power > 0) pair.sigmoid_square += std::pow(1 / (1 + std::exp(-ti)), 2);
    }
    pair.count += static_cast<int64_t>(a.size());
  }

  /// Fills in the target. Returns false if the two values differ by more than factors.
  static bool finish(Pair& pair) {
    if (!pair.fits || pair.count == 0) return false;
    Target& target = pair.target;
    double power = 0, error = 0;
    bool has_factors = false;
    for (size_t c = 0; c < pair.square.size(); ++c) {
      double factor = target.is_output || pair.square[c] <= 0 ? 1 : pair.product[c] / pair.square[c];
      if (factor < kLeastFactor) factor = 0;
      const double back = factor > 0 ? 1 / factor : 0;
      power += pair.square[c];
      error += pair.exact_square[c] * back * back - 2 * back * pair.product[c] + pair.square[c];
      target.factors.push_back(static_cast<float>(factor));
      has_factors = has_factors || std::abs(factor - 1) > kNearOne;
    }
    if (!has_factors) target.factors.clear();
    target.power = power / static_cast<double>(pair.count);
    if (target.sigmoid_power > 0) target.sigmoid_power = pair.sigmoid_square / static_cast<double>(pair.count);
    return target.power > 0 && (target.is_output || error <= kFarthest * power);
  }

  void choose() {
    std::vector<Target> joins, others;
    TapeRegion& region = network_.region;
    region.ends.clear();
    for (Pair& pair : pairs_) {
      if (!finish(pair)) continue;
      if (pair.target.is_output) {
        network_.targets.push_back(pair.target);
      } else {
        (pair.joins ? joins : others).push_back(pair.target);
      }
    }
    if (network_.targets.empty()) return;
    thin(joins, kMostInner);
    thin(others, joins.size() < kFewestJoins ? kMostInner - joins.size() : 0);
    for (const auto* list : {&joins, &others})
      network_.targets.insert(network_.targets.end(), list->begin(), list->end());
    for (const Target& target : network_.targets) region.ends.push_back(target.end);
  }

  const NetworkModels& models_;
  Network& network_;
  std::vector<Pair> pairs_;
};

}  // namespace

Status find_targets(const NetworkModels& models, size_t samples, Network& network) {
  return TargetFinder(models, network).find(samples);
}

}  // namespace quarkq::planning::finetune
