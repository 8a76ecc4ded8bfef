// SPDX-License-Identifier: MIT
#include "calib/sample_run.h"

#include <omp.h>
#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/parallel.h"
#include "calib/data_reader.h"
#include "calib/read_ahead.h"
#include "exec/layout.h"
#include "numeric/element_type.h"

namespace quarkq::calib {

Status run_all(const ir::Model& model, const exec::Environment& environment, exec::SessionOptions options,
               const AllSamples& samples,
               const std::function<Status(size_t sample, const std::vector<ir::Tensor>& results)>& results) {
  exec::Session session(model, environment, std::move(options));
  std::vector<std::string> names(samples.data.size());
  exec::SampleSet set;
  set.count = samples.data.size();
  set.inputs = [&](size_t i) -> Result<std::vector<ir::Tensor>> {
    QQ_TRY(Sample sample, samples.data.read(i));
    names[i] = std::move(sample.name);
    return std::move(sample.inputs);
  };
  set.results = results;
  set.label = [&](size_t i) { return cat(samples.purpose, ", sample ", names[i]); };
  return session.run_samples(set);
}

namespace {

constexpr size_t kReadingThreads = 1, kSamplesAhead = 4;
constexpr double kRounding = 1e-6;       // of shares that stand for whole samples
constexpr size_t kLeastSamplesEach = 8;  // fewer are run before another program is compiled
constexpr int64_t kShareOfMemory = 4;    // a quarter for what a backend returns, beside its model and values

/// Below a ceiling on memory samples, which may be large images, do not wait in it.
size_t samples_ahead(const exec::Environment& environment) {
  return environment.has_memory_ceiling() ? 1 : kSamplesAhead;
}

/// thinned() of the values in ONNX order, without moving the others there.
std::vector<float> thinned_view(const exec::TensorView& view) {
  const auto* const values = reinterpret_cast<const float*>(view.data);
  const auto count = static_cast<size_t>(view.count);
  const ir::Shape& dims = *view.stored_dims;
  if (view.layout == exec::Layout::kPlain || dims.size() < 3 || count == 0) return thinned({values, count});
  const auto channels = static_cast<size_t>(dims.back());
  const size_t image = count / static_cast<size_t>(dims[0]), pixels = image / channels;
  std::vector<float> kept;
  for (size_t i = 0; i < count; i += thinning_stride(count)) {
    const size_t place = i % image;
    kept.push_back(values[i - place + place % pixels * channels + place / pixels]);
  }
  return kept;
}

}  // namespace

/// Turns what the executor announces into float32 values for the sink. Of external linkage, as SampleRun::Worker is.
class TapAdapter : public exec::TapSink {
 public:
  TapAdapter(const ir::Graph& graph, ValueOrder order, SampleSink& sink) : graph_(graph), order_(order), sink_(sink) {}

  void begin(uint64_t sample) { sample_ = sample; }

  Status on_value(ir::ValueId value, const exec::TensorView& view) override {
    const auto count = static_cast<size_t>(view.count);
    const bool moves = order_ != ValueOrder::kAny && view.layout != exec::Layout::kPlain;
    const bool is_half = graph_.value(value).type.element == ElementType::kFloat16;
    if (view.type == ElementType::kFloat && order_ == ValueOrder::kThinned && !is_half) {
      return sink_.observe(value, sample_, thinned_view(view));
    }
    if (view.type == ElementType::kFloat && !moves && !is_half) {
      return sink_.observe(value, sample_, {reinterpret_cast<const float*>(view.data), count});
    }
    if (view.type == ElementType::kFloat && !is_half) {
      const ir::Tensor stored = ir::Tensor::adopt(ElementType::kFloat, *view.stored_dims, nullptr, view.data);
      return sink_.observe(value, sample_, exec::in_onnx_order(stored, view.layout).data<float>());
    }
    if (view.type == ElementType::kFloat) {
      values_.resize(count);
      std::memcpy(values_.data(), view.data, count * sizeof(float));
    } else if (view.type == ElementType::kFloat16) {
      widen(reinterpret_cast<const uint16_t*>(view.data), count);
    } else {
      return internal_error("a ", name(view.type), " tensor is calibrated");
    }
    if (is_half && view.type == ElementType::kFloat) {  // computed in float32 (ADR 0005), but read as float16
      for (float& x : values_) x = float_from_float16(float16_from_float(x));
    }
    if (!moves) return hand_on(value, values_);
    ir::Tensor stored = ir::Tensor::allocate(ElementType::kFloat, *view.stored_dims);
    std::memcpy(stored.mutable_raw(), values_.data(), count * sizeof(float));
    const ir::Tensor ordered = exec::in_onnx_order(stored, view.layout);
    return hand_on(value, ordered.data<float>());
  }

 private:
  Status hand_on(ir::ValueId value, std::span<const float> values) {
    if (order_ != ValueOrder::kThinned) return sink_.observe(value, sample_, values);
    return sink_.observe(value, sample_, thinned(values));
  }

