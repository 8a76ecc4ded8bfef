// SPDX-License-Identifier: MIT
#include "pipeline/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "exec/session.h"
#include "numeric/metrics.h"
#include "pipeline/pass_runner.h"

namespace quarkq::pipeline {
namespace {

constexpr size_t kMostBytes = size_t{512} << 20;  // of float outputs that wait for the quantized ones

/// One output over the samples.
class Agreement {
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
    return {output, sum_ / static_cast<double>(samples_), numeric::sqnr_db(all_), least_, worst_sample_};
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

Result<ExpectedOutputs> ExpectedOutputs::make(const ir::Model& reference, const calib::DataReader& data,
                                              size_t samples) {
  std::vector<size_t> first(std::min(samples, data.size()));
  std::iota(first.begin(), first.end(), size_t{0});
  return make(reference, data, std::move(first));
}

Result<ExpectedOutputs> ExpectedOutputs::make(const ir::Model& reference, const calib::DataReader& data,
                                              std::vector<size_t> numbers) {
  ExpectedOutputs expected;
  ir::Model model = reference;  // shares the weights
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(prepare_for_run(model, ignored));
  exec::Session session(model, {});
  for (size_t i = 0; i < numbers.size(); ++i) {
    QQ_TRY(calib::Sample sample, data.read(numbers[i]));
    QQ_TRY(const std::vector<ir::Tensor>* const results, session.run(sample.inputs));
    QQ_RETURN_IF_ERROR(expected.add(numbers[i], std::move(sample), reference.graph, *results));
    if (i > 0 || expected.bytes() * numbers.size() <= kMostBytes) continue;
    const size_t allowed = std::max<size_t>(1, kMostBytes / expected.bytes());
    std::vector<size_t> fewer;
    for (const size_t k : spread_samples(numbers.size(), allowed)) fewer.push_back(numbers[k]);
    numbers = std::move(fewer);
  }
  return expected;
}

Status ExpectedOutputs::add(size_t number, calib::Sample sample, const ir::Graph& graph,
                            const std::vector<ir::Tensor>& results) {
  for (size_t i = 0; samples_.empty() && i < results.size(); ++i) {
    if (is_floating(results[i].type())) outputs_.push_back({graph.value(graph.outputs()[i]).name, i, {}, {}});
  }
  for (Output& output : outputs_) {
    output.dims.push_back(results[output.index].dims());
    QQ_TRY(std::vector<double> values, ir::to_double(results[output.index]));
    output.values.push_back(std::move(values));
  }
  numbers_.push_back(number);
  samples_.push_back(std::move(sample));
  return Status();
}

/// Of the outputs kept so far.
size_t ExpectedOutputs::bytes() const {
  size_t count = 0;
  for (const Output& output : outputs_) {
    for (const std::vector<double>& values : output.values) count += values.size();
  }
  return count * sizeof(double);
}

size_t ExpectedOutputs::number_of(const std::string& sample) const {
  const auto found = std::ranges::find(samples_, sample, &calib::Sample::name);
  return found == samples_.end() ? 0 : numbers_[static_cast<size_t>(found - samples_.begin())];
}

Result<std::vector<OutputAgreement>> ExpectedOutputs::compare(const ir::Model& quantized,
                                                              Diagnostics& diagnostics) const {
  ir::Model model = quantized;  // shares the weights
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(prepare_for_run(model, ignored));
  exec::Session session(model, {});
  std::vector<Agreement> agreements(outputs_.size());
  std::vector<bool> fits(outputs_.size(), true);
  for (size_t sample = 0; sample < samples_.size(); ++sample) {
    QQ_TRY(const std::vector<ir::Tensor>* const results, session.run(samples_[sample].inputs));
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Output& output = outputs_[i];
      const ir::Tensor& found = (*results)[output.index];
      if (found.dims() == output.dims[sample]) {
        QQ_TRY(const std::vector<double> values, ir::to_double(found));
        agreements[i].add_sample(samples_[sample].name, numeric::pair_sums(output.values[sample], values));
      } else if (fits[i]) {
        fits[i] = false;
        diagnostics.warn("shape-changed", output.name,
                         cat("float ", shape_text(output.dims[sample]), ", quantized ", shape_text(found.dims())));
      }
    }
  }
  std::vector<OutputAgreement> found;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (agreements[i].has_samples()) found.push_back(agreements[i].named(outputs_[i].name));
  }
  return found;
}

}  // namespace quarkq::pipeline
