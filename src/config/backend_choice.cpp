// SPDX-License-Identifier: MIT
#include "config/backend_choice.h"

#include <algorithm>
#include <string_view>

namespace quarkq::config {
namespace {

constexpr std::string_view kRuntime = "ort", kProviderSuffix = "executionprovider";

/// Of an execution provider: letters, digits and '_'.
bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

Result<std::optional<std::string>> asked_provider(const std::optional<std::string>& backend) {
  using Provider = std::optional<std::string>;
  if (!backend || *backend == "native") return Provider();
  if (*backend == kRuntime) return Provider("cpu");
  std::string provider = backend->starts_with(cat(kRuntime, ':')) ? backend->substr(kRuntime.size() + 1) : "";
  if (!std::ranges::all_of(provider, is_name_part)) provider.clear();
  provider = lower_case(provider);
  if (provider.ends_with(kProviderSuffix)) provider.resize(provider.size() - kProviderSuffix.size());
  if (!provider.empty()) return Provider(std::move(provider));
  return invalid_argument("quarkq.backend: found ", *backend, ", allowed is native, ort or ort:PROVIDER (ort:cuda)");
}

}  // namespace quarkq::config
