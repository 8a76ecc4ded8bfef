// SPDX-License-Identifier: MIT
// Bytes that claim to be a report of a compiler: they are read, compared with a small model, and learned from.
#include "fuzz/memory_file.h"
#include "fuzz/sample_files.h"
#include "onnx_io/infer.h"
#include "onnx_io/text.h"
#include "pipeline/ep_report/read_reported.h"
#include "targets/assess.h"

namespace quarkq::fuzz {
namespace {

constexpr const char kNetwork[] = R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y) <float[1, 1, 1, 1] w = {1}> {
  a = Conv <kernel_shape = [1, 1], strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0], group = 1> (x, w)
  b = Relu (a) y = Softmax (b) })";

Result<ir::Model> network() {
  QQ_TRY(ir::Model model, onnx_io::parse_model_text(kNetwork));
  Diagnostics ignored;
  QQ_RETURN_IF_ERROR(onnx_io::infer_types(model, ignored));
  return model;
}

Status learn(const ir::Model& model, const config::Target& target, const targets::Reported& reported) {
  QQ_TRY(TargetReport predicted, targets::assess(model, target));
  QQ_TRY(const EpReport report, targets::compare_placement(model, std::move(predicted), reported));
  (void)to_json(report);
  (void)html_page(report);
  QQ_TRY(const std::string file, config::learned_file(targets::learned_facts(report, target, "fuzz"), "learned.yaml"));
  // What was learned from any report must be a target.
  Status read = config::parse_target(file, "learned").status();
  QQ_CHECK(read.ok());
  return read;
}

}  // namespace

void run_ep_report(const uint8_t* data, size_t size) {
  static const Result<ir::Model> model = network();
  static const Result<config::Target> target = config::load_target("x1");
  QQ_CHECK(model.ok() && target.ok());
  const MemoryFile file(data, size);
  const Result<targets::Reported> reported = pipeline::read_reported({file.path()});
  if (reported.ok()) (void)learn(model.value(), target.value(), reported.value()).ok();
}

constexpr const char kReportSeed[] =
    R"({"deviceStat": [{"name": "all", "nodeNum": 3}, {"name": "NPU", "nodeNum": 2}, {"name": "CPU", "nodeNum": 1}],
"nodeStat": [{"input": ["x", "w"], "output": ["a"], "opType": "Conv", "device": "NPU"},
{"input": ["a"], "output": ["b_token_1"], "opType": "Relu", "device": "NPU"},
{"input": ["b_token_1"], "output": ["y"], "opType": "Softmax", "device": "CPU"}],
"subgraphStat": [{"device": "NPU", "count": 1}], "deviceSubgraphCount": [{"device": "DPU", "count": 1}]})";
constexpr const char kContextSeed[] =
    R"({"metaDef": [{"device": "DPU", "nodes": ["a", "b"]}], "config": {"onnxPath": "m.onnx",
"version": {"versionInfos": [{"packageName": "vaip", "version": "1"}]}}})";
constexpr const char kLogSeed[] =
    R"([Vitis AI EP] No. of Operators :  CPU  1  NPU  2 66.00%
[Vitis AI EP] No. of Subgraphs :
  NPU 1
Actually running on NPU 1
xir::Op{name = y(x), type = softmax} is partitioned to CPU as : no
)";

std::vector<std::string> ep_report_seeds() {
  return {kReportSeed, kContextSeed, R"({"offload_map": {"AIE": ["a", "b"], "CPU": 1}})",
          R"([{"node_name": "y", "reason": "data type"}])", kLogSeed};
}

}  // namespace quarkq::fuzz
