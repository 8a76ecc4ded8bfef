// SPDX-License-Identifier: MIT
// The block "quarkq:": switches of this tool only.
#include "config/read_tool.h"

#include <algorithm>
#include <string_view>

#include "config/read_config.h"

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

namespace {

/// on or off, as YAML 1.1 has it; true and false are the same.
Status read_switch(const Node& node, const std::string& path, std::optional<bool>& member) {
  if (node.is_null()) return {};
  if (node.is_text() && (node.as_text() == "on" || node.as_text() == "off")) {
    member = node.as_text() == "on";
    return {};
  }
  if (node.kind() != Node::Kind::kBool) return wrong_kind(node, "on or off").context(node.mark().prefix() + path);
  member = node.as_bool();
  return {};
}

}  // namespace

Status read_tool(const Node& node, QuantConfig& config) {
  QQ_RETURN_IF_ERROR(
      check_keys(node, "quarkq",
                 {"threads", "seed", "backend", "exclude_tracking", "info_csv", "allow_unknown_options", "compat",
                  "guards", "on_collapse", "rescue", "max_wide", "max_islands", "rounding", "equalize_clipped",
                  "range_headroom", "min_cosine", "verify_samples", "float_result", "metadata"}));
  ToolBlock& block = config.tool;
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "threads", block.threads));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "seed", block.seed));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "backend", block.backend));
  QQ_TRY(const std::optional<std::string> provider, asked_provider(block.backend));
  if (!provider) block.backend.reset();
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "exclude_tracking", block.exclude_tracking));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "info_csv", block.info_csv));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "allow_unknown_options", block.allow_unknown_options));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "compat", block.compat));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "on_collapse", block.on_collapse));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "rescue", block.rescue));
  for (const std::string& name : block.rescue.value_or(std::vector<std::string>()))
    QQ_RETURN_IF_ERROR(check_one_of(name, "quarkq.rescue", {"channel_scales", "16_bits", "float_nodes"}));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "max_wide", block.max_wide));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "max_islands", block.max_islands));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "rounding", block.rounding));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "equalize_clipped", block.equalize_clipped));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "range_headroom", block.range_headroom));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "min_cosine", block.min_cosine));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "verify_samples", block.verify_samples));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "float_result", block.float_result));
  QQ_RETURN_IF_ERROR(read_key(node, "quarkq", "metadata", block.metadata));
  if (const Node* guards = node.find("guards")) QQ_RETURN_IF_ERROR(read_switch(*guards, "quarkq.guards", block.guards));
  if (block.min_cosine && (*block.min_cosine < -1 || *block.min_cosine > 1)) {
    return invalid_argument("quarkq.min_cosine: found ", *block.min_cosine, ", allowed is -1 to 1");
  }
  if (block.range_headroom && !(*block.range_headroom >= 1 && *block.range_headroom <= 16)) {
    return invalid_argument("quarkq.range_headroom: found ", *block.range_headroom, ", allowed is 1 (none) to 16");
  }
  if (block.max_wide && !(*block.max_wide >= 0 && *block.max_wide <= 1)) {
    return invalid_argument("quarkq.max_wide: found ", *block.max_wide, ", allowed is 0 (nothing) to 1 (everything)");
  }
  if (block.max_islands && *block.max_islands < 0) {
    return invalid_argument("quarkq.max_islands: found ", *block.max_islands, ", allowed is 0 (any number) or more");
  }
  if (block.verify_samples && *block.verify_samples < 1) {
    return invalid_argument("quarkq.verify_samples: found ", *block.verify_samples, ", allowed is 1 or more");
  }
  if (block.threads && (*block.threads < 0 || *block.threads > 1024)) {
    return invalid_argument("quarkq.threads: found ", *block.threads, ", allowed is 0 (all) to 1024");
  }
  QQ_RETURN_IF_ERROR(check_one_of(block.exclude_tracking, "quarkq.exclude_tracking", {"strict", "quark"}));
  QQ_RETURN_IF_ERROR(check_one_of(block.on_collapse, "quarkq.on_collapse", {"rescue", "warn", "fail"}));
  QQ_RETURN_IF_ERROR(
      check_one_of(block.rounding, "quarkq.rounding", {"nearest", "compensated_weights", "compensated"}));
  return check_one_of(block.compat, "quarkq.compat", {"quark-0.13"});
}

Status read_guards(const Node& node, QuantConfig& config) { return read_switch(node, "guards", config.tool.guards); }

}  // namespace quarkq::config
