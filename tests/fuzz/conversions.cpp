// SPDX-License-Identifier: MIT
// Models that claim to be finished: every conversion of `quarkq convert` on each, and models in text format.
#include "pipeline/run/conversions.h"
#include "base/error.h"
#include "fuzz/fuzz_run.h"
#include "fuzz/memory_file.h"
#include "fuzz/sample_files.h"
#include "ir/check_graph.h"
#include "onnx_io/check_model.h"
#include "onnx_io/infer.h"
#include "onnx_io/load.h"
#include "onnx_io/save.h"
#include "onnx_io/text.h"
#include "pass/output_guard.h"

namespace quarkq::fuzz {
namespace {

/// Values for the options without a default, and for those whose default does too little.
struct StepOptions {
  const char* declared;  ///< what the declaration of a conversion starts with
  const char* given;
};
constexpr StepOptions kStepOptions[] = {
    {"version", "version=21"},
    {"shapes", "shapes=x:[1,2,2,2];y:[1,2,2,2]"},
    {"folder", "folder=f,per_channel=true"},
    {"pairs", "pairs=[[Conv,Add],[Add,Relu],[Mul,Add]]"},
    {"updates", "updates=[{node_name: conv, attributes: {group: 2}}]"},
};

std::string step_text(const pass::Conversion& conversion) {
  for (const StepOptions& options : kStepOptions)
    if (std::string_view(conversion.options).starts_with(options.declared))
      return cat(conversion.name, ":", options.given);
  return conversion.name;
}

void run_one(ir::Model model, const std::string& text) {
  const Result<pipeline::ConversionStep> step = pipeline::read_step(text);
  QQ_CHECK(step.ok());
  Diagnostics diagnostics;
  std::vector<pass::LeftNode> left;
  std::vector<pass::SideFile> files;
  const exec::Environment environment;
  pass::ConvertContext context{model, step.value().options, diagnostics, environment, left, files};
  if (!pipeline::run_step(step.value(), context).ok()) return;
  if (!pass::tidy_up(model.graph, Changed::kNo).ok()) return;
  const Status verified = ir::verify(model.graph);
  QQ_CHECK(verified.ok());
}

/// The model as text is parsed by the onnx library; its bytes are the seed.
std::string bytes_of(const std::string& body, int opset = 21) {
  const Result<ir::Model> model = onnx_io::parse_model_text(
      cat("<ir_version: 10, opset_import: [\"\" : ", opset, ", \"com.amd.quark\" : 1]>\n", body));
  QQ_CHECK(model.ok());
  return onnx_io::to_bytes(model.value());
}

const char* const kLayers =
    "g (float[1, 2, 2, 2] x) => (float[1, 2, 2, 2] y) <float s = {0.02}, uint8 z = {0}, float[2] ws = {0.1, 0.2}, "
    "int8[2] wz = {0, 0}, int8[2, 2, 1, 1] w = {1, 2, -3, 4}, int8[2] b = {5, -6}, float bs = {0.01}> { "
    "q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) f = DequantizeLinear <axis = 0> (w, ws, wz) "
    "e = DequantizeLinear (b, bs) [conv] c = Conv (d, f, e) r = Relu (c) p = QuantizeLinear (r, s, z) "
    "t = DequantizeLinear (p, s, z) m = Mul (t, d) a = Add (m, t) o = QuantizeLinear (a, s, z) y = DequantizeLinear "
    "(o, s, z) }";
const char* const kResize =
    "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float s = {0.02}, uint16 z = {32768}, float[4] k = {1, 1, 2, "
    "2}, "
    "uint16[4] w = {1, 2, 3, 40000}> { q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) "
    "r = Resize <mode = \"nearest\"> (d, , k) p = QuantizeLinear (r, s, z) t = DequantizeLinear (p, s, z) "
    "v = DequantizeLinear (w, s, z) y = Add (t, v) }";
const char* const kCasts =
    "g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}, float16[4] h = {1, 2, 3, 4}> { a = Cast <to = 16> (x) "
    "b = Cast <to = 1> (a) c = Add (b, w) d = Cast <to = 10> (c) e = Mul (d, h) f = Cast <to = 1> (e) "
    "k = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> () y = Sub (f, k) }";
const char* const kExtended =
    "g (float[4] x) => (float[4] y) <float s = {1}, bfloat16 z = {0}> { q = com.amd.quark.ExtendedQuantizeLinear (x, "
    "s, z) "
    "d = com.amd.quark.ExtendedDequantizeLinear (q, s, z) y = Neg (d) }";

}  // namespace

void run_conversions(const uint8_t* data, size_t size) {
  Result<ir::Model> model = onnx_io::load_bytes({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!model.ok() || !onnx_io::check_model(model.value()).ok()) return;
  Diagnostics ignored;
  if (!onnx_io::infer_types(model.value(), ignored).ok()) return;
  if (!ir::check_attributes(model.value().graph, model.value().opsets).ok()) return;
  for (const pass::Conversion& conversion : pipeline::all_conversions()) run_one(model.value(), step_text(conversion));
  run_one(model.value(), "fp32-to-fp16:weights_only=true");
  run_one(model.value(), "fp16-to-fp32:keep_io=false");
}

std::vector<std::string> conversion_seeds() {
  return {bytes_of(kLayers), bytes_of(kLayers, 13), bytes_of(kResize), bytes_of(kCasts), bytes_of(kExtended)};
}

void run_text_model(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  const Result<ir::Model> model = onnx_io::load_text(file.path());
  if (model.ok()) (void)onnx_io::model_as_text(model.value()).ok();
}

std::vector<std::string> text_model_seeds() {
  std::vector<std::string> seeds;
  for (const std::string& bytes : conversion_seeds())
    seeds.push_back(onnx_io::model_as_text(onnx_io::load_bytes(bytes, "seed").value()).value());
  return seeds;
}

}  // namespace quarkq::fuzz
