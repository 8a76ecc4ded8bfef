// SPDX-License-Identifier: MIT
#include "c_api/request.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "base/file_system.h"
#include "base/parse_json.h"
#include "calib/sample_name.h"
#include "config/named_files.h"

namespace quarkq::c_api {
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
  if (!request.json_.is_object()) return invalid_argument(verb, ": the request is no JSON object");
  return request;
}

Status Request::declare_files(RunFiles& files) const {
  constexpr std::string_view kOutputs[] = {"output"}, kOutputFolders[] = {"outputs", "state", "workers_folder"},
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
