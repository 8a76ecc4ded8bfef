// SPDX-License-Identifier: MIT
// vitisai_ep_report.json: a JSON form of protocol buffers, so that empty lists and zeros are left out. The format is
// described in ref:targets#files-of-the-compiler.
#include <cstdint>
#include <optional>

#include "base/strings.h"
#include "pipeline/ep_report/report_formats.h"

namespace quarkq::pipeline {
namespace {

constexpr const char kAllDevices[] = "all";                     // Entry of deviceStat that counts every node.
constexpr const char kOmitted[] = "VAIP_NOT_EXISTS";            // An omitted input or output.
constexpr const char kRunningDevice[] = "Actually running on";  // Entry of subgraphStat.
constexpr const char kCompileAgain[] =
    "; compile again with XLNX_ONNX_EP_REPORT_FILE set and enable_cache_file_io_in_mem=0";

class EpReportReader {
 public:
  EpReportReader(const Json& json, const std::string& path, targets::Reported& reported)
      : json_(json), path_(path), reported_(reported) {}

  Status read() {
    QQ_RETURN_IF_ERROR(read_devices());
    QQ_RETURN_IF_ERROR(read_nodes());
    QQ_RETURN_IF_ERROR(read_subgraphs());
    return check_counts();
  }

 private:
  Status fault(const std::string& place, const std::string& found, const char* allowed) const {
    return bad_data(path_, ": ", place, ": found ", found, ", allowed is ", allowed, kCompileAgain);
  }

  /// Returns null if the list is absent; fails if it is not a list.
  Result<const Json*> list(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return static_cast<const Json*>(nullptr);
    if (!found->is_array()) return fault(key, found->type_name(), "a list");
    return &*found;
  }

  Result<std::string> text_in(const Json& row, const char* key, const std::string& place) const {
    const auto found = row.is_object() ? row.find(key) : row.end();
    if (!row.is_object()) return fault(place, row.type_name(), "a map");
    if (found == row.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
      return fault(cat(place, ".", key), found == row.end() ? "nothing" : found->dump(-1, ' ', false, kReplace),
                   "a name");
    return found->get<std::string>();
  }

  /// Returns 0 if the member is absent, as protocol buffers leave it out.
  Result<size_t> count_in(const Json& row, const char* key, const std::string& place) const {
    const auto found = row.find(key);
    if (found == row.end()) return size_t{0};
    if (!found->is_number_unsigned() || found->get<uint64_t>() > kMostNodes)
      return fault(cat(place, ".", key), found->dump(-1, ' ', false, kReplace), "a number of nodes");
    return static_cast<size_t>(found->get<uint64_t>());
  }

  Status read_devices() {
    QQ_TRY(const Json* devices, list("deviceStat"));
    if (devices == nullptr) return fault("deviceStat", "nothing", "a list of devices");
    for (size_t i = 0; i < devices->size(); ++i) {
      const std::string place = cat("deviceStat[", i, "]");
      QQ_TRY(const std::string device, text_in((*devices)[i], "name", place));
      QQ_TRY(const size_t count, count_in((*devices)[i], "nodeNum", place));
      if (device == kAllDevices) {
        all_ = count;
      } else {
        reported_.operators[device] = count;
      }
    }
    return Status();
  }

  Status read_names(const Json& row, const char* key, const std::string& place, std::vector<std::string>& names) const {
    const auto found = row.find(key);
    if (found == row.end()) return Status();
    if (!found->is_array()) return fault(cat(place, ".", key), found->type_name(), "a list of tensors");
    for (const Json& name : *found) {
      if (!name.is_string()) return fault(cat(place, ".", key), name.type_name(), "names of tensors");
      const auto& text = name.get_ref<const std::string&>();
      names.push_back(text == kOmitted ? "" : text);
    }
    return Status();
  }

  Status read_nodes() {
    QQ_TRY(const Json* nodes, list("nodeStat"));
    if (nodes == nullptr) return fault("nodeStat", "nothing", "a list of nodes");
    reported_.nodes.reserve(nodes->size());
    for (size_t i = 0; i < nodes->size(); ++i) {
      const Json& row = (*nodes)[i];
      const std::string place = cat("nodeStat[", i, "]");
      targets::ReportedNode node;
      QQ_TRY(node.op, text_in(row, "opType", place));
      QQ_TRY(node.device, text_in(row, "device", place));
      QQ_RETURN_IF_ERROR(read_names(row, "input", place, node.inputs));
      QQ_RETURN_IF_ERROR(read_names(row, "output", place, node.outputs));
      npu_nodes_ += targets::is_npu(node.device) ? 1 : 0;
      reported_.nodes.push_back(std::move(node));
    }
    return Status();
  }

  void add_subgraphs(const std::string& device, size_t count) {
    // DPU counts what runs; the compiler's summary calls it so.
    if (device.starts_with(kRunningDevice) || device == "DPU") {
      reported_.running = count;
    } else {
      reported_.subgraphs.emplace(device, count);
    }
  }

  Status read_subgraphs() {
    for (const char* key : {"subgraphStat", "deviceSubgraphCount"}) {
      QQ_TRY(const Json* rows, list(key));
      for (size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
        const std::string place = cat(key, "[", i, "]");
        QQ_TRY(const std::string device, text_in((*rows)[i], "device", place));
        QQ_TRY(const size_t count, count_in((*rows)[i], "count", place));
        add_subgraphs(device, count);
      }
    }
    return Status();
  }

  /// A file that was cut off or edited does not add up.
  Status check_counts() const {
    size_t npu = 0, sum = 0;
    for (const auto& [device, count] : reported_.operators) {
      npu += targets::is_npu(device) ? count : 0;
      sum += count;
    }
    if (all_ && *all_ != reported_.nodes.size())
      return fault("nodeStat", cat(reported_.nodes.size(), " nodes"),
                   cat("the ", *all_, " nodes of deviceStat").c_str());
    if (sum != reported_.nodes.size())
      return fault("deviceStat", cat("devices with ", sum, " nodes"),
                   cat("the ", reported_.nodes.size(), " nodes of nodeStat").c_str());
    if (npu != npu_nodes_)
      return fault("deviceStat", cat(npu, " nodes on the NPU"), cat("the ", npu_nodes_, " of nodeStat").c_str());
    return Status();
  }

  static constexpr auto kReplace = Json::error_handler_t::replace;
  static constexpr uint64_t kMostNodes = uint64_t{1} << 31;  // A protobuf model cannot have more.

  const Json& json_;
  const std::string& path_;
  targets::Reported& reported_;
  std::optional<size_t> all_;
  size_t npu_nodes_ = 0;
};

}  // namespace

Status read_ep_report(const Json& json, const std::string& path, targets::Reported& reported) {
  return EpReportReader(json, path, reported).read();
}

}  // namespace quarkq::pipeline