  void widen(const uint16_t* halves, size_t count) {
    values_.resize(count);
    for (size_t i = 0; i < count; ++i) values_[i] = float_from_float16(halves[i]);
  }

  const ir::Graph& graph_;
  ValueOrder order_;
  SampleSink& sink_;
  uint64_t sample_ = 0;
  std::vector<float> values_;
};

namespace {

SampleRunOptions with_samples(SampleRunOptions options, size_t count) {
  if (!options.samples.empty()) return options;
  options.samples.resize(count);
  std::iota(options.samples.begin(), options.samples.end(), size_t{0});
  return options;
}

exec::SessionOptions tapping(const std::vector<ir::ValueId>& tensors) {
  exec::SessionOptions options;
  options.taps = tensors;
  return options;
}

/// Of one sample. Unknown dimensions count as 1.
int64_t bytes_of(const ir::ValueType& type) {
  if (!type.has_shape) return 0;
  ir::Shape dims = type.shape();
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  const Result<int64_t> count = ir::element_count(dims);
  return count.ok() ? storage_bytes(type.element, count.value()) : 0;
}

/// A backend returns all tensors of a sample at once: in parts that fit into memory, at least one tensor each.
std::vector<std::vector<ir::ValueId>> parts_of(const ir::Graph& graph, const std::vector<ir::ValueId>& tensors,
                                               const exec::Environment& environment) {
  const int64_t left = environment.has_memory_ceiling() ? environment.memory_left() : exec::allowed_memory(0);
  const int64_t most = left / kShareOfMemory;
  std::vector<std::vector<ir::ValueId>> parts(1);
  int64_t bytes = 0;
  for (const ir::ValueId tensor : tensors) {
    const int64_t own = bytes_of(graph.value(tensor).type);
    if (!parts.back().empty() && bytes + own > most) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().push_back(tensor);
    bytes += own;
  }
  return parts;
}

Status hand_over(const std::vector<ir::ValueId>& values, const std::vector<ir::Tensor>& tensors, exec::TapSink& sink) {
  for (size_t i = 0; i < values.size(); ++i) {
    const ir::Tensor& tensor = tensors[i];
    exec::TensorView view{tensor.type(), &tensor.dims(), exec::Layout::kPlain, tensor.raw(), tensor.size()};
    QQ_RETURN_IF_ERROR(sink.on_value(values[i], view));
  }
  return Status();
}

}  // namespace

/// Distributes the samples one by one to several threads.
class SampleRun::Feed {
 public:
  Feed(const DataReader& reader, const exec::Environment& environment, const SampleRunOptions& options)
      : options_(options), ahead_(reader, options.samples, kReadingThreads, samples_ahead(environment)) {}

  /// The next sample's number; nothing when there is none left, or one failed.
  std::optional<size_t> next(Sample& sample) {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok() || ahead_.is_done()) return std::nullopt;
    const size_t number = options_.samples[begun_++];
    Result<Sample> read = ahead_.next();
    if (!read.ok()) {
      fail_locked(number, read.status());
      return std::nullopt;
    }
    sample = std::move(read).value();
    names_[number] = sample.name;
    return number;
  }

  void finish_one() {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (failure_.ok() && options_.progress && !options_.progress(done_, options_.samples.size())) {
      fail_locked(0, Status(Code::kInterrupted, "interrupted"));
    }
  }

  /// Of several failures that of the lowest sample is reported. All samples before it were started, so it is always the
  /// same.
  void fail(size_t number, Status status) {
    const std::lock_guard lock(mutex_);
    fail_locked(number, std::move(status));
  }

  /// As many samples as that share of the work are done.
  Status progress(double share) const {
    const auto done = static_cast<size_t>(share * static_cast<double>(options_.samples.size()) + kRounding);
    if (!options_.progress || options_.progress(done, options_.samples.size())) return Status();
    return Status(Code::kInterrupted, "interrupted");
  }

  Status failure() const { return failure_; }
  std::map<uint64_t, std::string> take_names() { return std::move(names_); }

 private:
  void fail_locked(size_t number, Status status) {
    if (!failure_.ok() && failed_ <= number) return;
    failed_ = number;
    failure_ = std::move(status);
  }

  const SampleRunOptions& options_;
  ReadAhead ahead_;
  std::mutex mutex_;
  size_t begun_ = 0, done_ = 0, failed_ = 0;
  Status failure_;
  std::map<uint64_t, std::string> names_;
};

/// A session and the sink that observes it.
class SampleRun::Worker {
 public:
  Worker(exec::Session& session, const ir::Graph& graph, const SampleRunOptions& options, SampleSink& sink)
      : session_(session), inputs_(input_specs(graph)), options_(options), adapter_(graph, options.order, sink) {}

