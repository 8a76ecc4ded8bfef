// SPDX-License-Identifier: MIT
#include "pipeline/sample_runner.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/parallel.h"
#include "calib/program_count.h"

namespace quarkq::pipeline {
namespace {

constexpr size_t kLeastSamplesEach = 2;

}  // namespace

SampleRunner::SampleRunner(const ir::Model& model, size_t samples)
    : sessions_(calib::worthwhile_programs(model.graph, samples, kLeastSamplesEach)) {
  for (auto& session : sessions_) session = std::make_unique<exec::Session>(model, exec::SessionOptions{});
}

Status SampleRunner::run(size_t begin, size_t end, const Inputs& inputs, const Results& results) {
  if (sessions_.size() == 1) {
    exec::SampleSet set;
    set.count = end - begin;
    set.inputs = [&](size_t i) { return inputs(begin + i); };
    set.results = [&](size_t i, const std::vector<ir::Tensor>& found) { return results(begin + i, found); };
    return sessions_[0]->run_samples(set);
  }
  const auto one = [&](exec::Session& session, size_t i) -> Status {
    QQ_TRY(const std::vector<ir::Tensor> given, inputs(i));
    QQ_TRY(const std::vector<ir::Tensor>* const found, session.run(given));
    return results(i, *found);
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

}  // namespace quarkq::pipeline
