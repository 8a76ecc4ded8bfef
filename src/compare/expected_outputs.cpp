// SPDX-License-Identifier: MIT
#include "compare/expected_outputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/hash.h"
#include "calib/data_reader.h"
#include "compare/output_kinds.h"
#include "compare/run_models.h"
#include "numeric/metrics.h"

namespace quarkq::compare {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;  // Float outputs that are kept.

constexpr int64_t kMostInputBytes = int64_t{64} << 20;  // Inputs that are kept; others are read twice.

constexpr double kNearZero = 0.01;  // of the usual magnitude: a step or two of 8 bits

/// Outputs of these operators have an absolute meaning: near 0 is "no".
bool is_probability(const ir::Graph& graph, ir::ValueId output) {
  const ir::Node* producer = graph.producer(output);
  return producer != nullptr && (producer->is("Sigmoid") || producer->is("HardSigmoid"));
}

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

/// Both are below `limit` wherever the float output is finite: what is left is rounding.
bool is_near_zero(const std::vector<double>& expected, const std::vector<double>& found, double limit) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i]) && !(std::abs(expected[i]) < limit && std::abs(found[i]) < limit)) return false;
  }
  return true;
}

/// Width times height of the largest picture among the inputs; 0 without one.
int64_t pixels_of(const calib::Sample& sample) {
  int64_t most = 0;
  for (const ir::Tensor& input : sample.inputs) {
    const ir::Shape& dims = input.dims();
    if (!is_picture(dims)) continue;
    most = std::max(most, dims[2] * std::max(dims[1], dims[3]));
  }
  return most;
}

/// One output over the samples.
class OutputSums {
 public:
  void add_sample(const std::string& sample, const numeric::PairSums& sums) {
    const double found = numeric::cosine(sums);
    sum_ += found;
    add(sums, all_);
    if (samples_++ > 0 && (std::isnan(least_) || found >= least_)) return;
    least_ = found;  // the first that is not a number stays
    worst_sample_ = sample;
  }
  bool has_samples() const { return samples_ > 0; }
  OutputAgreement named(const std::string& output) const {
    OutputAgreement agreement{
        output, sum_ / static_cast<double>(samples_), numeric::sqnr_db(all_), least_, worst_sample_, false};
    agreement.same_not_finite = all_.same;
    agreement.different_not_finite = all_.differing;
    return agreement;
  }

 private:
  size_t samples_ = 0;
  double sum_ = 0, least_ = 0;
  std::string worst_sample_;
  numeric::PairSums all_;
};

}  // namespace

std::vector<size_t> spread_samples(size_t size, size_t count) {
  count = std::min(count, size);
  std::vector<size_t> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(i * size / count);
  return numbers;
}

namespace {

std::string hash_of(size_t number) {
  ContentHash hash;
  hash.add(std::to_string(number));
  return hash.text();
}

}  // namespace

std::vector<size_t> drawn_samples(const std::vector<size_t>& numbers, size_t count) {
  std::vector<std::pair<std::string, size_t>> order;
  order.reserve(numbers.size());
  for (const size_t number : numbers) order.emplace_back(hash_of(number), number);
  std::ranges::sort(order);
  std::vector<size_t> drawn;
  for (const auto& [hash, number] : order) {
    if (drawn.size() < count) drawn.push_back(number);
  }
  std::ranges::sort(drawn);
  return drawn;
}

SampleRoles sample_roles(size_t size, size_t judged) {
  constexpr size_t kLeastShared = 16, kLeastJudged = 16;
  std::vector<size_t> open;
  for (size_t number = 0; number < size; number += size < kLeastShared ? 1 : 2) open.push_back(number);
  SampleRoles roles{drawn_samples(open, kMostChosen), {}};
  std::vector<size_t> rest;
  std::ranges::set_difference(open, roles.chosen, std::back_inserter(rest));
  roles.judged = drawn_samples(rest.size() >= kLeastJudged ? rest : open, judged);
  return roles;
}

