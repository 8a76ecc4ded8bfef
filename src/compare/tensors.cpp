// SPDX-License-Identifier: MIT
#include "compare/tensors.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/parallel.h"
#include "calib/read_ahead.h"
#include "calib/sample_run.h"
#include "ir/traversal.h"
#include "numeric/metrics.h"
#include "plan/lowering/lower.h"

namespace quarkq::compare {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSaturated = 1 << 10;  // a value this far above all values of the quantized tensor is a sentinel
constexpr double kMostSentinels = 0.1;  // of a tensor's values, where they are no mask
constexpr double kLeastMask = 1e4;      // models mask with -1e4, -65504, -1e9, -3.4e38
constexpr double kCollapsedDb = 10, kDropDb = 10;

/// Keeps what it observes, in sample order.
class Keeper : public calib::SampleSink {
 public:
  Status observe(ir::ValueId tensor, uint64_t, std::span<const float> values) override {
    std::vector<float>& kept = values_[tensor];
    kept.insert(kept.end(), values.begin(), values.end());
    return Status();
  }
  const std::vector<float>* find(ir::ValueId tensor) const {
    const auto found = values_.find(tensor);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  std::map<ir::ValueId, std::vector<float>> values_;
};

/// What one of two models is listened to for.
struct Listening {
  const ir::Model& model;
  const std::vector<ir::ValueId>& tensors;
  Keeper& keeper;
};

Status listen(const Listening& one, const ChosenSamples& samples) {
  calib::SampleRunOptions options;
  options.tensors = one.tensors;
  options.samples = samples.numbers;
  options.order = calib::ValueOrder::kThinned;
  options.allow_non_finite = true;
  return calib::SampleRun(one.model, samples.data, samples.environment, std::move(options)).pass(one.keeper);
}

/// Both at once, where there is memory for two programs.
Status listen_to_both(const Listening& a, const Listening& b, const ChosenSamples& samples) {
  const int threads = omp_get_max_threads();
  if (calib::worthwhile_programs(b.model.graph, samples.environment, 2, 1) < 2) {
    QQ_RETURN_IF_ERROR(listen(a, samples));
    return listen(b, samples);
  }
  std::array<Status, 2> found;
  on_threads(2, [&](size_t i) {
    omp_set_num_threads(std::max(1, i == 0 ? threads - threads / 2 : threads / 2));
    found[i] = listen(i == 0 ? a : b, samples);
  });
  return found[0].ok() ? found[1] : found[0];
}

bool is_heard(const ir::Graph& graph, ir::ValueId id) {
  if (!id.valid() || graph.value(id).is_initializer()) return false;
  const ElementType type = graph.value(id).type.element;
  return type == ElementType::kFloat || type == ElementType::kFloat16;
}

/// One tensor in both models.
struct Pair {
  ir::ValueId reference;
  ir::ValueId written;  ///< as its producer writes it
  ir::ValueId read;     ///< as its readers read it: after the pair, when there is one
};

Pair find_pair(const ir::Graph& prepared, const ir::Graph& quantized, ir::ValueId value) {
  const std::string& name = prepared.value(value).name;
  const plan::QdqNames names(name);
  Pair pair{value, quantized.find(name), {}};
  if (prepared.value(value).is_output) {
    pair.read = pair.written;
    const ir::ValueId before = quantized.find(names.quantize_input);
    if (before.valid()) pair.written = before;
    return pair;
  }
  for (const std::string& after : {names.dequantize_output, plan::QdqNames(name, "_1").dequantize_output}) {
    if (!pair.read.valid()) pair.read = quantized.find(after);
  }
  if (!pair.read.valid() || !is_heard(quantized, pair.read)) pair.read = pair.written;
  return pair;
}

struct Likeness {
  double sqnr_db = -kInfinity, cosine = 0;
};

/// From this magnitude on values are sentinels (an attention mask's -3.4e38), which saturate intentionally and are left
/// out. `most`: largest magnitude of the quantized tensor. Infinite when too many values lie above for that, and they
/// are not alike and large as those of a causal mask: then the tensor itself is lost.
double first_sentinel(const std::vector<float>& reference, double most) {
  if (most == 0) return kInfinity;
  size_t finite = 0, above = 0;
  double least = kInfinity, largest = 0;
  for (const float value : reference) {
    const double magnitude = std::abs(static_cast<double>(value));
    if (!std::isfinite(value)) continue;
    ++finite;
    if (magnitude <= kSaturated * most) continue;
    ++above;
    least = std::min(least, magnitude);
    largest = std::max(largest, magnitude);
  }
  const bool is_mask = least >= kLeastMask && largest <= 2 * least;
  const bool is_few = static_cast<double>(above) <= kMostSentinels * static_cast<double>(finite);
  return is_few || is_mask ? kSaturated * most : kInfinity;
}

Likeness likeness(const std::vector<float>& reference, const std::vector<float>& other) {
  if (reference.size() != other.size()) return {};
  double most = 0, noise = 0;
  numeric::PairSums sums;
  for (const float value : other) {
    if (std::isfinite(value)) most = std::max(most, std::abs(static_cast<double>(value)));
  }
  const double limit = first_sentinel(reference, most);
  size_t left = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double value = reference[i], found = other[i], difference = value - found;
    if (!std::isfinite(value) || std::abs(value) > limit) continue;
    ++left;
    if (!std::isfinite(found)) {
      ++sums.differing;
      continue;
    }
    ++sums.compared;
    sums.dot += value * found;
    sums.norm_a += value * value;
    sums.norm_b += found * found;
    noise += difference * difference;
  }
  if (left == 0 && !reference.empty()) return {};
  if (sums.differing > 0) return {-kInfinity, numeric::cosine(sums)};
  if (noise == 0) return {kInfinity, 1};
  const double ratio = 10 * std::log10(sums.norm_a / noise);
  return {std::isnan(ratio) ? -kInfinity : ratio, numeric::cosine(sums)};
}

/// The least signal that the readers of a tensor write; -infinity where one of them is not known, or nothing reads it.
double least_after(const ir::Graph& graph, ir::ValueId value, const std::vector<std::optional<double>>& found) {
  double least = kInfinity;
  for (const ir::Use& use : graph.value(value).uses) {
    for (const ir::ValueId output : graph.node(use.node).outputs) {
      if (!output.valid() || graph.value(output).uses.empty()) continue;
      const std::optional<double>& known = found[static_cast<size_t>(output.index)];
      least = std::min(least, known.value_or(-kInfinity));
    }
  }
  return graph.value(value).is_output || least == kInfinity ? -kInfinity : least;
}

}  // namespace