  /// Runs one sample of the feed; false when there was none.
  bool run_one(Feed& feed) {
    Sample sample;
    const std::optional<size_t> number = feed.next(sample);
    if (!number) return false;
    if (Status status = run(*number, sample); !status.ok()) {
      feed.fail(*number, std::move(status));
      return false;
    }
    feed.finish_one();
    return true;
  }

 private:
  Status run(size_t number, const Sample& sample) {
    if (!options_.allow_non_finite) QQ_RETURN_IF_ERROR(check_finite(sample, inputs_));
    adapter_.begin(number);
    return session_.run(sample.inputs, &adapter_).status().context(cat("calibration sample ", sample.name));
  }

  exec::Session& session_;
  std::vector<InputSpec> inputs_;
  const SampleRunOptions& options_;
  TapAdapter adapter_;
};

SampleRun::SampleRun(const ir::Model& model, const DataReader& reader, const exec::Environment& environment,
                     SampleRunOptions options)
    : model_(model),
      reader_(reader),
      environment_(environment),
      options_(with_samples(std::move(options), reader.size())) {}

SampleRun::~SampleRun() = default;

size_t SampleRun::worthwhile_sinks() const {
  if (options_.backend != nullptr) return 1;  // it has threads of its own
  return worthwhile_programs(model_.graph, environment_, options_.samples.size(), kLeastSamplesEach);
}

Status SampleRun::pass(SampleSink& sink) {
  if (options_.samples.empty()) return bad_data("there are no calibration samples");
  if (options_.backend != nullptr) return backend_pass(sink);
  if (session_ == nullptr) session_ = std::make_unique<exec::Session>(model_, environment_, tapping(options_.tensors));
  Feed feed(reader_, environment_, options_);
  TapAdapter adapter(model_.graph, options_.order, sink);
  const std::vector<InputSpec> inputs = input_specs(model_.graph);
  std::vector<std::string> names;
  exec::SampleSet set;
  set.count = options_.samples.size();
  set.inputs = [&](size_t) -> Result<std::vector<ir::Tensor>> {
    Sample sample;
    if (!feed.next(sample)) return feed.failure();
    if (!options_.allow_non_finite) QQ_RETURN_IF_ERROR(check_finite(sample, inputs));
    names.push_back(sample.name);
    return std::move(sample.inputs);
  };
  set.sink = [&](size_t index) {
    adapter.begin(options_.samples[index]);
    return &adapter;
  };
  set.label = [&](size_t index) { return cat("calibration sample ", names[index]); };
  set.progress = [&](double share) { return feed.progress(share); };
  Status status = session_->run_samples(set);
  names_ = feed.take_names();
  return status;
}

/// All samples for each part of the tensors.
Status SampleRun::backend_pass(SampleSink& sink) {
  if (parts_.empty()) parts_ = parts_of(model_.graph, options_.tensors, environment_);
  const std::vector<InputSpec> inputs = input_specs(model_.graph);
  const size_t count = options_.samples.size();
  TapAdapter adapter(model_.graph, options_.order, sink);
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (backend_session_ == nullptr || parts_.size() > 1) {
      backend_session_.reset();  // before the next one takes memory
      QQ_TRY(backend_session_, options_.backend->open(model_, parts_[part]));
    }
    Feed feed(reader_, environment_, options_);
    for (size_t i = 0; i < count; ++i) {
      Sample sample;
      if (!feed.next(sample)) return feed.failure();
      if (!options_.allow_non_finite) QQ_RETURN_IF_ERROR(check_finite(sample, inputs));
      const std::string label = cat("calibration sample ", sample.name);
      QQ_TRY(const auto* const tensors, backend_session_->run(sample.inputs).context(label));
      adapter.begin(options_.samples[i]);
      QQ_RETURN_IF_ERROR(hand_over(parts_[part], *tensors, adapter).context(label));
      const auto done = static_cast<double>(part * count + i + 1);
      QQ_RETURN_IF_ERROR(feed.progress(done / static_cast<double>(parts_.size() * count)));
    }
    names_ = feed.take_names();
  }
  return Status();
}

Status SampleRun::pass(const std::vector<SampleSink*>& sinks) {
  if (sinks.size() < 2 || options_.samples.empty() || options_.backend != nullptr) return pass(*sinks[0]);
  const int threads = omp_get_max_threads();
  const int each = std::max(1, threads / static_cast<int>(sinks.size()));
  Feed feed(reader_, environment_, options_);
  // Threads are counted when a program is compiled, so that is done inside the thread that runs it.
  auto work = [&](SampleSink* sink) {
    omp_set_num_threads(each);
    exec::Session session(model_, environment_, tapping(options_.tensors));
    Worker worker(session, model_.graph, options_, *sink);
    while (worker.run_one(feed)) {
    }
  };
  on_threads(sinks.size(), [&](size_t i) { work(sinks[i]); });
  names_ = feed.take_names();
  return feed.failure();
}

}  // namespace quarkq::calib
