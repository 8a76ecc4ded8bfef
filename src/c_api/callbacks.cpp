// SPDX-License-Identifier: MIT
#include "c_api/callbacks.h"

#include "base/error.h"

namespace quarkq::c_api {
namespace {

SampleTensor from_c(const quarkq_tensor& tensor) {
  const auto text = [](const char* given) { return std::string(given == nullptr ? "" : given); };
  SampleTensor converted{text(tensor.name), text(tensor.type), {}, tensor.data, tensor.bytes};
  if (tensor.dims != nullptr) converted.dims.assign(tensor.dims, tensor.dims + tensor.rank);
  return converted;
}

/// Views of `tensors`, which must outlive them.
std::vector<quarkq_tensor> to_c(const std::vector<SampleTensor>& tensors) {
  std::vector<quarkq_tensor> views;
  views.reserve(tensors.size());
  for (const SampleTensor& tensor : tensors)
    views.push_back(
        {tensor.name.c_str(), tensor.type.c_str(), tensor.dims.data(), tensor.dims.size(), tensor.data, tensor.bytes});
  return views;
}

}  // namespace

std::optional<std::string> bytes_of(const quarkq_bytes& bytes) {
  if (bytes.data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(bytes.data), bytes.size);
}

SampleSource source_of(const quarkq_samples& samples) {
  if (samples.read == nullptr) return {};
  return {samples.count, [samples](size_t index) -> Result<std::vector<SampleTensor>> {
            const quarkq_tensor* tensors = nullptr;
            size_t count = 0;
            const int failed = samples.read(samples.context, index, &tensors, &count);
            if (failed != 0 || (count > 0 && tensors == nullptr))
              return bad_data("sample ", index, ": the caller's function did not return it");
            std::vector<SampleTensor> converted;
            converted.reserve(count);
            for (size_t i = 0; i < count; ++i) converted.push_back(from_c(tensors[i]));
            return converted;
          }};
}

std::function<bool(const Progress&)> progress_of(const quarkq_callbacks& callbacks) {
  if (callbacks.on_progress == nullptr) return {};
  return [callbacks](const Progress& progress) {
    const quarkq_progress given{progress.phase.c_str(), progress.unit.c_str(), progress.done,
                                progress.total,         progress.number,       progress.count};
    return callbacks.on_progress(callbacks.context, &given) != 0;
  };
}

Metric metric_of(const quarkq_callbacks& callbacks) {
  if (callbacks.metric == nullptr) return {};
  return [callbacks](size_t sample, const std::vector<SampleTensor>& expected,
                     const std::vector<SampleTensor>& found) -> Result<double> {
    if (expected.size() != found.size())
      return bad_data("metric: found ", found.size(), " outputs, the float model has ", expected.size());
    const std::vector<quarkq_tensor> exact = to_c(expected), coarse = to_c(found);
    double value = 0;
    if (callbacks.metric(callbacks.context, sample, exact.data(), coarse.data(), exact.size(), &value) == 0)
      return value;
    return bad_data("metric: the caller's function failed on sample ", sample);
  };
}

decltype(RunRequest::on_result) result_of(const quarkq_callbacks& callbacks) {
  if (callbacks.on_result == nullptr) return {};
  return [callbacks](const std::string& sample, const std::vector<SampleTensor>& results) -> Status {
    const std::vector<quarkq_tensor> outputs = to_c(results);
    if (callbacks.on_result(callbacks.context, sample.c_str(), outputs.data(), outputs.size()) == 0) return Status();
    return bad_data("sample ", sample, ": the caller's function did not take its results");
  };
}

}  // namespace quarkq::c_api
