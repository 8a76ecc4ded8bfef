// SPDX-License-Identifier: MIT
#include "c_api/request.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "base/parse_text.h"
#include "calib/data_reader.h"
#include "config/named_files.h"

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
    return bad_data("sample ", sample, ": the caller's function rejected its results");
  };
}

namespace {

constexpr int kMostInt = std::numeric_limits<int>::max();

bool is_int(const nlohmann::json& value) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= static_cast<uint64_t>(kMostInt);
  return value.get<int64_t>() >= -int64_t{kMostInt};
}

/// The parser keeps what is above the largest int64 as an unsigned number.
bool is_int64(const nlohmann::json& value) {
  if (!value.is_number_unsigned()) return value.is_number_integer();
  return value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

template <typename Fits>
bool is_list(const nlohmann::json& value, Fits fits) {
  return value.is_array() && std::all_of(value.begin(), value.end(), fits);
}

}  // namespace

Result<Request> Request::parse(const std::string& verb, const char* text) {
  Request request;
  request.verb_ = verb;
  request.json_ = parse_json<Json>(text == nullptr ? "" : text);
  if (!request.json_.is_object()) return invalid_argument(verb, ": the request is not a JSON object");
  return request;
}

Status Request::declare_files(RunFiles& files) const {
  constexpr std::string_view kOutputs[] = {"output", "joined", "learn"},
                             kOutputFolders[] = {"outputs", "state", "workers_folder"},
                             kSampleFolders[] = {"calib",
                                                 "eval",
                                                 "data",
                                                 "inputs",
                                                 "baseline",
                                                 "results",
                                                 "baseline_results_folder",
                                                 "quantized_results_folder"};
  const auto is_in = [](std::span<const std::string_view> names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::string source;
  std::vector<std::string> settings;
  for (const auto& [name, member] : json_.items()) {
    for (const Json& value : member.is_array() ? member : Json::array({member})) {
      if (!value.is_string()) continue;
      const auto path = value.get<std::string>();
      if (name == "config") source = path;
      if (name == "settings") settings.push_back(path);
      if (is_in(kOutputs, name)) {
        QQ_RETURN_IF_ERROR(files.add_output(path));
      } else if (is_in(kSampleFolders, name)) {
        QQ_RETURN_IF_ERROR(files.add_input(path, calib::is_sample_name));
      } else if (!is_in(kOutputFolders, name) && (file_exists(path) || name == "labels")) {
        QQ_RETURN_IF_ERROR(files.add_input(path));
      }
    }
  }
  for (const std::string_view name : kOutputFolders) {
    const auto folder = json_.find(name);
    if (folder != json_.end() && folder->is_string())
      QQ_RETURN_IF_ERROR(files.add_output_folder(folder->get<std::string>()));
  }
  return config::declare(config::files_named_by(source, settings), files);
}

Status Request::finish() const {
  if (!failure_.ok()) return failure_;
  if (json_.empty()) return Status();
  return invalid_argument(verb_, ": ", json_.begin().key(), " is unknown in a request");
}

void Request::expect(bool fits, const char* key, const Json& value, const char* allowed) {
  if (fits || !failure_.ok()) return;
  constexpr auto kReplace = Json::error_handler_t::replace;
  failure_ = invalid_argument(verb_, ": ", key, ": found ", value.dump(-1, ' ', /*ensure_ascii=*/false, kReplace),
                              ", allowed is ", allowed);
}

void Request::read(const char* key, const Json& value, std::string& member) {
  expect(value.is_string(), key, value, "a text");
  if (value.is_string()) member = value.get<std::string>();
}

void Request::read(const char* key, const Json& value, bool& member) {
  expect(value.is_boolean(), key, value, "true or false");
  if (value.is_boolean()) member = value.get<bool>();
}

void Request::read(const char* key, const Json& value, int& member) {
  expect(is_int(value), key, value, "an integer of 32 bits");
  if (is_int(value)) member = value.get<int>();
}

void Request::read(const char* key, const Json& value, int64_t& member) {
  const bool fits = is_int64(value);
  expect(fits, key, value, "an integer of 64 bits");
  if (fits) member = value.get<int64_t>();
}

void Request::read(const char* key, const Json& value, uint64_t& member) {
  expect(value.is_number_unsigned(), key, value, "an integer from 0 on");
  if (value.is_number_unsigned()) member = value.get<uint64_t>();
}

void Request::read(const char* key, const Json& value, double& member) {
  expect(value.is_number(), key, value, "a number");
  if (value.is_number()) member = value.get<double>();
}

void Request::read(const char* key, const Json& value, std::vector<std::string>& member) {
  const bool fits = is_list(value, [](const Json& item) { return item.is_string(); });
  expect(fits, key, value, "a list of texts");
  if (fits) member = value.get<std::vector<std::string>>();
}

void Request::read(const char* key, const Json& value, std::vector<int>& member) {
  const bool fits = is_list(value, is_int);
  expect(fits, key, value, "a list of integers");
  if (fits) member = value.get<std::vector<int>>();
}

}  // namespace quarkq::c_api
