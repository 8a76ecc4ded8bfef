// SPDX-License-Identifier: MIT
// The members of a JSON request, read one by one. Members that were not read are rejected.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/run_files.h"
#include "quarkq/c_api.h"
#include "quarkq/evaluate.h"
#include "quarkq/quantize.h"

namespace quarkq::c_api {

// Functions of a C caller, in the form of the C++ requests.

/// Returns a copy of the bytes, or nullopt if there are none.
std::optional<std::string> bytes_of(const quarkq_bytes& bytes);
/// Returns an empty source if there are no samples.
SampleSource source_of(const quarkq_samples& samples);
std::function<bool(const Progress&)> progress_of(const quarkq_callbacks& callbacks);
Metric metric_of(const quarkq_callbacks& callbacks);
decltype(RunRequest::on_result) result_of(const quarkq_callbacks& callbacks);

class Request {
 public:
  /// Fails with kInvalidArgument for anything but a JSON object.
  static Result<Request> parse(const std::string& verb, const char* text);

  /// Sets `member` if the request contains `key`. A value of another type is recorded for finish().
  template <typename T>
  Request& take(const char* key, T& member) {
    const auto found = json_.find(key);
    if (found == json_.end()) return *this;
    if (!found->is_null()) read(key, *found, member);
    json_.erase(found);
    return *this;
  }

  /// Declares the files that the request names. Every member that is not an output is an input if it names a file.
  /// Fails with kInvalidArgument if a result would overwrite an input. REQUIRES: no member was read yet.
  Status declare_files(RunFiles& files) const;

  /// Fails with kInvalidArgument if a value has the wrong type or a member was not read.
  Status finish() const;

 private:
  using Json = nlohmann::json;

  void read(const char* key, const Json& value, std::string& member);
  void read(const char* key, const Json& value, bool& member);
  void read(const char* key, const Json& value, int& member);
  void read(const char* key, const Json& value, int64_t& member);
  void read(const char* key, const Json& value, uint64_t& member);
  void read(const char* key, const Json& value, double& member);
  void read(const char* key, const Json& value, std::vector<std::string>& member);
  void read(const char* key, const Json& value, std::vector<int>& member);
  void expect(bool fits, const char* key, const Json& value, const char* allowed);

  std::string verb_;
  Json json_;
  Status failure_;
};

}  // namespace quarkq::c_api