Result<ExpectedOutputs> ExpectedOutputs::make(const ir::Model& reference, Prepare prepare,
                                              const exec::Environment& environment, const calib::DataReader& data,
                                              size_t samples) {
  std::vector<size_t> first(std::min(samples, data.size()));
  std::iota(first.begin(), first.end(), size_t{0});
  return make(reference, prepare, {data, environment, std::move(first)});
}

Result<ExpectedOutputs> ExpectedOutputs::make(const ir::Model& reference, Prepare prepare,
                                              const ChosenSamples& chosen) {
  const calib::DataReader& data = chosen.data;
  std::vector<size_t> numbers = chosen.numbers;
  ir::Model model = reference;  // shares the weights
  Diagnostics ignored;
  if (prepare != nullptr) QQ_RETURN_IF_ERROR(prepare(model, ignored));
  ModelRunner runner(model, chosen.environment, numbers.size());
  std::vector<calib::Sample> samples(numbers.size());
  std::vector<std::vector<ir::Tensor>> results(numbers.size());
  const auto run = [&](size_t begin, size_t end) -> Status {
    const auto read = [&](size_t i) -> Result<std::vector<ir::Tensor>> {
      QQ_TRY(samples[i], data.read(numbers[i]));
      return samples[i].inputs;
    };
    return runner.run(begin, end, read, [&](size_t i, const std::vector<ir::Tensor>& found) {
      results[i] = found;  // the next run takes new memory for what is shared
      return Status();
    });
  };
  ExpectedOutputs expected;
  expected.environment_ = chosen.environment;
  expected.data_ = &data;
  expected.prepare_ = prepare;
  const auto keep = [&](size_t i) -> Status {
    const std::vector<ir::Tensor> found = std::move(results[i]);
    return expected.add(numbers[i], std::move(samples[i]), reference, found);
  };
  if (numbers.empty()) return expected;
  QQ_RETURN_IF_ERROR(run(0, 1));  // shows how much memory all would take
  QQ_RETURN_IF_ERROR(keep(0));
  if (expected.bytes() * numbers.size() > kMostBytes) {
    const size_t allowed = std::max<size_t>(1, kMostBytes / expected.bytes());
    std::vector<size_t> fewer;
    for (const size_t k : spread_samples(numbers.size(), allowed)) fewer.push_back(numbers[k]);
    numbers = std::move(fewer);
  }
  QQ_RETURN_IF_ERROR(run(1, numbers.size()));
  for (size_t i = 1; i < numbers.size(); ++i) QQ_RETURN_IF_ERROR(keep(i));
  expected.recognize();
  return expected;
}

ExpectedOutputs ExpectedOutputs::part(const std::vector<size_t>& places) const {
  ExpectedOutputs some;
  some.environment_ = environment_;
  some.data_ = data_;
  some.prepare_ = prepare_;
  for (const size_t place : places) some.take(*this, place);
  some.recognize();
  return some;
}

void ExpectedOutputs::recognize() {
  for (Output& output : outputs_) {
    output.task = find_task({output.makes_choices, output.input_pixels, output.dims, output.values});
    const bool same = std::ranges::all_of(output.dims, [&](const ir::Shape& dims) { return dims == output.dims[0]; });
    if (!same || output.dims.empty()) continue;
    output.minor = find_minor_channels(output.values, output.dims[0]);
  }
}

void ExpectedOutputs::take(const ExpectedOutputs& known, size_t place) {
  for (size_t i = 0; i < known.outputs_.size(); ++i) {
    const Output& from = known.outputs_[i];
    if (samples_.empty())
      outputs_.push_back(
          {from.name, from.index, from.least_magnitude, from.makes_choices, from.input_pixels, {}, {}, {}});
    outputs_[i].dims.push_back(from.dims[place]);
    outputs_[i].largest.push_back(from.largest[place]);
    outputs_[i].values.push_back(from.values[place]);
  }
  keep_sample(known.numbers_[place], known.samples_[place]);
}

