// SPDX-License-Identifier: MIT
// The placement in the compiler's own files: context.json of the provider's cache, and the partition files of VAIML
// (ref:targets#files-of-the-compiler).
#include "base/strings.h"
#include "pipeline/ep_report/report_formats.h"

namespace quarkq::pipeline {
namespace {

Status partition_fault(const std::string& path, const std::string& place, const Json& found, const char* allowed) {
  return bad_data(path, ": ", place, ": found ", found.type_name(), ", allowed is ", allowed,
                  "; pass the file as the compiler wrote it");
}

/// Returns the text member, or an empty text if it is absent or of another type.
std::string text_or_empty(const Json& row, const char* key) {
  const auto found = row.is_object() ? row.find(key) : row.end();
  return row.is_object() && found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The versions of packages that built the provider: "xir 3.5.0, vaip 1.8.0".
std::string versions_text(const Json& config) {
  const auto version = config.find("version");
  if (version == config.end() || !version->is_object()) return "";
  const auto infos = version->find("versionInfos");
  if (infos == version->end() || !infos->is_array()) return "";
  std::vector<std::string> texts;
  for (const Json& info : *infos) {
    const std::string package = text_or_empty(info, "packageName"), number = text_or_empty(info, "version");
    if (!package.empty() && !number.empty()) texts.push_back(cat(package, " ", number));
  }
  return join(texts, ", ");
}

}  // namespace

Status read_context(const Json& json, const std::string& path, targets::Reported& reported) {
  const Json& parts = json.at("metaDef");
  if (!parts.is_array()) return partition_fault(path, "metaDef", parts, "a list of parts");
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string place = cat("metaDef[", i, "]");
    if (!parts[i].is_object()) return partition_fault(path, place, parts[i], "a map");
    const auto nodes = parts[i].find("nodes");
    const std::string device = text_or_empty(parts[i], "device");
    if (device.empty()) return bad_data(path, ": ", place, ": has no device; pass the file as the compiler wrote it");
    if (nodes == parts[i].end() || !nodes->is_array())
      return partition_fault(path, place + ".nodes", parts[i], "a list of names");
    for (const Json& node : *nodes) {
      if (!node.is_string()) return partition_fault(path, place + ".nodes", node, "names of tensors");
      reported.placed_on.insert_or_assign(node.get<std::string>(), device);
    }
    if (reported.nodes.empty()) ++reported.subgraphs[device];
  }
  reported.lists_npu_only = true;
  if (const auto config = json.find("config"); config != json.end() && config->is_object()) {
    reported.compiled_model = text_or_empty(*config, "onnxPath");
    reported.compiler = versions_text(*config);
  }
  return Status();
}

Status read_offload_map(const Json& json, const std::string& path, targets::Reported& reported) {
  const Json& map = json.at("offload_map");
  if (!map.is_object()) return partition_fault(path, "offload_map", map, "a map of devices");
  for (const auto& [device, nodes] : map.items()) {
    if (nodes.is_number_unsigned()) {
      reported.operators[device] = nodes.get<size_t>();
      continue;
    }
    if (!nodes.is_array())
      return partition_fault(path, "offload_map." + device, nodes, "a list of nodes or their number");
    for (const Json& node : nodes) {
      if (!node.is_string()) return partition_fault(path, "offload_map." + device, node, "names of nodes");
      reported.placed_on.insert_or_assign(node.get<std::string>(), device);
    }
  }
  return Status();
}

Status read_unsupported_ops(const Json& json, const std::string& path, targets::Reported& reported) {
  for (size_t i = 0; i < json.size(); ++i) {
    const Json& row = json[i];
    if (!row.is_object()) return partition_fault(path, cat("[", i, "]"), row, "a map");
    std::string name = text_or_empty(row, "node_name"), reason = text_or_empty(row, "reason");
    if (name.empty()) name = text_or_empty(row, "name");
    if (reason.empty()) reason = text_or_empty(row, "Message");
    if (!name.empty() && !reason.empty()) reported.reasons.emplace(std::move(name), std::move(reason));
  }
  return Status();
}

}  // namespace quarkq::pipeline
