// SPDX-License-Identifier: MIT
// Models through quantize(), with the presets' formats, tunings and rewrites.
#include <onnx/onnx_pb.h>

#include "base/error.h"
#include "config/quant_config.h"
#include "exec/environment.h"
#include "fuzz/differential.h"
#include "fuzz/fuzz_run.h"
#include "fuzz/model_inputs.h"
#include "onnx_io/check_model.h"
#include "onnx_io/load.h"
#include "quarkq/quantize.h"

namespace quarkq::fuzz {
namespace {

/// A command line of `quarkq quantize`. The model names its own, so that mutations change it: its model_version is the
/// number of a row.
struct Variant {
  const char* config;
  std::vector<std::string> settings = {};
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> table = {
      {"XINT8"},
      {"A8W8"},
      {"XINT8", {"quarkq.on_collapse=rescue"}},
      {"A8W8", {"quarkq.on_collapse=rescue"}},
      {"VINT8"},
      {"A16W8"},
      {"BF16"},
      {"BFP16"},
      {"FP16"},
      {"MX9_INT8"},
      {"MXINT8"},
      {"U8U8_AAWA"},
      {"S16S16_MIXED_S8S8"},
      {"BF16_MIXED_BFP16"},
      {"INT8_TRANSFORMER_ACCURATE"},
      {"MATMUL_NBITS"},
      {"UINT8_DYNAMIC_QUANT"},
      {"A8W8", {"quant_format=QOperator"}},
      {"A8W8", {"QuantizeAllOpTypes=true", "per_channel=true"}},
      {"A8W8", {"include_cle=true", "ConvertSplitToSlice=true"}},
      {"A8W8", {"ConvertNCHWToNHWC=true"}},
      {"A8W8", {"ConvertOpsetVersion=21"}},
      {"A8W8", {"quarkq.rounding=compensated"}},
      {"A8W8", {"calibrate_method=PowerOfTwoMethod.MinMSE"}},
      {"A8W8", {"calibrate_method=CalibrationMethod.Entropy"}},
      {"A8W8_ADAROUND", {"FastFinetune.NumIterations=3"}},
      {"XINT8_ADAQUANT", {"FastFinetune.NumIterations=3"}},
      {"A8W8", {"quarkq.compat=quark-0.13"}},
      {"XINT8", {"quarkq.compat=quark-0.13"}},
  };
  return table;
}

/// `inputs` as each of two samples.
SampleSource source_of(const ir::Graph& graph, const std::vector<ir::Operand>& inputs) {
  const auto read = [&](size_t) -> Result<std::vector<SampleTensor>> {
    std::vector<SampleTensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::Tensor& tensor = inputs[i].tensor;
      tensors.push_back({graph.value(graph.required_inputs()[i]).name, std::string(name(tensor.type())), tensor.dims(),
                         tensor.raw(), static_cast<size_t>(tensor.bytes())});
    }
    return tensors;
  };
  return {.count = 2, .read = read};
}

/// `bytes` through the variant's command line, without files.
QuantizeRequest request_of(const Variant& variant, const std::string& bytes) {
  QuantizeRequest request;
  request.model_path = "fuzz";
  request.model_bytes = bytes;
  request.in_memory = true;
  request.config = variant.config;
  request.settings = {"quarkq.on_collapse=warn"};
  request.settings.insert(request.settings.end(), variant.settings.begin(), variant.settings.end());
  request.threads = 1;
  return request;
}

const Variant& variant_of(const ir::Model& model) {
  onnx::ModelProto rest;
  if (!rest.ParseFromString(model.extra)) return variants()[0];
  return variants()[static_cast<uint64_t>(rest.model_version()) % variants().size()];
}

std::string with_variant(const std::string& bytes, size_t number) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  model.set_model_version(static_cast<int64_t>(number % variants().size()));
  return model.SerializeAsString();
}

}  // namespace

void run_quantize(const uint8_t* data, size_t size) {
  exec::set_threads(1);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Result<ir::Model> model = onnx_io::load_bytes(bytes, "fuzz");
  if (!model.ok()) return;
  const auto inputs = make_inputs(model.value());
  if (!inputs || !run_limited(model.value(), *inputs)) return;  // asks for more than these limits
  QuantizeRequest request = request_of(variant_of(model.value()), bytes);
  request.sample_source = source_of(model.value().graph, *inputs);
  const Result<QuantizeReport> report = quantize(request);
  QQ_CHECK(report.ok() || report.status().code() != Code::kInternal);
  if (!report.ok()) return;
  const Result<ir::Model> quantized = onnx_io::load_bytes(report.value().model, "quantized");
  QQ_CHECK(quantized.ok() && onnx_io::check_model(quantized.value()).ok());
}

std::string mutate_variant(const uint8_t* data, size_t size, uint32_t seed) {
  if (seed % 8 < 6) return mutate(data, size, seed);
  return with_variant({reinterpret_cast<const char*>(data), size}, seed / 8);
}

std::vector<std::string> quantize_seeds() {
  std::vector<std::string> seeds;
  for (const std::string& network : rewrite_seeds()) {
    for (size_t number = 0; number < variants().size(); ++number) {
      const QuantizeRequest request = request_of(variants()[number], network);
      QQ_CHECK(config::load_config(request.config, request.settings).ok());
      seeds.push_back(with_variant(network, number));
    }
  }
  return seeds;
}

}  // namespace quarkq::fuzz
