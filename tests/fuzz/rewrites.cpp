// SPDX-License-Identifier: MIT
// Float models before and after the passes that rewrite them.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "exec/environment.h"
#include "fuzz/differential.h"
#include "fuzz/model_inputs.h"
#include "fuzz/sample_files.h"
#include "onnx_io/load.h"
#include "onnx_io/save.h"
#include "onnx_io/text.h"
#include "pipeline/run/job.h"
#include "pipeline/run/pass_runner.h"

namespace quarkq::fuzz {
namespace {

constexpr double kTolerance = 1e-3;  ///< of the largest value of an output
constexpr double kLargest = 1e4;     ///< beyond it roundings may be anything

/// Weights and attributes of usual size: others amplify roundings without bound.
bool is_tame(const ir::Graph& graph) {
  const auto is_small = [](double value) { return std::fabs(value) <= 100; };
  for (const ir::ValueId id : graph.initializers()) {
    const Result<std::vector<double>> values = ir::to_double(*graph.value(id).constant);
    if (values.ok() && !std::all_of(values.value().begin(), values.value().end(), is_small)) return false;
  }
  for (const ir::NodeId id : graph.order()) {
    for (const ir::Attribute& attribute : graph.node(id).attributes) {
      if (const auto* real = std::get_if<float>(&attribute.value); real != nullptr && !is_small(*real)) return false;
      if (std::get_if<ir::Tensor>(&attribute.value) != nullptr) return false;
    }
  }
  return true;
}

void compare(const ir::Tensor& before, const ir::Tensor& after) {
  QQ_CHECK(before.type() == after.type() && before.dims() == after.dims());
  const Result<std::vector<double>> a = ir::to_double(before), b = ir::to_double(after);
  if (!a.ok() || !b.ok()) return;
  double largest = 1;
  for (const double value : a.value()) {
    if (!std::isfinite(value) || std::fabs(value) > kLargest) return;
    largest = std::max(largest, std::fabs(value));
  }
  for (size_t i = 0; i < a.value().size(); ++i)
    QQ_CHECK(std::fabs(a.value()[i] - b.value()[i]) <= kTolerance * largest);
}

std::string network_bytes(const std::string& body) {
  const Result<ir::Model> model = onnx_io::parse_model_text("<ir_version: 8, opset_import: [\"\" : 17]>\n" + body);
  QQ_CHECK(model.ok());
  return onnx_io::to_bytes(model.value());
}

const char* const kImage =
    "g (float[1, 2, 4, 4] x) => (float[1, 2, 2, 2] y) <float[2, 2, 3, 3] w = {1, -1, 0.5, 0, 0.25, 1, -0.5, 0.75, 1, "
    "1, "
    "0, 2, -1, 0.5, 0, 1, 0.5, -2, 0, 1, 0.5, 1, 0.5, 1, 0.25, 0.5, 1, -1, -0.5, 2, 1, 0, 0, 1, -1, 0.5}, float[2] s = "
    "{0.5, 1.5}, float[2] m = {0.25, -0.5}, float[2] v = {1, 2}, int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { "
    "a = Pad (x, p) b = Conv <kernel_shape = [3, 3], pads = [0, 0, 0, 0], strides = [1, 1], group = 1> (a, w, m) "
    "c = BatchNormalization <epsilon = 0.1> (b, s, m, m, v) d = Relu (c) e = Transpose <perm = [0, 2, 3, 1]> (d) "
    "f = Relu (e) h = Transpose <perm = [0, 3, 1, 2]> (f) i = Mul (h, h) j = Identity (i) "
    "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0]> (j) }";
const char* const kRows =
    "g (float[2, 4] x) => (float[2, 2, 2] y) <float[4, 4] w = {1, 0, 1, 0.5, 0, 2, 0, 1, 1, 0, -1, 0, 0.5, 1, 0, 1}, "
    "float[4] b = {1, -1, 0.5, 0}, int64[3] s = {2, 2, 2}, int64[1] one = {1}, float n = {-0.5}, float m = {0.5}> { "
    "a = MatMul (x, w) c = Add (a, b) d = Clip (c, n, m) e = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (d, w, b) "
    "f = LayerNormalization <axis = -1, epsilon = 0.1> (e, b, b) h = Unsqueeze (f, one) i = Squeeze (h, one) "
    "j = Concat <axis = 1> (i, i) k, l = Split <axis = 1> (j) o = Sub (k, b) r = Dropout (o) t = Softmax <axis = 1> "
    "(r) "
    "u = ReduceMean <axes = [1], keepdims = 1> (t) q = Add (t, u) y = Reshape (q, s) }";

}  // namespace

void run_rewrites(const uint8_t* data, size_t size) {
  exec::set_threads(1);
  const std::optional<std::string> bytes(std::in_place, reinterpret_cast<const char*>(data), size);
  Diagnostics diagnostics;
  Result<pipeline::Job> job =
      pipeline::open_job({"fuzz", bytes}, {"", {"quant_config={include_cle: true}"}}, {}, diagnostics);
  if (!job.ok() || !is_tame(job.value().model.graph)) return;
  const auto inputs = make_inputs(job.value().model);
  if (!inputs) return;
  const auto before = run_limited(job.value().model, *inputs);
  if (!before) return;
  pipeline::RunState state;
  pipeline::begin(state, job.value());
  std::vector<PassTime> times;
  if (!pipeline::run_passes(state, {.until = pass::Phase::kMark}, times, {}).ok()) return;
  const auto after = run_limited(state.model, *inputs);
  QQ_CHECK(after && after->size() == before->size());
  for (size_t i = 0; i < after->size(); ++i) {
    if ((*before)[i].is_tensor()) compare((*before)[i].tensor, (*after)[i].tensor);
  }
}

std::vector<std::string> rewrite_seeds() { return {network_bytes(kImage), network_bytes(kRows)}; }

}  // namespace quarkq::fuzz