Status ExpectedOutputs::add(size_t number, calib::Sample sample, const ir::Model& model,
                            const std::vector<ir::Tensor>& results) {
  for (size_t i = 0; samples_.empty() && i < results.size(); ++i) {
    const ir::ValueId output = model.graph.outputs()[i];
    const double least = is_probability(model.graph, output) ? 1 : 0;
    if (!is_floating(results[i].type())) continue;
    outputs_.push_back(
        {model.graph.value(output).name, i, least, makes_choices(model, output), pixels_of(sample), {}, {}, {}});
  }
  for (Output& output : outputs_) {
    output.dims.push_back(results[output.index].dims());
    QQ_TRY(std::vector<double> values, ir::to_double(results[output.index]));
    output.largest.push_back(largest_magnitude(values));
    output.values.push_back(std::move(values));
  }
  keep_sample(number, std::move(sample));
  return Status();
}

void ExpectedOutputs::keep_sample(size_t number, calib::Sample sample) {
  for (const ir::Tensor& input : sample.inputs) input_bytes_ += input.bytes();
  if (input_bytes_ > kMostInputBytes) {
    for (const ir::Tensor& input : sample.inputs) input_bytes_ -= input.bytes();
    sample.inputs.clear();
  }
  numbers_.push_back(number);
  samples_.push_back(std::move(sample));
}

Result<std::vector<ir::Tensor>> ExpectedOutputs::inputs(size_t place) const {
  if (!samples_[place].inputs.empty()) return samples_[place].inputs;
  QQ_TRY(calib::Sample sample, data_->read(numbers_[place]));
  return std::move(sample.inputs);
}

double ExpectedOutputs::usual_magnitude(const Output& output) const {
  std::vector<double> largest = output.largest;
  const auto middle = largest.begin() + static_cast<std::ptrdiff_t>(largest.size() / 2);
  std::nth_element(largest.begin(), middle, largest.end());
  return std::max(output.least_magnitude, *middle);
}

/// Of the outputs kept so far.
size_t ExpectedOutputs::bytes() const {
  size_t count = 0;
  for (const Output& output : outputs_) {
    for (const std::vector<double>& values : output.values) count += values.size();
  }
  return count * sizeof(double);
}

size_t ExpectedOutputs::place_of(const std::string& sample) const {
  const auto found = std::ranges::find(samples_, sample, &calib::Sample::name);
  return found == samples_.end() ? 0 : static_cast<size_t>(found - samples_.begin());
}

/// One output of one sample against the expected one.
struct ExpectedOutputs::Compared {
  bool fits = true;
  ir::Shape dims;
  bool is_empty = false;  ///< both are almost zero
  numeric::PairSums sums, minor;
  TaskSums task;
  std::vector<double> values;  ///< where somebody wants to see them
};

Result<ExpectedOutputs::Compared> ExpectedOutputs::compare_one(size_t sample, size_t index, const ir::Tensor& found,
                                                               double magnitude) const {
  const Output& output = outputs_[index];
  Compared one;
  one.dims = found.dims();
  one.fits = found.dims() == output.dims[sample];
  if (!one.fits) return one;
  QQ_TRY(one.values, ir::to_double(found));
  one.is_empty = is_near_zero(output.values[sample], one.values, kNearZero * magnitude);
  one.sums = numeric::pair_sums(output.values[sample], one.values);
  if (output.task != nullptr) {
    one.task.assign(output.task->sum_count(), 0);
    output.task->add(one.dims, output.values[sample], one.values, one.task);
  }
  if (output.minor)
    one.minor = numeric::pair_sums(output.minor->of(output.values[sample], found.dims()),
                                   output.minor->of(one.values, found.dims()));
  return one;
}