Result<std::vector<TensorAgreement>> compare_tensors(const ir::Model& calibrated, const ir::Model& quantized,
                                                     Prepare prepare, const ChosenSamples& samples) {
  ir::Model reference = calibrated, other = quantized;  // share the weights
  Diagnostics ignored;
  if (prepare != nullptr) {
    QQ_RETURN_IF_ERROR(prepare(reference, ignored));
    QQ_RETURN_IF_ERROR(prepare(other, ignored));
  }
  std::vector<Pair> pairs;
  std::vector<ir::ValueId> heard_in_reference, heard_in_other;
  QQ_TRY(const std::vector<ir::NodeId> order, ir::execution_order(reference.graph));  // the list may be unsorted
  for (const ir::NodeId id : order) {
    for (const ir::ValueId output : reference.graph.node(id).outputs) {
      if (!is_heard(reference.graph, output)) continue;
      const Pair pair = find_pair(reference.graph, other.graph, output);
      if (!is_heard(other.graph, pair.written)) continue;
      pairs.push_back(pair);
      heard_in_reference.push_back(pair.reference);
      heard_in_other.push_back(pair.written);
      if (pair.read != pair.written) heard_in_other.push_back(pair.read);
    }
  }
  Keeper floats, codes;
  QQ_RETURN_IF_ERROR(listen_to_both({reference, heard_in_reference, floats}, {other, heard_in_other, codes}, samples));
  std::vector<TensorAgreement> tensors;
  std::vector<std::optional<double>> found(reference.graph.value_count());
  std::vector<ir::ValueId> values;
  for (const Pair& pair : pairs) {
    const auto *expected = floats.find(pair.reference), *written = codes.find(pair.written),
               *read = codes.find(pair.read);
    if (expected == nullptr || written == nullptr || read == nullptr) continue;
    const ir::Node& node = *reference.graph.producer(pair.reference);
    TensorAgreement tensor{reference.graph.value(pair.reference).name, reference.graph.label(node.id)};
    const Likeness as_read = likeness(*expected, *read);
    tensor.sqnr_db = as_read.sqnr_db;
    tensor.cosine = as_read.cosine;
    tensor.written_db = pair.read == pair.written ? tensor.sqnr_db : likeness(*expected, *written).sqnr_db;
    tensor.inputs_db = kInfinity;
    for (const ir::ValueId input : node.inputs) {
      if (input.valid())
        tensor.inputs_db = std::min(tensor.inputs_db, found[static_cast<size_t>(input.index)].value_or(kInfinity));
    }
    found[static_cast<size_t>(pair.reference.index)] = tensor.sqnr_db;
    tensors.push_back(std::move(tensor));
    values.push_back(pair.reference);
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].is_masked = least_after(reference.graph, values[i], found) - tensors[i].sqnr_db >= kDropDb;
  return tensors;
}

std::vector<TensorAgreement> noisiest_first(std::vector<TensorAgreement> tensors) {
  std::ranges::stable_sort(tensors, {}, &TensorAgreement::sqnr_db);
  return tensors;
}

std::vector<TensorAgreement> worst_tensors(const std::vector<TensorAgreement>& tensors, size_t count) {
  std::vector<TensorAgreement> worst = noisiest_first(tensors);
  std::erase_if(worst, [](const TensorAgreement& tensor) { return tensor.is_masked; });
  worst.resize(std::min(count, worst.size()));
  return worst;
}

std::vector<TensorAgreement> find_causes(const std::vector<TensorAgreement>& tensors, size_t count) {
  std::vector<TensorAgreement> causes;
  for (const TensorAgreement& tensor : tensors) {
    if (causes.size() == count) break;
    if (!tensor.is_masked && tensor.sqnr_db < kCollapsedDb && tensor.inputs_db - tensor.sqnr_db >= kDropDb)
      causes.push_back(tensor);
  }
  return causes;
}

std::string describe(const TensorAgreement& tensor) {
  const bool by_range = tensor.written_db - tensor.sqnr_db >= kDropDb / 2;
  return cat(tensor.name, " of ", tensor.node, ": from ", numeric::decibels_text(tensor.inputs_db), " to ",
             numeric::decibels_text(tensor.sqnr_db),
             by_range ? ", due to its quantization range" : ", due to the operator or its weights");
}

}  // namespace quarkq::compare
