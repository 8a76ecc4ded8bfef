// SPDX-License-Identifier: MIT
#include "compare/run_models.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/parallel.h"
#include "calib/read_ahead.h"

namespace quarkq::compare {
namespace {

constexpr size_t kLeastSamplesEach = 2;
constexpr int64_t kMostWaiting = int64_t{512} << 20;  // bytes of results
constexpr int64_t kMostAtOnce = 16;                   // samples, so that progress moves

int64_t bytes_of(const Tensors& tensors) {
  int64_t bytes = 0;
  for (const ir::Tensor& tensor : tensors) bytes += tensor.bytes();
  return bytes;
}

/// The samples that are run at a time, and their results.
struct Batch {
  std::vector<calib::Sample> samples;
  std::vector<Tensors> first, second;

  explicit Batch(size_t count) : samples(count), first(count), second(count) {}
};

std::string place_of(const calib::Sample& sample, const std::string& model) {
  return model.empty() ? cat("sample ", sample.name) : cat("sample ", sample.name, ": ", model);
}

}  // namespace

ModelRunner::ModelRunner(const ir::Model& model, const exec::Environment& environment, size_t samples)
    : sessions_(calib::worthwhile_programs(model.graph, environment, samples, kLeastSamplesEach)) {
  for (auto& session : sessions_) session = std::make_unique<exec::Session>(model, environment, exec::SessionOptions{});
}

Status ModelRunner::run(size_t begin, size_t end, const Inputs& inputs, const Results& results, const Label& label) {
  if (sessions_.size() == 1) {
    exec::SampleSet set;
    set.count = end - begin;
    set.inputs = [&](size_t i) { return inputs(begin + i); };
    set.results = [&](size_t i, const Tensors& found) { return results(begin + i, found); };
    if (label) set.label = [&](size_t i) { return label(begin + i); };
    return sessions_[0]->run_samples(set);
  }
  const auto one = [&](exec::Session& session, size_t i) -> Status {
    QQ_TRY(const Tensors given, inputs(i));
    Result<const Tensors*> found = session.run(given);
    if (!found.ok()) return label ? found.status().context(label(i)) : found.status();
    return results(i, *found.value());
  };
  const int threads = omp_get_max_threads();
  const int each = std::max(1, threads / static_cast<int>(sessions_.size()));
  std::atomic<size_t> next{begin};
  std::mutex mutex;
  size_t failed = end;
  Status failure;
  // Threads are counted when a program is compiled, which is in the thread that runs it first.
  const auto work = [&](exec::Session& session) {
    omp_set_num_threads(each);
    for (size_t i = next++; i < end; i = next++) {
      Status status = one(session, i);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      if (i < failed) {
        failed = i;
        failure = std::move(status);
      }
      next = end;
    }
  };
  on_threads(std::min(sessions_.size(), end - begin), [&](size_t i) { work(*sessions_[i]); });
  return failure;
}

Status run_both(const ir::Model& first, const ir::Model& second, const PairedSamples& samples,
                const std::function<Status(const PairedResults&)>& reduce) {
  const size_t count = samples.numbers.size();
  ModelRunner first_runner(first, samples.environment, count), second_runner(second, samples.environment, count);
  size_t at_once = 1;  // the first sample shows how much memory is needed
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    end = std::min(count, begin + at_once);
    Batch batch(end - begin);
    const auto read = [&](size_t i) -> Result<Tensors> {
      QQ_TRY(batch.samples[i], samples.data.read(samples.numbers[begin + i]));
      return batch.samples[i].inputs;
    };
    const auto read_fitted = [&](size_t i) -> Result<Tensors> {
      if (samples.fitted == nullptr) return batch.samples[i].inputs;
      QQ_TRY(calib::Sample fitted, samples.fitted->read(samples.numbers[begin + i]));
      return std::move(fitted.inputs);
    };
    const auto run = [&](ModelRunner& runner, const std::string& model, const ModelRunner::Inputs& inputs,
                         std::vector<Tensors>& kept) {
      const auto keep = [&](size_t i, const Tensors& results) {
        kept[i] = results;  // the next run takes new memory for what is shared
        return Status();
      };
      return runner.run(0, end - begin, inputs, keep, [&](size_t i) { return place_of(batch.samples[i], model); });
    };
    QQ_RETURN_IF_ERROR(run(first_runner, samples.first_name, read, batch.first));
    QQ_RETURN_IF_ERROR(run(second_runner, samples.second_name, read_fitted, batch.second));
    for (size_t i = 0; i < end - begin; ++i)
      QQ_RETURN_IF_ERROR(reduce({samples.numbers[begin + i], batch.samples[i].name, batch.first[i], batch.second[i]}));
    const int64_t each = 1 + bytes_of(batch.samples[0].inputs) + bytes_of(batch.first[0]) + bytes_of(batch.second[0]);
    at_once = static_cast<size_t>(std::clamp<int64_t>(kMostWaiting / each, 1, kMostAtOnce));
  }
  return Status();
}

}  // namespace quarkq::compare