Result<std::vector<OutputAgreement>> ExpectedOutputs::compare(const ir::Model& quantized, Diagnostics& diagnostics,
                                                              const SampleResultSink& seen) const {
  ir::Model model = quantized;  // shares the weights
  Diagnostics ignored;
  if (prepare_ != nullptr) QQ_RETURN_IF_ERROR(prepare_(model, ignored));
  for (const Output& output : outputs_) {
    if (output.index >= model.graph.outputs().size())
      return internal_error("the compared model does not have the output ", output.name);
  }
  std::vector<double> magnitudes;
  for (const Output& output : outputs_) magnitudes.push_back(samples_.empty() ? 0 : usual_magnitude(output));
  std::vector<std::vector<Compared>> all(samples_.size());
  const auto judge = [&](size_t sample, const std::vector<ir::Tensor>& results) -> Status {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      QQ_TRY(Compared one, compare_one(sample, i, results[outputs_[i].index], magnitudes[i]));
      if (!seen) one.values.clear();
      all[sample].push_back(std::move(one));
    }
    return Status();
  };
  const auto read = [&](size_t sample) { return inputs(sample); };
  QQ_RETURN_IF_ERROR(ModelRunner(model, environment_, samples_.size()).run(0, samples_.size(), read, judge));
  std::vector<OutputSums> agreements(outputs_.size()), near_zero(outputs_.size());
  std::vector<numeric::PairSums> minor_sums(outputs_.size());
  std::vector<TaskSums> tasks(outputs_.size());
  std::vector<bool> fits(outputs_.size(), true);
  for (size_t sample = 0; sample < samples_.size(); ++sample) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Output& output = outputs_[i];
      const Compared& one = all[sample][i];
      if (one.fits && output.values[sample].empty()) continue;  // nothing to compare
      if (one.fits) {
        (one.is_empty ? near_zero[i] : agreements[i]).add_sample(samples_[sample].name, one.sums);
        if (output.minor) numeric::add(one.minor, minor_sums[i]);
        tasks[i].resize(one.task.size());
        std::ranges::transform(one.task, tasks[i], tasks[i].begin(), std::plus<>());
        if (seen)
          seen({samples_[sample].name, output.name, one.dims, output.values[sample], one.values,
                numeric::cosine(one.sums)});
      } else if (fits[i]) {
        fits[i] = false;
        diagnostics.add("shape-changed", output.name,
                        cat("float ", shape_text(output.dims[sample]), ", quantized ", shape_text(one.dims)));
      }
    }
  }
  std::vector<OutputAgreement> found;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const OutputSums& agreement = agreements[i].has_samples() ? agreements[i] : near_zero[i];
    if (!agreement.has_samples()) continue;
    found.push_back(agreement.named(outputs_[i].name));
    found.back().near_zero = !agreements[i].has_samples();
    if (outputs_[i].minor)
      found.back().minor = Agreement{numeric::cosine(minor_sums[i]), numeric::sqnr_db(minor_sums[i])};
    if (outputs_[i].task != nullptr && !tasks[i].empty()) found.back().task = outputs_[i].task->agreement(tasks[i]);
  }
  return found;
}

Result<Agreement> worst_agreement(const std::vector<OutputAgreement>& outputs) {
  if (outputs.empty()) return unsupported("no floating-point output of the same shape to compare");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Agreement worst{1, kInfinity};
  const auto take = [&](double cosine, double sqnr_db) {
    worst.cosine = std::min(worst.cosine, std::isnan(cosine) ? -1 : cosine);
    worst.sqnr_db = std::min(worst.sqnr_db, std::isnan(sqnr_db) ? -kInfinity : sqnr_db);
  };
  for (const OutputAgreement& output : outputs) {
    if (output.near_zero) continue;  // its cosine is meaningless
    if (output.different_not_finite > 0) {
      take(-1, -kInfinity);  // NaN where the float model has none is worse than any noise
      continue;
    }
    take(output.cosine, output.sqnr_db);
    if (output.minor) take(output.minor->cosine, output.minor->sqnr_db);
    if (output.task) worst.task = std::max(worst.task, output.task->grade);
  }
  return worst;
}

}  // namespace quarkq::compare
